// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two sockets of a member of a multicast group,
//! `udp/224.0.0.225:7447#iface=eth0;ttl=1;join=224.0.0.226`: one sends to the group, and the
//! members identify this node by its address; one receives the datagrams to the group.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use getifaddrs::{InterfaceFlags, getifaddrs};
use socket2::{Domain, Socket, Type};
use zonda_codec::Endpoint;

use crate::link::{
    EndpointProblem, HostPort, LinkAddress, LinkFailure, LinkStream, Protocol, SocketOptions,
    option, stream::Coding, udp::Flow, udp::pace::Rate,
};

/// Receive buffer of the receiving socket, as far as the system permits.
const RECEIVE_BYTES: usize = 4 * 1024 * 1024;

/// Returns true if an endpoint is a multicast group: several nodes meet there, and no node connects
/// to it.
#[must_use]
pub fn is_group(endpoint: &Endpoint) -> bool {
    endpoint.proto() == Protocol::Udp.name() && address(endpoint).is_some()
}

/// Returns the address of the group that an endpoint names, if it names one.
pub(in crate::link) fn address(endpoint: &Endpoint) -> Option<SocketAddr> {
    let host = HostPort::of(endpoint).ok()?;
    let address = host.socket_address()?;
    address.ip().is_multicast().then_some(address)
}

/// Options of an endpoint for the sockets of a group.
#[derive(Debug, Default)]
pub(in crate::link) struct GroupOptions {
    /// `iface`: name or address of the interface; without it the first one that is no loopback.
    interface: Option<String>,
    /// `ttl`: maximum hops of a datagram; the system's default, 1, without it.
    ttl: Option<u32>,
    /// `join`: further groups that this node receives from, and does not send to.
    joined: Vec<IpAddr>,
    /// `pace`: rate at which the fragments of large messages leave.
    rate: Rate,
    sockets: SocketOptions,
}

impl GroupOptions {
    /// # Errors
    /// The first option with a value that cannot be.
    pub(in crate::link) fn of(endpoint: &Endpoint) -> Result<GroupOptions, EndpointProblem> {
        let is_v4 = address(endpoint).is_none_or(|group| group.is_ipv4());
        let groups = |text: &str| {
            let each = text.split('|').map(|one| one.parse::<IpAddr>().ok());
            let fits = |ip: &IpAddr| ip.is_multicast() && ip.is_ipv4() == is_v4;
            each.map(|ip| ip.filter(fits)).collect::<Option<Vec<_>>>()
        };
        let hops = |text: &str| text.parse().ok().filter(|ttl| (0..=255).contains(ttl));
        Ok(GroupOptions {
            interface: endpoint.config().get("iface").map(str::to_owned),
            ttl: option(endpoint, "ttl", "a number of hops from 0 to 255", hops)?,
            joined: option(
                endpoint,
                "join",
                "multicast addresses of the endpoint's family, such as 224.0.0.226|224.0.0.227",
                groups,
            )?
            .unwrap_or_default(),
            rate: Rate::of(endpoint)?,
            sockets: SocketOptions::of_group(endpoint)?,
        })
    }
}

/// Sockets of a member of a group.
#[derive(Debug)]
pub(crate) struct GroupSockets {
    /// Link that sends each batch to the group.
    pub(crate) stream: LinkStream,
    /// Socket that receives the group's datagrams, including this node's own.
    pub(crate) receiving: Socket,
    /// Source of this node's datagrams.
    pub(crate) own: SocketAddr,
    pub(crate) group: SocketAddr,
}

/// Interface that a group is on.
#[derive(Debug, Clone, Copy)]
struct Interface {
    address: IpAddr,
    index: u32,
}

/// Joins the group of an endpoint.
///
/// # Errors
/// No such interface, or the errors of the system.
pub(crate) fn join(endpoint: &Endpoint) -> Result<GroupSockets, LinkFailure> {
    super::check(endpoint)?;
    let options = GroupOptions::of(endpoint)?;
    let Some(group) = address(endpoint) else {
        return Err(LinkFailure::Endpoint(EndpointProblem::Address {
            address: endpoint.address().as_str().to_owned(),
            what: "is no multicast group",
        }));
    };
    let at = LinkAddress::internet(Protocol::Udp, group);
    open(group, &options).map_err(|error| LinkFailure::Refused(vec![(at, error.into())]))
}

fn open(group: SocketAddr, options: &GroupOptions) -> io::Result<GroupSockets> {
    let interface = interface(options.interface.as_deref(), group)?;
    let mut group = scoped(group, interface.index);
    let receiving = receiving(group, interface, options)?;
    // Port 0 is replaced by the system's choice; other members need the number.
    group.set_port(super::local_address(&receiving)?.port());
    let sending = sending(group, interface, options)?;
    let own = super::local_address(&sending)?;
    Ok(GroupSockets {
        stream: LinkStream::coded(sending, Coding::Datagrams(Flow::dialled(options.rate))),
        receiving,
        own,
        group,
    })
}

/// Returns the interface of this name or address, else the first that is up and no loopback; with
/// an address of the group's family.
fn interface(wanted: Option<&str>, group: SocketAddr) -> io::Result<Interface> {
    let address = wanted.and_then(|wanted| wanted.parse::<IpAddr>().ok());
    // Take the first interface that fits, by name, by address or by its flags.
    for found in getifaddrs()? {
        let fits = match (wanted, address, found.address.ip_addr()) {
            (None, ..) => {
                let flags = found.flags;
                flags.contains(InterfaceFlags::UP | InterfaceFlags::MULTICAST)
                    && !flags.contains(InterfaceFlags::LOOPBACK)
            }
            (Some(_), Some(address), own) => own == Some(address),
            (Some(name), None, _) => found.name == name,
        };
        let own = found.address.ip_addr();
        if let Some(own) = own.filter(|own| fits && own.is_ipv4() == group.is_ipv4()) {
            return Ok(Interface {
                address: own,
                index: found.index.unwrap_or(0),
            });
        }
    }
    // Describe the missing interface.
    let family = if group.is_ipv4() { "IPv4" } else { "IPv6" };
    let what = match wanted {
        Some(wanted) => format!("there is no interface {wanted} with an {family} address"),
        None => format!(
            "no interface but loopback has an {family} address; name one, such as #iface=lo"
        ),
    };
    Err(io::Error::new(io::ErrorKind::AddrNotAvailable, what))
}

/// Adds the interface: a link-local IPv6 group is a different one on each interface.
fn scoped(address: SocketAddr, index: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(mut address) => {
            address.set_scope_id(index);
            address.into()
        }
        v4 => v4,
    }
}

fn sending(group: SocketAddr, interface: Interface, options: &GroupOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
    options.sockets.apply(&socket)?;
    // Choose the interface and the number of hops.
    match interface.address {
        IpAddr::V4(own) => {
            socket.set_multicast_if_v4(&own)?;
            if let Some(ttl) = options.ttl {
                socket.set_multicast_ttl_v4(ttl)?;
            }
        }
        IpAddr::V6(_) => {
            socket.set_multicast_if_v6(interface.index)?;
            if let Some(ttl) = options.ttl {
                socket.set_multicast_hops_v6(ttl)?;
            }
        }
    }
    // Bind to the configured address or to the one of the interface: the members see it.
    let from = options.sockets.bind.unwrap_or_else(|| {
        let any = SocketAddr::new(interface.address, 0);
        match is_link_local(interface.address) {
            true => scoped(any, interface.index),
            false => any,
        }
    });
    socket.bind(&from.into())?;
    socket.connect(&group.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// Creates the receiving socket. Any number of processes may have one on the same address.
fn receiving(
    group: SocketAddr,
    interface: Interface,
    options: &GroupOptions,
) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
    if options.sockets.receive_buffer_bytes.is_none() {
        socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    }
    options.sockets.apply(&socket)?;
    socket.set_reuse_address(true)?;
    // On Linux and Windows the option before is enough; both together would exclude a process of
    // another user.
    #[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
    socket.set_reuse_port(true)?;
    // A socket bound to the group receives the group's datagrams only; with several groups it has
    // to be bound to all addresses.
    let at = match cfg!(windows) || !options.joined.is_empty() {
        true => unspecified(group),
        false => group,
    };
    socket.bind(&at.into())?;
    // Otherwise Linux gives each socket the datagrams to groups of other sockets.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    match group {
        SocketAddr::V4(_) => socket.set_multicast_all_v4(false)?,
        SocketAddr::V6(_) => socket.set_multicast_all_v6(false)?,
    }
    for group in std::iter::once(group.ip()).chain(options.joined.iter().copied()) {
        match (group, interface.address) {
            (IpAddr::V4(group), IpAddr::V4(own)) => socket.join_multicast_v4(&group, &own)?,
            (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, interface.index)?,
            (IpAddr::V4(_), IpAddr::V6(_)) => {}
        }
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn unspecified(group: SocketAddr) -> SocketAddr {
    let ip = match group {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, group.port())
}
