// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interfaces of this machine. The system is asked at most every ten seconds by all nodes of a process together, and when it
//! says that they have changed: a list is long where containers run, and nodes are many where tests or robots run.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use getifaddrs::{InterfaceFlags, getifaddrs};

use crate::table::scouting::{Address, Host, Interface};

/// The greatest age of a list.
const FRESH: Duration = Duration::from_secs(10);

/// An interface, and whether scouting is possible on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) interface: Interface,
    pub(super) is_up: bool,
    pub(super) has_multicast: bool,
}

type List = Arc<Vec<Known>>;

static LAST: Mutex<Option<(Instant, List)>> = Mutex::new(None);

/// Every interface, with what can be said of it now, or could a few seconds ago.
pub(crate) fn all() -> io::Result<List> {
    since(Instant::now().checked_sub(FRESH))
}

/// Every interface, as the system gave them after `earliest`.
pub(super) fn since(earliest: Option<Instant>) -> io::Result<List> {
    // In a process that was forked off the lock may be held by nobody for ever: it is never waited for.
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

/// This machine as others see it: the interfaces that are up. Knows of none if the system does not tell.
///
/// # Blocking
/// A system call at most every ten seconds.
pub fn this_host() -> Host {
    match all() {
        Ok(list) => host_of(&list),
        Err(error) => {
            tracing::debug!("the system does not tell its interfaces: {error}");
            Host::default()
        }
    }
}

pub(super) fn host_of(list: &[Known]) -> Host {
    let up = list.iter().filter(|known| known.is_up);
    Host(up.map(|known| known.interface.clone()).collect())
}

/// Tells if a name is that of one of these interfaces, or one of their addresses.
pub(crate) fn is_among(name: &str, list: &[Known]) -> bool {
    list.iter().any(|known| is_meant(name, known))
}

/// Tells if a name in the configuration is that of an interface, or one of its addresses.
pub(super) fn is_meant(name: &str, known: &Known) -> bool {
    let mut addresses = known.interface.addresses.iter();
    known.interface.name == name || addresses.any(|address| address.ip.to_string() == name)
}

fn ask_system() -> io::Result<Vec<Known>> {
    let mut list: Vec<Known> = Vec::new();
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
        // others may look at the same time, and then one of them asks the system itself
        assert!(same.count() > 150);
    }
}
