// SPDX-License-Identifier: MIT OR Apache-2.0

//! Slow consumers: neighbours whose links were closed because their sources waited for them too
//! long.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use zonda_codec::ZenohId;
use zonda_transport::{link::AddressGroup, protocol::patience::STALL_WINDOW};

/// Time for which a log line about a slow consumer suppresses further ones.
const MEMORY: Duration = Duration::from_secs(60);

/// Most slow consumers that get a line in the log within [`MEMORY`].
const NEWS_MAX: usize = 3;

/// Most ids and addresses whose debts are kept.
const DEBTORS_MAX: usize = 256;

/// Node, or all nodes of one address, that owes its sources time. The debt stays when the node
/// connects again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Debtor {
    Id(ZenohId),
    Address(AddressGroup),
}

impl Debtor {
    /// Returns the debtors of a neighbour: its id, and its address if the neighbour opened the
    /// connection.
    fn all(zid: ZenohId, group: Option<AddressGroup>) -> impl Iterator<Item = Debtor> {
        let address = group.map(Debtor::Address);
        [Debtor::Id(zid)].into_iter().chain(address)
    }
}

/// Stall time that was used up at some time.
#[derive(Debug, Clone, Copy)]
struct Debt {
    at: Instant,
    owed: Duration,
}

impl Debt {
    /// Returns the part that is not forgiven yet, which shrinks to nothing within [`STALL_WINDOW`].
    fn left(&self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at);
        let part = 1.0 - passed.as_secs_f64() / STALL_WINDOW.as_secs_f64();
        self.owed.mul_f64(part.max(0.0))
    }
}

/// Recent slow consumers, and the number of all.
#[derive(Debug, Default)]
pub(crate) struct SlowConsumers {
    debts: HashMap<Debtor, Debt>,
    news: VecDeque<(Instant, ZenohId)>,
    total: u64,
}

impl SlowConsumers {
    /// Notes that the link to a neighbour was closed because it was too slow, with its debt.
    /// Returns true if the log should report it: once within a minute for one id, and for
    /// [`NEWS_MAX`] ids at most.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        zid: ZenohId,
        group: Option<AddressGroup>,
        owed: Duration,
    ) -> bool {
        self.total += 1;
        for debtor in Debtor::all(zid, group) {
            self.make_room(now);
            self.debts.insert(debtor, Debt { at: now, owed });
        }
        let recent = |at: &Instant| now.saturating_duration_since(*at) <= MEMORY;
        self.news.retain(|(at, _)| recent(at));
        let is_news = self.news.len() < NEWS_MAX && !self.news.iter().any(|(_, id)| *id == zid);
        if is_news {
            self.news.push_back((now, zid));
        }
        is_news
    }

    /// Returns the number of slow consumers so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the debt of a neighbour that has just connected: the larger one of its id and its
    /// address.
    pub(crate) fn owed(&self, now: Instant, zid: ZenohId, group: Option<AddressGroup>) -> Duration {
        let debts = Debtor::all(zid, group).filter_map(|debtor| self.debts.get(&debtor));
        debts.map(|debt| debt.left(now)).max().unwrap_or_default()
    }

    /// Removes forgiven debts, and the oldest debt if the map is still full.
    fn make_room(&mut self, now: Instant) {
        if self.debts.len() < DEBTORS_MAX {
            return;
        }
        self.debts.retain(|_, debt| !debt.left(now).is_zero());
        if self.debts.len() >= DEBTORS_MAX
            && let Some((&oldest, _)) = self.debts.iter().min_by_key(|(_, debt)| debt.at)
        {
            self.debts.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Duration = Duration::from_millis(500);

    fn from(last: u8) -> Option<AddressGroup> {
        Some(AddressGroup::of([10, 0, 0, last].into()))
    }

    #[test]
    fn what_is_owed_stays_owed_by_id_and_address_and_is_forgiven_in_time() {
        let mut slow = SlowConsumers::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let (one, other) = (ZenohId::random_from(1), ZenohId::random_from(2));
        let (here, there) = (from(1), from(2));
        assert_eq!(slow.owed(begin, one, here), Duration::ZERO);
        assert!(slow.note(begin, one, here, FULL));
        assert_eq!(slow.owed(begin, one, there), FULL);
        assert_eq!(slow.owed(begin, other, here), FULL);
        assert_eq!(slow.owed(begin, other, there), Duration::ZERO);
        assert_eq!(slow.owed(at(5), one, here), FULL / 2);
        assert_eq!(slow.owed(at(10), one, here), Duration::ZERO);
        let machine = Some(AddressGroup::THIS_MACHINE);
        slow.note(at(11), one, machine, FULL);
        assert_eq!(slow.owed(at(11), other, machine), FULL, "by a path");
        slow.note(at(30), one, None, FULL);
        assert_eq!(slow.owed(at(30), one, None), FULL, "one that was dialed");
        assert_eq!(slow.owed(at(30), other, None), Duration::ZERO);
    }

    #[test]
    fn new_ids_do_not_make_an_address_forgotten() {
        let mut slow = SlowConsumers::default();
        let begin = Instant::now();
        let here = from(1);
        let mut news = 0;
        for number in 1..1000_u32 {
            let now = begin + Duration::from_millis(number.into());
            let zid = ZenohId::random_from(number.into());
            assert_eq!(slow.owed(now, zid, here).is_zero(), number == 1);
            news += usize::from(slow.note(now, zid, here, FULL));
            assert!(slow.debts.len() <= DEBTORS_MAX);
        }
        assert_eq!((news, slow.total), (NEWS_MAX, 999));
        let later = begin + Duration::from_secs(62);
        assert!(slow.note(later, ZenohId::random_from(5), here, FULL));
        assert!(!slow.note(later, ZenohId::random_from(5), here, FULL));
    }
}
