// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address of one end of a link: the protocol, and the place of that end.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use zonda_codec::Locator;

use super::{AddressGroup, Protocol};

/// Address of one end of a link. `Display` is the address alone, as it stands behind the protocol
/// in a locator.
///
/// ```
/// use zonda_transport::link::{LinkAddress, Protocol};
///
/// let here = LinkAddress::internet(Protocol::Tcp, ([127, 0, 0, 1], 7447).into());
/// assert_eq!(here.to_string(), "127.0.0.1:7447");
/// assert_eq!(here.locator().expect("valid").to_string(), "tcp/127.0.0.1:7447");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinkAddress {
    protocol: Protocol,
    place: AddressForm,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum AddressForm {
    Internet(SocketAddr),
    /// Path, or a made-up name for an end that has none.
    Named(Arc<str>),
}

impl LinkAddress {
    /// Returns the address of an end with an internet address. An IPv4 address in the form of an
    /// IPv6 one is converted.
    #[must_use]
    pub fn internet(protocol: Protocol, at: SocketAddr) -> Self {
        let at = match at.ip().to_canonical() {
            IpAddr::V4(ip) => (ip, at.port()).into(),
            // Keeps the interface on which the address is valid.
            IpAddr::V6(_) => at,
        };
        LinkAddress {
            protocol,
            place: AddressForm::Internet(at),
        }
    }

    /// Returns the address of an end on this machine that has a name instead.
    #[must_use]
    pub fn named(protocol: Protocol, name: &str) -> Self {
        LinkAddress {
            protocol,
            place: AddressForm::Named(name.into()),
        }
    }

    /// Returns the same place as an end of another kind of link.
    #[cfg_attr(
        not(any(feature = "tls", feature = "ws")),
        allow(dead_code, reason = "no kind of link is built on another")
    )]
    pub(super) fn over(self, protocol: Protocol) -> Self {
        LinkAddress { protocol, ..self }
    }

    /// Returns the kind of link.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the internet address, if it has one.
    #[must_use]
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self.place {
            AddressForm::Internet(at) => Some(at),
            AddressForm::Named(_) => None,
        }
    }

    /// Returns the group of addresses that share limits with this one.
    #[must_use]
    pub fn group(&self) -> AddressGroup {
        let ip = self.socket_address().map(|at| at.ip());
        ip.map_or(AddressGroup::THIS_MACHINE, AddressGroup::of)
    }

    /// Returns true if a stream between this end, which is the peer's, and `local` stays on this machine: both have the same
    /// address, or one of the machine itself.
    #[must_use]
    pub(crate) fn is_one_host(&self, local: &LinkAddress) -> bool {
        if !self.protocol.is_stream() {
            return false;
        }
        match (self.socket_address(), local.socket_address()) {
            (Some(remote), local) => {
                let remote = remote.ip();
                remote.is_loopback() || local.is_some_and(|local| local.ip() == remote)
            }
            (None, _) => true,
        }
    }

    /// Returns the address as a locator; `None` if its text cannot be one.
    #[must_use]
    pub fn locator(&self) -> Option<Locator> {
        Locator::new(self.protocol.name(), &self.to_string()).ok()
    }
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            AddressForm::Internet(at) => at.fmt(f),
            AddressForm::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_what_they_are() {
        for (given, written) in [
            ("[::ffff:192.0.2.1]:7", "192.0.2.1:7"),
            ("[fe80::1%3]:7", "[fe80::1%3]:7"),
            ("[::]:7", "[::]:7"),
        ] {
            let given = given.parse().expect("an address");
            let address = LinkAddress::internet(Protocol::Tcp, given);
            assert_eq!(address.to_string(), written);
        }
    }
}
