// SPDX-License-Identifier: MIT OR Apache-2.0
//! Groups of addresses that count as one for limits by address.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// One IPv4 address, or one IPv6 network of 64 bits, as a node with one address of such a network
/// can use all of them; or all peers on this machine without an internet address.
///
/// ```
/// use zonda_transport::link::AddressGroup;
///
/// let group = |ip: &str| AddressGroup::of(ip.parse().expect("an address"));
/// assert_ne!(group("192.0.2.1"), group("192.0.2.2"));
/// assert_eq!(group("2001:db8:1:2::1"), group("2001:db8:1:2:ffff::"));
/// assert_eq!(group("::ffff:192.0.2.1"), group("192.0.2.1"));
/// assert_eq!(group("2001:db8:1:2::1").to_string(), "2001:db8:1:2::/64");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressGroup(Option<IpAddr>);

impl AddressGroup {
    /// Group of all peers that are connected without an internet address.
    pub const THIS_MACHINE: AddressGroup = AddressGroup(None);

    /// Returns the group of an address.
    #[must_use]
    pub fn of(ip: IpAddr) -> Self {
        AddressGroup(Some(match ip.to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
            v4 => v4,
        }))
    }
}

impl fmt::Display for AddressGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(IpAddr::V4(ip)) => ip.fmt(f),
            Some(IpAddr::V6(ip)) => write!(f, "{ip}/64"),
            None => f.write_str("this machine"),
        }
    }
}
