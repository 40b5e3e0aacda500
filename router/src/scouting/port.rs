// SPDX-License-Identifier: MIT OR Apache-2.0

//! The two sockets of an interface: one sends and receives answers, one receives the group's
//! datagrams.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use mio::net::UdpSocket;
use socket2::{Domain, Socket, Type};

use crate::table::scouting::Interface;

/// An error of the system, with the step that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {error}")]
pub(super) struct ScoutFailure {
    step: &'static str,
    error: io::Error,
}

/// Adds the failed step to an error.
fn during<T>(step: &'static str, result: io::Result<T>) -> Result<T, ScoutFailure> {
    result.map_err(|error| ScoutFailure { step, error })
}

/// Returns the interface's first address of the group's family.
pub(super) fn own_address(interface: &Interface, group: SocketAddr) -> Option<IpAddr> {
    let mut own = interface.addresses.iter().map(|address| address.ip);
    own.find(|ip| ip.is_ipv4() == group.is_ipv4())
}

/// Opens the socket that sends SCOUTs and answers. Its datagrams leave by this interface, with the
/// interface's address.
pub(super) fn asking(
    interface: &Interface,
    own: IpAddr,
    group: SocketAddr,
    ttl: u32,
) -> Result<UdpSocket, ScoutFailure> {
    let socket = during("cannot open a socket", datagram_socket(group))?;
    // The interface is chosen by its address for IPv4, by its index for IPv6.
    let from = match own {
        IpAddr::V4(own) => {
            during("cannot choose it", socket.set_multicast_if_v4(&own))?;
            during("cannot set the TTL", socket.set_multicast_ttl_v4(ttl))?;
            SocketAddr::from((own, 0))
        }
        IpAddr::V6(_) => {
            let chosen = socket.set_multicast_if_v6(interface.index);
            during("cannot choose it", chosen)?;
            during(
                "cannot set the hop limit",
                socket.set_multicast_hops_v6(ttl),
            )?;
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
        }
    };
    during("cannot bind", socket.bind(&from.into()))?;
    Ok(UdpSocket::from_std(socket.into()))
}

/// Opens the socket that receives datagrams to the group on this interface. Any number of processes
/// may share the port.
pub(super) fn hearing(
    interface: &Interface,
    own: IpAddr,
    group: SocketAddr,
) -> Result<UdpSocket, ScoutFailure> {
    let socket = during("cannot open a socket", datagram_socket(group))?;
    during("cannot share the port", socket.set_reuse_address(true))?;
    // On Linux and Windows SO_REUSEADDR is enough; with both options, processes of other users
    // could not share the port.
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    during("cannot share the port", socket.set_reuse_port(true))?;
    let at = match cfg!(windows) {
        true => unspecified(group),
        // Bound to the group, the socket receives only datagrams to the group.
        false => on_interface(group, interface),
    };
    during("cannot bind the group's port", socket.bind(&at.into()))?;
    match (group.ip(), own) {
        (IpAddr::V4(group), IpAddr::V4(own)) => {
            // Linux would deliver datagrams of all interfaces to each socket, and the node would
            // answer them twice.
            #[cfg(any(target_os = "linux", target_os = "android"))]
            during("cannot stay apart", socket.set_multicast_all_v4(false))?;
            during(
                "cannot join the group",
                socket.join_multicast_v4(&group, &own),
            )?;
        }
        (IpAddr::V6(group), _) => {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            during("cannot stay apart", socket.set_multicast_all_v6(false))?;
            let joined = socket.join_multicast_v6(&group, interface.index);
            during("cannot join the group", joined)?;
        }
        (IpAddr::V4(_), IpAddr::V6(_)) => {}
    }
    Ok(UdpSocket::from_std(socket.into()))
}

fn datagram_socket(group: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Adds the interface to a link-local IPv6 group, which is a separate group on each interface.
fn on_interface(group: SocketAddr, interface: &Interface) -> SocketAddr {
    match group {
        SocketAddr::V6(mut group) => {
            group.set_scope_id(interface.index);
            group.into()
        }
        v4 => v4,
    }
}

fn unspecified(group: SocketAddr) -> SocketAddr {
    let ip = match group {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, group.port())
}
