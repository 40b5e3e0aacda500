// SPDX-License-Identifier: MIT OR Apache-2.0

//! Word from the system that interfaces or addresses of this machine have come or gone. Only Linux gives it here, by a socket
//! of netlink; elsewhere the interfaces are looked at every two seconds.

use std::time::Duration;

/// The time between two looks at the interfaces where the system gives no word of changes.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// The time between two looks where it does: for changes that its word misses.
const LOOK_AFTER_WITH_NEWS: Duration = Duration::from_secs(30);

/// The wait after such word: an interface comes in steps.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// The socket, if there is one.
pub(super) struct News(#[cfg(target_os = "linux")] Option<std::os::fd::OwnedFd>);

impl News {
    /// Gives the time between two looks at the interfaces.
    pub(super) fn look_after(&self) -> Duration {
        match self.is_there() {
            true => LOOK_AFTER_WITH_NEWS,
            false => LOOK_AFTER,
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl News {
    pub(super) fn open(_registry: &mio::Registry, _token: mio::Token) -> News {
        News()
    }

    fn is_there(&self) -> bool {
        false
    }

    pub(super) fn take(&self) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
impl News {
    /// Makes the socket, and has `registry` wake for it with `token`.
    pub(super) fn open(registry: &mio::Registry, token: mio::Token) -> News {
        let socket = subscribe().and_then(|socket| {
            use std::os::fd::AsRawFd;
            let fd = socket.as_raw_fd();
            registry.register(
                &mut mio::unix::SourceFd(&fd),
                token,
                mio::Interest::READABLE,
            )?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => News(Some(socket)),
            Err(error) => {
                tracing::debug!("no word of new interfaces: {error}");
                News(None)
            }
        }
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Reads all that has come; tells whether it was anything. Its content does not matter: the interfaces are looked at.
    pub(super) fn take(&self) -> bool {
        use rustix::{
            io::Errno,
            net::{RecvFlags, recv},
        };
        let Some(socket) = &self.0 else {
            return false;
        };
        let (mut buffer, mut has_come) = ([0_u8; 4096], false);
        loop {
            match recv(socket, &mut buffer, RecvFlags::TRUNC) {
                // more came than the socket has room for
                Ok(_) | Err(Errno::NOBUFS) => has_come = true,
                Err(Errno::INTR) => {}
                Err(_) => return has_come,
            }
        }
    }
}

/// Opens a socket to which the system writes changes of interfaces and of their addresses.
#[cfg(target_os = "linux")]
fn subscribe() -> std::io::Result<std::os::fd::OwnedFd> {
    use rustix::net::{
        AddressFamily, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, socket_with,
    };
    /// The groups of changes of interfaces, of IPv4 and of IPv6 addresses.
    const GROUPS: u32 = 0x1 | 0x10 | 0x100;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}
