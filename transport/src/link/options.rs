// SPDX-License-Identifier: MIT OR Apache-2.0
//! Socket options behind the `#` of an endpoint.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::Socket;
use zonda_codec::{Endpoint, Priority, QosLink, Reliability};

use super::EndpointProblem;

/// Returns the priorities and the reliability of a link to an endpoint, by its options `prio` and
/// `rel`; `None` if it has neither, or such as cannot be.
pub(crate) fn qos_link(endpoint: &Endpoint) -> Option<QosLink> {
    let metadata = endpoint.metadata();
    let priorities = metadata.get("prio").and_then(priorities);
    let reliability = match metadata.get("rel") {
        Some("0") => Some(Reliability::BestEffort),
        Some("1") => Some(Reliability::Reliable),
        _ => None,
    };
    let says_any = priorities.is_some() || reliability.is_some();
    says_any.then(|| QosLink::new(priorities, reliability))
}

/// Reads one priority, or the first and the last one of a range.
pub(super) fn priorities(text: &str) -> Option<(Priority, Priority)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let priority = |text: &str| Priority::try_from(text.parse::<u8>().ok()?).ok();
    let range = priority(first).zip(priority(last));
    range.filter(|(first, last)| (*first as u8) <= *last as u8)
}

/// Socket options of an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `so_sndbuf`: size of the send buffer in bytes; the system's default without it.
    pub send_buffer_bytes: Option<usize>,
    /// `so_rcvbuf`: size of the receive buffer in bytes; the system's default without it.
    pub receive_buffer_bytes: Option<usize>,
    /// `bind`: the local address to connect from, port 0 for any.
    pub bind: Option<SocketAddr>,
    /// `iface`: the network interface that all packets must pass.
    pub interface: Option<String>,
    /// `dscp`: the type of service of IPv4, the traffic class of IPv6: the whole byte.
    pub traffic_class: Option<u8>,
}

/// Sizes of a socket's buffers if its endpoint sets none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketBuffers {
    /// Bytes of the send buffer; the system's default without it.
    pub send_bytes: Option<usize>,
    /// Bytes of the receive buffer; the system's default without it.
    pub receive_bytes: Option<usize>,
}

impl SocketOptions {
    /// Returns the options with these sizes of buffers if the endpoint sets none.
    #[must_use]
    pub fn or(self, buffers: SocketBuffers) -> SocketOptions {
        SocketOptions {
            send_buffer_bytes: self.send_buffer_bytes.or(buffers.send_bytes),
            receive_buffer_bytes: self.receive_buffer_bytes.or(buffers.receive_bytes),
            ..self
        }
    }

    /// Parses the options `so_sndbuf`, `so_rcvbuf`, `bind`, `iface` and `dscp`; other options are
    /// ignored.
    ///
    /// # Errors
    /// [`EndpointProblem::Option`] for a value that cannot be.
    pub fn of(endpoint: &Endpoint) -> Result<SocketOptions, EndpointProblem> {
        Ok(SocketOptions {
            interface: option(
                endpoint,
                "iface",
                "the name of a network interface, such as eth0",
                interface,
            )?,
            ..SocketOptions::of_group(endpoint)?
        })
    }

    /// Parses the options of a multicast group, whose `iface` may be an address as well: that one
    /// is ignored.
    ///
    /// # Errors
    /// The errors of [`SocketOptions::of`].
    pub(crate) fn of_group(endpoint: &Endpoint) -> Result<SocketOptions, EndpointProblem> {
        Ok(SocketOptions {
            send_buffer_bytes: size(endpoint, "so_sndbuf")?,
            receive_buffer_bytes: size(endpoint, "so_rcvbuf")?,
            bind: bound(endpoint)?,
            interface: None,
            traffic_class: option(
                endpoint,
                "dscp",
                "a byte, such as 0xb8 or 184, or several joined by |",
                traffic_class,
            )?,
        })
    }

    /// Applies all but `bind` to a socket that is neither connected nor listening.
    ///
    /// # Errors
    /// The errors of the system: no such interface, or not allowed.
    pub fn apply(&self, socket: &Socket) -> io::Result<()> {
        if let Some(bytes) = self.send_buffer_bytes {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(class) = self.traffic_class {
            set_traffic_class(socket, class.into())?;
        }
        match &self.interface {
            Some(name) => bind_to_interface(socket, name),
            None => Ok(()),
        }
    }
}

#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
fn bind_to_interface(socket: &Socket, name: &str) -> io::Result<()> {
    let failed =
        |error: io::Error| io::Error::new(error.kind(), format!("interface {name}: {error}"));
    socket.bind_device(Some(name.as_bytes())).map_err(failed)
}

#[cfg(not(any(target_os = "android", target_os = "fuchsia", target_os = "linux")))]
fn bind_to_interface(_socket: &Socket, name: &str) -> io::Result<()> {
    let text = format!("interface {name}: a socket cannot be tied to an interface on this system");
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Sets both classes on a socket of IPv6, as that may have peers of IPv4.
#[cfg(any(target_os = "android", target_os = "linux"))]
fn set_traffic_class(socket: &Socket, class: u32) -> io::Result<()> {
    if socket.local_addr()?.is_ipv6() {
        socket.set_tclass_v6(class)?;
    }
    socket.set_tos_v4(class)
}

#[cfg(not(any(target_os = "android", target_os = "linux")))]
fn set_traffic_class(_socket: &Socket, _class: u32) -> io::Result<()> {
    let text = "dscp cannot be set on this system";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Looks an option up and parses its value.
pub(crate) fn option<T>(
    endpoint: &Endpoint,
    key: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, EndpointProblem> {
    let Some(value) = endpoint.config().get(key) else {
        return Ok(None);
    };
    let problem = || EndpointProblem::Option {
        key,
        value: value.to_owned(),
        expected,
    };
    parse(value).ok_or_else(problem).map(Some)
}

fn size(endpoint: &Endpoint, key: &'static str) -> Result<Option<usize>, EndpointProblem> {
    // The kernel takes a C int.
    let parse = |value: &str| {
        value
            .parse()
            .ok()
            .filter(|bytes| *bytes <= i32::MAX as usize)
    };
    option(
        endpoint,
        key,
        "a number of bytes up to 2147483647; 0 is the least that the system has",
        parse,
    )
}

fn bound(endpoint: &Endpoint) -> Result<Option<SocketAddr>, EndpointProblem> {
    let expected = "ADDRESS or ADDRESS:PORT, such as 192.168.0.1:0";
    option(endpoint, "bind", expected, address)
}

fn address(value: &str) -> Option<SocketAddr> {
    let bare = value.trim_start_matches('[').trim_end_matches(']');
    let alone = || bare.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
    value.parse().ok().or_else(alone)
}

/// Parses a traffic class; several values are joined by a bitwise or.
fn traffic_class(value: &str) -> Option<u8> {
    let one = |text: &str| {
        let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let binary = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"));
        match (hexadecimal, binary) {
            (Some(digits), _) => u8::from_str_radix(digits, 16).ok(),
            (_, Some(digits)) => u8::from_str_radix(digits, 2).ok(),
            (None, None) => text.parse().ok(),
        }
    };
    value
        .split('|')
        .try_fold(0, |sum, text| Some(sum | one(text)?))
}

fn interface(value: &str) -> Option<String> {
    // IFNAMSIZ is 16 with the final zero.
    ((1..16).contains(&value.len()) && !value.contains('\0')).then(|| value.to_owned())
}
