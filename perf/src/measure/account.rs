// SPDX-License-Identifier: MIT OR Apache-2.0
//! The account of a flow: every message offered must be delivered exactly once and in order, or
//! dropped and counted.

use crate::scenario::Topology;
use crate::scenario::flow::{Congestion, Flow};
use crate::workers::sequence_check::{ReceivedSequence, STAMP};

/// The names of the figures of an account.
pub const ACCOUNT: [&str; 6] = [
    "offered",
    "delivered",
    "dropped",
    "lost",
    "duplicated",
    "reordered",
];

/// The account of one round, which covers every message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Expected deliveries: messages put, times subscribers.
    pub offered: u64,
    /// Messages that were delivered, each counted once.
    pub delivered: u64,
    /// Messages that were not delivered.
    pub lost: u64,
    /// Repeated deliveries.
    pub duplicated: u64,
    /// Messages that were delivered after a later one of the same publisher.
    pub reordered: u64,
    /// Messages that a node dropped and counted, once for each subscriber that missed one.
    pub dropped: u64,
}

/// The report of one publisher: messages put, and those of them dropped.
pub type Offer = (u64, u64);

/// The report of one subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Sequences, by publisher.
    pub seen: Vec<ReceivedSequence>,
    /// Messages too short for a stamp.
    pub unstamped: u64,
}

impl Account {
    /// Adds up the reports of the programs; the router dropped `behind` messages. Messages too
    /// short for a stamp are only counted.
    pub fn of(flow: &Flow, offers: &[Offer], behind: u64, receipts: &[Receipt]) -> Self {
        let dropped: u64 = offers.iter().map(|(_, dropped)| dropped).sum();
        // a message that misses the router misses all subscribers behind it
        let times = match flow.topology {
            Topology::PeerToPeer | Topology::OneThread => 1,
            Topology::Routed => u64::from(flow.subscribers),
        };
        let mut account = Account {
            dropped: dropped * times + behind,
            ..Account::default()
        };
        // expected and actual deliveries of each subscriber
        for receipt in receipts {
            let offered: u64 = offers.iter().map(|(offered, _)| offered).sum();
            let delivered = if flow.size < STAMP {
                account.duplicated += receipt.unstamped.saturating_sub(offered);
                receipt.unstamped.min(offered)
            } else {
                receipt.seen.iter().map(|s| s.next - s.missing).sum()
            };
            account.offered += offered;
            account.delivered += delivered;
            account.lost += offered.saturating_sub(delivered);
            for seen in &receipt.seen {
                account.duplicated += seen.duplicated;
                account.reordered += seen.reordered;
            }
        }
        account
    }

    /// Returns the figures by their names in the record, in the order of [`ACCOUNT`].
    pub fn figures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            self.offered,
            self.delivered,
            self.dropped,
            self.lost,
            self.duplicated,
            self.reordered,
        ];
        ACCOUNT.into_iter().zip(counts)
    }

    /// Returns the faults in one line; `None` if there are none. Losses on a lossy link are no
    /// fault.
    pub fn fault(&self, flow: &Flow, is_lossy: bool) -> Option<String> {
        let mut faults = Vec::new();
        // losses must match the congestion control
        let is_complete = flow.service.congestion == Congestion::Block;
        if is_complete && self.lost > 0 && !is_lossy {
            faults.push(format!("{} lost", self.lost));
        } else if !is_complete && self.lost != self.dropped && !is_lossy {
            let (lost, dropped) = (self.lost, self.dropped);
            faults.push(format!(
                "{lost} did not come although {dropped} were counted as dropped"
            ));
        }
        // duplicates and disorder are always faults
        for (count, what) in [
            (self.duplicated, "came twice"),
            (self.reordered, "came out of order"),
        ] {
            if count > 0 {
                faults.push(format!("{count} {what}"));
            }
        }
        (!faults.is_empty()).then(|| format!("of {} messages {}", self.offered, faults.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::flow::Service;
    use crate::workers::sequence_check::{SequenceCheck, stamp};

    fn flow(congestion: Congestion, topology: Topology) -> Flow {
        Flow {
            topology,
            publishers: 1,
            subscribers: 1,
            keys: None,
            service: Service {
                congestion,
                ..Service::default()
            },
            size: 8,
        }
    }

    fn receipt(places: &[u64]) -> Receipt {
        let check = SequenceCheck::new(1);
        for &place in places {
            check.receive(&stamp(0, place));
        }
        Receipt {
            seen: check.seen(),
            unstamped: check.unstamped(),
        }
    }

    fn fault(congestion: Congestion, offer: Offer, places: &[u64]) -> Option<String> {
        let flow = flow(congestion, Topology::PeerToPeer);
        Account::of(&flow, &[offer], 0, &[receipt(places)]).fault(&flow, false)
    }

    #[test]
    fn what_adds_up_is_no_fault() {
        assert_eq!(fault(Congestion::Block, (4, 0), &[0, 1, 2, 3]), None);
        // one counted as dropped in the middle, one at the end
        assert_eq!(fault(Congestion::Drop, (4, 2), &[0, 2]), None);
    }

    #[test]
    fn what_a_link_may_lose_is_no_fault() {
        let flow = flow(Congestion::Block, Topology::PeerToPeer);
        let of = |places: &[u64]| Account::of(&flow, &[(4, 0)], 0, &[receipt(places)]);
        let account = of(&[0, 3]);
        assert_eq!((account.lost, account.fault(&flow, true)), (2, None));
        assert!(of(&[0, 0]).fault(&flow, true).is_some());
    }

    #[test]
    fn every_seeded_fault_is_named() {
        for (congestion, offer, places, words) in [
            (
                Congestion::Block,
                (4, 0),
                &[0, 1, 3][..],
                "of 4 messages 1 lost",
            ),
            (Congestion::Block, (4, 0), &[0, 1, 2], "1 lost"),
            (Congestion::Block, (3, 0), &[0, 1, 1, 2], "1 came twice"),
            (Congestion::Block, (3, 0), &[1, 0, 2], "1 came out of order"),
            (
                Congestion::Drop,
                (4, 1),
                &[0, 2],
                "2 did not come although 1 were counted",
            ),
            (
                Congestion::Drop,
                (3, 1),
                &[0, 1, 2],
                "0 did not come although 1",
            ),
            (Congestion::Drop, (2, 0), &[0, 1, 0], "1 came twice"),
        ] {
            let found = fault(congestion, offer, places).unwrap_or_default();
            assert!(found.contains(words), "{places:?}: {found:?}");
        }
    }

    #[test]
    fn subscribers_and_publishers_add_up() {
        let flow = Flow {
            publishers: 2,
            subscribers: 2,
            ..flow(Congestion::Block, Topology::Routed)
        };
        let seen = |next| ReceivedSequence {
            next,
            ..ReceivedSequence::default()
        };
        let receipt = |a, b| Receipt {
            seen: vec![seen(a), seen(b)],
            unstamped: 0,
        };
        let of = |offers: &[Offer], behind, receipts: &[Receipt]| {
            Account::of(&flow, offers, behind, receipts)
        };
        let check = of(&[(5, 0), (7, 0)], 0, &[receipt(5, 7), receipt(5, 6)]);
        assert_eq!((check.offered, check.delivered, check.lost), (24, 23, 1));
        // one dropped before the router is missing twice, one dropped there is missing once
        let check = of(&[(5, 0), (7, 1)], 1, &[receipt(5, 6), receipt(5, 5)]);
        assert_eq!((check.lost, check.dropped), (3, 3));
    }

    #[test]
    fn short_messages_are_counted() {
        let flow = Flow {
            size: 1,
            ..flow(Congestion::Block, Topology::PeerToPeer)
        };
        let check = |unstamped| {
            let receipt = Receipt {
                seen: vec![ReceivedSequence::default()],
                unstamped,
            };
            Account::of(&flow, &[(5, 0)], 0, &[receipt])
        };
        assert_eq!(check(5).fault(&flow, false), None);
        assert_eq!((check(3).lost, check(6).duplicated), (2, 1));
    }
}
