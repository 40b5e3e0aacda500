// SPDX-License-Identifier: MIT OR Apache-2.0
//! Admission to a group: the most members in all and from one address, and the choice of the member
//! that is evicted for a newcomer.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::link::AddressGroup;

/// Decision about a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberDecision {
    /// The group has a free place.
    Free,
    /// The newcomer replaces this member, which is removed.
    Of(SocketAddr),
    /// The newcomer is refused: all members of its address are alive, and no other address has more
    /// of them.
    None,
}

/// Number of members of each address, and the limits.
#[derive(Debug)]
pub(super) struct MemberLimits {
    max: usize,
    per_address: usize,
    /// Silence after which a member is evicted for a newcomer, even where no address has more
    /// members than its own.
    silence: Duration,
    taken: HashMap<AddressGroup, usize>,
}

impl MemberLimits {
    pub(super) fn new(max: usize, per_address: usize, silence: Duration) -> MemberLimits {
        MemberLimits {
            max,
            per_address: per_address.min(max),
            silence,
            taken: HashMap::new(),
        }
    }

    /// Decides about a newcomer at `from`. `present` are the members, and the time of the last
    /// datagram of each.
    pub(super) fn find(
        &self,
        from: SocketAddr,
        present: impl ExactSizeIterator<Item = (SocketAddr, Instant)>,
        now: Instant,
    ) -> MemberDecision {
        let own = AddressGroup::of(from.ip());
        let has = self.taken_by(own);
        let is_over_share = has >= self.per_address;
        if !is_over_share && present.len() < self.max {
            return MemberDecision::Free;
        }
        // An address beyond its share makes room among its own members only.
        let candidates =
            present.filter(|(at, _)| !is_over_share || AddressGroup::of(at.ip()) == own);
        let rank = |at: SocketAddr, heard: Instant| {
            let taken = self.taken_by(AddressGroup::of(at.ip()));
            (taken, now.saturating_duration_since(heard))
        };
        let most = candidates
            .map(|(at, heard)| (rank(at, heard), at))
            .max_by_key(|(rank, _)| *rank);
        match most {
            Some(((taken, silent), at)) if taken > has + 1 || silent >= self.silence => {
                MemberDecision::Of(at)
            }
            _ => MemberDecision::None,
        }
    }

    pub(super) fn take(&mut self, at: SocketAddr) {
        *self.taken.entry(AddressGroup::of(at.ip())).or_default() += 1;
    }

    pub(super) fn give_back(&mut self, at: SocketAddr) {
        let group = AddressGroup::of(at.ip());
        if let Some(taken) = self.taken.get_mut(&group) {
            *taken -= 1;
            if *taken == 0 {
                self.taken.remove(&group);
            }
        }
    }

    fn taken_by(&self, group: AddressGroup) -> usize {
        self.taken.get(&group).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENCE: Duration = Duration::from_secs(4);

    /// Members by address, each with the seconds since its last datagram.
    struct AddressMembers {
        places: MemberLimits,
        present: Vec<(SocketAddr, u64)>,
    }

    impl AddressMembers {
        fn new(max: usize, per_address: usize) -> AddressMembers {
            AddressMembers {
                places: MemberLimits::new(max, per_address, SILENCE),
                present: Vec::new(),
            }
        }

        fn add(&mut self, at: &str, silent: u64) {
            self.places.take(address(at));
            self.present.push((address(at), silent));
        }

        fn find(&self, from: &str) -> MemberDecision {
            let now = Instant::now() + Duration::from_secs(1000);
            let heard =
                |(at, silent): &(SocketAddr, u64)| (*at, now - Duration::from_secs(*silent));
            self.places
                .find(address(from), self.present.iter().map(heard), now)
        }
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_crowd_of_one_address_makes_room_for_others_and_not_for_more_of_its_own() {
        let mut bench = AddressMembers::new(4, 3);
        bench.add("192.0.2.2:1", 3);
        for (port, silent) in [(1, 0), (2, 2), (3, 1)] {
            bench.add(&format!("192.0.2.1:{port}"), silent);
        }
        assert_eq!(bench.find("192.0.2.1:9"), MemberDecision::None);
        assert_eq!(
            bench.find("192.0.2.3:9"),
            MemberDecision::Of(address("192.0.2.1:2"))
        );
    }

    #[test]
    fn a_silent_member_of_the_same_address_gives_way() {
        let mut bench = AddressMembers::new(10, 2);
        bench.add("192.0.2.1:1", 0);
        bench.add("192.0.2.1:2", SILENCE.as_secs());
        bench.add("192.0.2.2:1", 9);
        assert_eq!(
            bench.find("192.0.2.1:3"),
            MemberDecision::Of(address("192.0.2.1:2"))
        );
        assert_eq!(bench.find("192.0.2.2:2"), MemberDecision::Free);
    }

    #[test]
    fn members_that_are_alive_keep_their_places_where_all_addresses_are_alike() {
        let mut bench = AddressMembers::new(2, 2);
        bench.add("192.0.2.1:1", 1);
        bench.add("192.0.2.2:1", 2);
        assert_eq!(bench.find("192.0.2.3:1"), MemberDecision::None);
        bench.present[0].1 = 5;
        assert_eq!(
            bench.find("192.0.2.3:1"),
            MemberDecision::Of(address("192.0.2.1:1"))
        );
    }

    #[test]
    fn a_place_that_is_given_back_is_free() {
        let mut bench = AddressMembers::new(9, 1);
        bench.add("192.0.2.1:1", 0);
        assert_eq!(bench.find("192.0.2.1:2"), MemberDecision::None);
        bench.places.give_back(address("192.0.2.1:1"));
        bench.present.clear();
        assert_eq!(bench.find("192.0.2.1:2"), MemberDecision::Free);
        assert!(bench.places.taken.is_empty());
    }
}
