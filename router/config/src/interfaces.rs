// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interfaces of this machine. All nodes of a process together query the system at most every
//! ten seconds, and when it reports a change: the list is long where containers run, and tests or
//! robots run many nodes.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use getifaddrs::{InterfaceFlags, getifaddrs};

use zonda_table::scouting::{Address, Host, Interface};

/// Maximum age of the cached list.
const FRESH: Duration = Duration::from_secs(10);

/// An interface, and its flags that matter for scouting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its name and addresses.
    pub interface: Interface,
    /// True if the system has it up.
    pub is_up: bool,
    /// True if it can send to multicast groups.
    pub has_multicast: bool,
}

type List = Arc<Vec<Known>>;

static LAST: Mutex<Option<(Instant, List)>> = Mutex::new(None);

/// Returns every interface, from a list that is at most ten seconds old.
///
/// # Errors
/// The system does not list its interfaces.
///
/// # Blocking
/// One system call at most every ten seconds.
pub fn all() -> io::Result<List> {
    since(Instant::now().checked_sub(FRESH))
}

/// Returns every interface, from a list that the system gave after `earliest`.
///
/// # Errors
/// The system does not list its interfaces.
///
/// # Blocking
/// One system call if no list is young enough.
pub fn since(earliest: Option<Instant>) -> io::Result<List> {
    // In a forked process the lock may stay locked for ever, so it is never waited for.
    let Ok(mut last) = LAST.try_lock() else {
        return ask_system().map(Arc::new);
    };
    match &*last {
        Some((at, list)) if earliest.is_none_or(|earliest| *at > earliest) => Ok(Arc::clone(list)),
        _ => {
            let list = Arc::new(ask_system()?);
            *last = Some((Instant::now(), Arc::clone(&list)));
            Ok(list)
        }
    }
}

/// Returns this machine's interfaces that are up; none if the system does not list them.
///
/// # Blocking
/// One system call at most every ten seconds.
pub fn this_host() -> Host {
    match all() {
        Ok(list) => host_of(&list),
        Err(error) => {
            tracing::debug!("the system does not list its interfaces: {error}");
            Host::default()
        }
    }
}

/// Returns the interfaces of a list that are up.
pub fn host_of(list: &[Known]) -> Host {
    let up = list.iter().filter(|known| known.is_up);
    Host(up.map(|known| known.interface.clone()).collect())
}

/// Returns true if `name` is the name or an address of one of these interfaces.
pub fn is_among(name: &str, list: &[Known]) -> bool {
    list.iter().any(|known| is_meant(name, known))
}

/// Returns true if a name in the configuration is the name or an address of the interface.
pub fn is_meant(name: &str, known: &Known) -> bool {
    let mut addresses = known.interface.addresses.iter();
    known.interface.name == name || addresses.any(|address| address.ip.to_string() == name)
}

fn ask_system() -> io::Result<Vec<Known>> {
    let mut list: Vec<Known> = Vec::new();
    // The system returns one entry for each address; entries of one name are one interface.
    for found in getifaddrs()? {
        let at = list.iter().position(|k| k.interface.name == found.name);
        let at = at.unwrap_or_else(|| {
            list.push(Known {
                interface: Interface {
                    name: found.name.clone(),
                    index: found.index.unwrap_or(0),
                    is_loopback: found.flags.contains(InterfaceFlags::LOOPBACK),
                    addresses: Vec::new(),
                },
                is_up: found.flags.contains(InterfaceFlags::UP),
                has_multicast: found.flags.contains(InterfaceFlags::MULTICAST),
            });
            list.len() - 1
        });
        let (Some(known), Some(ip)) = (list.get_mut(at), found.address.ip_addr()) else {
            continue;
        };
        let mask = found.address.netmask();
        known.interface.addresses.push(Address { ip, mask });
    }
    // IPv4 addresses come first.
    for known in &mut list {
        let is_v6 = |address: &Address| matches!(address.ip, IpAddr::V6(_));
        known.interface.addresses.sort_by_key(is_v6);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_an_interface_of_every_machine() {
        let host = this_host();
        let addresses: Vec<IpAddr> = host.addresses().map(|address| address.ip).collect();
        assert!(addresses.iter().any(IpAddr::is_loopback), "{host:?}");
        assert!(host.0.iter().any(|interface| interface.is_loopback));
    }

    #[test]
    fn the_system_is_asked_once_by_many() {
        let lists: Vec<List> = (0..200).map(|_| all().expect("a list")).collect();
        let same = lists.windows(2).filter(|two| Arc::ptr_eq(&two[0], &two[1]));
        // Tests on other threads may query at the same time, and then one query bypasses the cache.
        assert!(same.count() > 150);
    }
}
