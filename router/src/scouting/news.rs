// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notifications of the system that interfaces or addresses have changed. On Linux they come from a
//! netlink socket; on other systems the interfaces are polled every two seconds.

use std::time::Duration;

/// Poll interval for interfaces where the system does not notify.
const LOOK_AFTER: Duration = Duration::from_secs(2);

/// Poll interval where it does, for changes without a notification.
const LOOK_AFTER_WITH_NEWS: Duration = Duration::from_secs(30);

/// Pause after a notification: an interface comes up in several steps.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// The netlink socket, if there is one.
pub(super) struct News(#[cfg(target_os = "linux")] Option<std::os::fd::OwnedFd>);

impl News {
    /// Returns the interval between two polls of the interfaces.
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
    /// Opens the socket and registers it with `token`.
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
                tracing::debug!("new interfaces are not detected: {error}");
                News(None)
            }
        }
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Reads all notifications; returns true if there was one. Their content is not used: the
    /// caller lists the interfaces.
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
                // `NOBUFS`: the socket's buffer overflowed, so there were notifications.
                Ok(_) | Err(Errno::NOBUFS) => has_come = true,
                Err(Errno::INTR) => {}
                Err(_) => return has_come,
            }
        }
    }
}

/// Opens a netlink socket for changes of interfaces and their addresses.
#[cfg(target_os = "linux")]
fn subscribe() -> std::io::Result<std::os::fd::OwnedFd> {
    use rustix::net::{
        AddressFamily, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, socket_with,
    };
    /// Netlink groups: changes of interfaces, of IPv4 and of IPv6 addresses.
    const GROUPS: u32 = 0x1 | 0x10 | 0x100;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
    Ok(socket)
}
