// SPDX-License-Identifier: MIT OR Apache-2.0

//! Addresses of this machine, and the locators that lead to this node from another one.

use core::net::{IpAddr, SocketAddr};
use std::collections::HashSet;

use zonda_codec::Locator;

/// Number of locators that one node sends, or is recorded with. More are left out.
pub const LOCATORS_MAX: usize = 32;

/// Address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// The mask of its network, if the system reports one.
    pub mask: Option<IpAddr>,
}

impl Address {
    /// Returns true if `ip` is in the same network.
    pub fn reaches(&self, ip: IpAddr) -> bool {
        match (self.ip, self.mask, ip) {
            (IpAddr::V4(own), Some(IpAddr::V4(mask)), IpAddr::V4(ip)) => {
                own.to_bits() & mask.to_bits() == ip.to_bits() & mask.to_bits()
            }
            (IpAddr::V6(own), Some(IpAddr::V6(mask)), IpAddr::V6(ip)) => {
                own.to_bits() & mask.to_bits() == ip.to_bits() & mask.to_bits()
            }
            _ => self.ip == ip,
        }
    }
}

/// Network interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    /// The system's number of it; 0 if it has none.
    pub index: u32,
    /// True if it leads to this machine only.
    pub is_loopback: bool,
    /// Its addresses, IPv4 first.
    pub addresses: Vec<Address>,
}

/// Interfaces of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host(pub Vec<Interface>);

impl Host {
    /// Returns every address of this machine.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.0.iter().flat_map(|interface| &interface.addresses)
    }

    /// Returns true if a datagram or a link from this address comes from this very machine.
    pub fn is_here(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        ip.is_loopback() || self.addresses().any(|own| own.ip == ip)
    }

    /// Returns the locators that lead from `source` to a node that listens on `listening`, the best
    /// first. Configured addresses stay as they are, wildcards become the addresses of the
    /// interfaces; loopback addresses are for this machine only, and so are locators without an
    /// internet address, such as a socket in the file system.
    pub fn locators_for(&self, source: IpAddr, listening: &[Locator]) -> Vec<Locator> {
        let source = source.to_canonical();
        let is_here = self.is_here(source);
        // Rank every address that the locators stand for.
        let mut ranked: Vec<(usize, Locator)> = Vec::new();
        for locator in listening {
            let Some(at) = socket_address(locator) else {
                // A host name is resolved by the node that uses it; a path leads nowhere from another machine.
                if is_here || !locator.address().starts_with('/') {
                    ranked.push((2, locator.clone()));
                }
                continue;
            };
            for ip in self.expanded(at.ip().to_canonical()) {
                if ip.is_loopback() && !is_here {
                    continue;
                }
                let address = SocketAddr::new(ip, at.port()).to_string();
                if let Ok(told) = with_address(locator, &address) {
                    ranked.push((self.rank(ip, source, is_here), told));
                }
            }
        }
        // The best first, each once.
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut seen = HashSet::new();
        ranked.retain(|(_, locator)| seen.insert(locator.clone()));
        ranked.truncate(LOCATORS_MAX);
        ranked.into_iter().map(|(_, locator)| locator).collect()
    }

    /// Returns the addresses that a listening address stands for. Link-local IPv6 addresses are
    /// left out: they are valid only with the number of the interface on the scouting node's machine.
    fn expanded(&self, ip: IpAddr) -> Vec<IpAddr> {
        if !ip.is_unspecified() {
            return vec![ip];
        }
        let is_link_local =
            |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
        let own = self.addresses().map(|own| own.ip);
        // a socket on every IPv6 address accepts IPv4 as well
        own.filter(|own| ip.is_ipv6() || own.is_ipv4())
            .filter(|own| !is_link_local(own))
            .collect()
    }

    fn rank(&self, ip: IpAddr, source: IpAddr, is_here: bool) -> usize {
        let mut own = self.addresses().filter(|own| own.ip == ip);
        match ip.is_loopback() {
            true if source.is_loopback() => usize::from(ip.is_ipv4() != source.is_ipv4()),
            true => 1,
            false if is_here => usize::from(ip != source) * 2,
            false if own.any(|own| own.reaches(source)) => 0,
            false => 3 + usize::from(ip.is_ipv4() != source.is_ipv4()),
        }
    }

    /// Returns the interface that an answer to `ip` leaves by: the one whose network it is in.
    pub fn interface_towards(&self, ip: IpAddr) -> Option<&Interface> {
        let ip = ip.to_canonical();
        let owns = |i: &&Interface| i.addresses.iter().any(|own| own.ip == ip);
        let reaches = |i: &&Interface| i.addresses.iter().any(|own| own.reaches(ip));
        let mut all = self.0.iter();
        all.find(owns).or_else(|| self.0.iter().find(reaches))
    }
}

/// Returns the internet address of a locator, if it has one.
pub fn socket_address(locator: &Locator) -> Option<SocketAddr> {
    locator.address().parse().ok()
}

/// Returns true if a locator leads to its reader's own machine.
pub fn is_loopback(locator: &Locator) -> bool {
    socket_address(locator).is_some_and(|at| at.ip().to_canonical().is_loopback())
}

fn with_address(locator: &Locator, address: &str) -> Result<Locator, zonda_codec::EndpointError> {
    let endpoint = zonda_codec::Endpoint::from(locator.clone());
    Ok(endpoint.with_address(address)?.locator())
}
