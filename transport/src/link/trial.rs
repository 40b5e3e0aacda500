// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check of an endpoint before it is used: its keys and certificates can be read and belong
//! together, and this machine has the address, interface or directory to listen with. The check
//! does not listen, and takes no port.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use socket2::{Domain, Socket, Type};
use zonda_codec::Endpoint;

use super::{
    EndpointProblem, HostPort, LinkAddress, LinkFailure, LinkSettings, Protocol, SocketOptions,
    is_group, tcp, tls,
};

/// Use of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointUse {
    /// Endpoint to listen on.
    Listen,
    /// Endpoint to connect to.
    Connect,
}

/// Reads the keys and certificates that an endpoint would be used with. Returns a concern, such as
/// a certificate that expires soon, as a clause.
///
/// # Errors
/// A piece is missing, cannot be read or does not belong to the other pieces.
///
/// # Blocking
/// Reads the files.
pub fn check_credentials(
    endpoint: &Endpoint,
    links: &LinkSettings,
    purpose: EndpointUse,
) -> Result<Option<String>, EndpointProblem> {
    match Protocol::of(endpoint)? {
        Protocol::Tls | Protocol::Wss | Protocol::Quic => {
            tls::examine(&links.tls.of(endpoint)?, purpose)
        }
        _ => Ok(None),
    }
}

/// Checks if this machine could listen on an endpoint: makes its sockets on another port, or checks
/// its directory.
pub(crate) fn try_listening(endpoint: &Endpoint) -> Result<(), LinkFailure> {
    if is_group(endpoint) {
        return Ok(());
    }
    match Protocol::of(endpoint)? {
        protocol @ (Protocol::Tcp | Protocol::Tls | Protocol::Ws | Protocol::Wss) => {
            try_each(endpoint, protocol, Type::STREAM)
        }
        protocol @ (Protocol::Udp | Protocol::Quic) => try_each(endpoint, protocol, Type::DGRAM),
        #[cfg(unix)]
        Protocol::UnixsockStream => super::unix::try_path(endpoint),
        #[cfg(target_os = "linux")]
        Protocol::Unixpipe => super::unixpipe::try_path(endpoint),
        #[cfg(unix)]
        Protocol::Serial => super::serial::try_device(endpoint),
        // A port of it is taken for good or not at all.
        #[cfg(target_os = "linux")]
        Protocol::Vsock => Ok(()),
    }
}

/// Makes a socket for each address of the endpoint's host, like listening: addresses of a name that
/// this machine lacks are left out, if any remains.
fn try_each(endpoint: &Endpoint, protocol: Protocol, kind: Type) -> Result<(), LinkFailure> {
    // Resolve the host, unless it is an address.
    let host = HostPort::of(endpoint)?;
    let options = SocketOptions::of(endpoint)?;
    let addresses = match host.socket_address() {
        Some(address) => vec![address],
        None => match (host.host.as_str(), host.port).to_socket_addrs() {
            Ok(found) => found.collect(),
            Err(error) => {
                return Err(LinkFailure::Resolve {
                    host: host.host,
                    failure: error.into(),
                });
            }
        },
    };
    // Try the addresses, and leave out those that this machine lacks.
    let (mut has_one, mut absent) = (false, None);
    for address in addresses {
        let Err(error) = try_one(address, kind, &options) else {
            has_one = true;
            continue;
        };
        let is_absent = tcp::lacks_address(&error);
        let at = LinkAddress::internet(protocol, address);
        let failure = LinkFailure::Refused(vec![(at, error.into())]);
        if !is_absent {
            return Err(failure);
        }
        absent = absent.or(Some(failure));
    }
    match absent {
        Some(failure) if !has_one => Err(failure),
        _ => Ok(()),
    }
}

fn try_one(at: SocketAddr, kind: Type, options: &SocketOptions) -> io::Result<()> {
    if is_reserved(at.port()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let bound = tcp::everywhere(at, |at, dual_stack| {
        let socket = Socket::new(Domain::for_address(at), kind, None)?;
        if dual_stack {
            socket.set_only_v6(false)?;
        }
        options.apply(&socket)?;
        socket.bind(&SocketAddr::new(at.ip(), 0).into())?;
        Ok(socket)
    });
    bound.map(drop)
}

/// Returns true if the system reserves a port for processes with a privilege that this one lacks.
#[cfg(target_os = "linux")]
fn is_reserved(port: u16) -> bool {
    /// Bit of `CAP_NET_BIND_SERVICE`.
    const MAY_BIND: u64 = 1 << 10;
    let read = |file: &str| std::fs::read_to_string(file).ok();
    let first = read("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    let first: u16 = first
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1024);
    let may = || {
        let status = read("/proc/self/status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))?;
        Some(u64::from_str_radix(line.trim(), 16).ok()? & MAY_BIND != 0)
    };
    port != 0 && port < first && may() == Some(false)
}

#[cfg(not(target_os = "linux"))]
fn is_reserved(_port: u16) -> bool {
    false
}

/// Checks that there is a directory to which this process may write.
#[cfg(unix)]
pub(super) fn directory_of(path: &std::path::Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(std::path::Path::new("."));
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(parent, access).map_err(io::Error::from)
}
