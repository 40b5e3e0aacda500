// SPDX-License-Identifier: MIT OR Apache-2.0
//! The permanent check: every payload of at least 8 bytes begins with a stamp, the number of its
//! publisher and its place in that publisher's sequence. The subscriber compares each stamp with
//! the expected one, and keeps exact counts of missing, duplicated and late messages.
//!
//! ```text
//! bit 63      48 47                                 0
//! +-------------+-----------------------------------+
//! | publisher   | place in its sequence, from 0     |   little endian
//! +-------------+-----------------------------------+
//! ```
//!
//! The last place is not a message but a greeting, sent until every subscriber has received it, so
//! that no message is counted before all are connected.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Bits of the place in a sequence.
const PLACE_BITS: u32 = 48;
/// The place of a greeting.
const GREETING: u64 = (1 << PLACE_BITS) - 1;
/// The maximum number of gaps that are remembered to recognise late messages. Beyond it, a late
/// message of the oldest gap counts as a duplicate, and remains missing.
const GAPS: usize = 100_000;
/// Bytes of a stamp.
pub const STAMP: usize = 8;
/// The number of publishers that stamps can distinguish.
pub const PUBLISHERS_MAX: u16 = 1024;

/// Returns the stamp of a message.
pub fn stamp(publisher: u16, place: u64) -> [u8; STAMP] {
    (u64::from(publisher) << PLACE_BITS | place).to_le_bytes()
}

/// Returns the stamp of a greeting.
pub fn greeting(publisher: u16) -> [u8; STAMP] {
    stamp(publisher, GREETING)
}

/// The messages that a subscriber has received from one publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedSequence {
    /// The expected place: one more than the highest received.
    pub next: u64,
    /// Places below it that were not received.
    pub missing: u64,
    /// Repeated messages.
    pub duplicated: u64,
    /// Messages that were received after a later one.
    pub reordered: u64,
}

/// Counts of a subscriber. One link, and so one thread at a time, receives each publisher's
/// messages; different threads may receive those of different publishers.
pub struct SequenceCheck {
    publishers: Vec<Account>,
    unstamped: AtomicU64,
}

/// The counts of one publisher, alone on their cache lines, because another thread may update the
/// next ones.
#[repr(align(128))]
struct Account {
    /// The whole expected stamp.
    next: AtomicU64,
    greeted: AtomicU64,
    irregular: Mutex<Irregular>,
}

#[derive(Default)]
struct Irregular {
    /// The first missing place of each gap, and the one after its last.
    gaps: BTreeMap<u64, u64>,
    missing: u64,
    duplicated: u64,
    reordered: u64,
}

impl SequenceCheck {
    /// Creates empty counts of this many publishers.
    pub fn new(publishers: u16) -> Self {
        let account = |number: u16| Account {
            next: AtomicU64::new(u64::from(number) << PLACE_BITS),
            greeted: AtomicU64::new(0),
            irregular: Mutex::default(),
        };
        SequenceCheck {
            publishers: (0..publishers).map(account).collect(),
            unstamped: AtomicU64::new(0),
        }
    }

    /// Checks a message: one comparison if it is the expected one.
    #[inline]
    pub fn receive(&self, payload: &[u8]) {
        let Some(stamp) = payload.first_chunk() else {
            // too short for a stamp, from one publisher: only counted
            self.unstamped
                .store(self.unstamped.load(Relaxed) + 1, Relaxed);
            return;
        };
        let stamp = u64::from_le_bytes(*stamp);
        let Some(account) = self.publishers.get((stamp >> PLACE_BITS) as usize) else {
            return;
        };
        if account.next.load(Relaxed) == stamp {
            account.next.store(stamp + 1, Relaxed);
        } else {
            account.unexpected(stamp);
        }
    }

    /// Returns the number of messages received so far, without greetings.
    pub fn messages(&self) -> u64 {
        let of = |account: &Account| {
            let seen = account.seen();
            seen.next - seen.missing + seen.duplicated
        };
        self.unstamped.load(Relaxed) + self.publishers.iter().map(of).sum::<u64>()
    }

    /// Returns the number of publishers whose greeting was received.
    pub fn heard(&self) -> u64 {
        self.publishers
            .iter()
            .map(|a| a.greeted.load(Relaxed))
            .sum()
    }

    /// Returns the messages received, by publisher.
    pub fn seen(&self) -> Vec<ReceivedSequence> {
        self.publishers.iter().map(Account::seen).collect()
    }

    /// Returns the number of messages too short for a stamp.
    pub fn unstamped(&self) -> u64 {
        self.unstamped.load(Relaxed)
    }
}

impl Account {
    fn irregular(&self) -> MutexGuard<'_, Irregular> {
        self.irregular
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn unexpected(&self, stamp: u64) {
        if stamp & GREETING == GREETING {
            self.greeted.store(1, Relaxed);
            return;
        }
        let next = self.next.load(Relaxed);
        let mut irregular = self.irregular();
        if stamp < next {
            irregular.late(stamp & GREETING);
        } else {
            irregular.gap(next & GREETING, stamp & GREETING);
            self.next.store(stamp + 1, Relaxed);
        }
    }

    fn seen(&self) -> ReceivedSequence {
        let irregular = self.irregular();
        ReceivedSequence {
            next: self.next.load(Relaxed) & GREETING,
            missing: irregular.missing,
            duplicated: irregular.duplicated,
            reordered: irregular.reordered,
        }
    }
}

impl Irregular {
    /// Adds a gap: the places from `from` on were not received before `to`.
    fn gap(&mut self, from: u64, to: u64) {
        self.missing += to - from;
        self.gaps.insert(from, to);
        if self.gaps.len() > GAPS {
            self.gaps.pop_first();
        }
    }

    /// Counts a message whose place is below the expected one.
    fn late(&mut self, place: u64) {
        let gap = self.gaps.range(..=place).next_back();
        let Some((&from, &to)) = gap.filter(|(_, to)| place < **to) else {
            self.duplicated += 1;
            return;
        };
        self.reordered += 1;
        self.missing -= 1;
        self.gaps.remove(&from);
        for (from, to) in [(from, place), (place + 1, to)] {
            if from < to {
                self.gaps.insert(from, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(places: &[u64]) -> (ReceivedSequence, u64) {
        let check = SequenceCheck::new(2);
        for &place in places {
            check.receive(&stamp(1, place));
        }
        assert_eq!(
            check.seen()[0],
            ReceivedSequence::default(),
            "the other publisher"
        );
        (check.seen()[1], check.messages())
    }

    #[test]
    fn in_order_nothing_is_odd() {
        let all: Vec<u64> = (0..1000).collect();
        let (seen, messages) = after(&all);
        let whole = ReceivedSequence {
            next: 1000,
            ..ReceivedSequence::default()
        };
        assert_eq!((seen, messages), (whole, 1000));
    }

    #[test]
    fn a_lost_message_is_missing() {
        let (seen, messages) = after(&[0, 1, 3, 4, 8]);
        assert_eq!((seen.next, seen.missing), (9, 4));
        assert_eq!((seen.duplicated, seen.reordered, messages), (0, 0, 5));
        // also if it is the first one
        assert_eq!(after(&[1, 2]).0.missing, 1);
    }

    #[test]
    fn a_message_that_comes_twice_is_a_duplicate() {
        let (seen, messages) = after(&[0, 1, 1, 2, 0, 3]);
        assert_eq!((seen.next, seen.missing), (4, 0));
        assert_eq!((seen.duplicated, seen.reordered, messages), (2, 0, 6));
    }

    #[test]
    fn a_message_after_a_later_one_is_reordered_and_not_lost() {
        let (seen, messages) = after(&[0, 4, 2, 1, 3, 5]);
        assert_eq!((seen.next, seen.missing), (6, 0));
        assert_eq!((seen.duplicated, seen.reordered, messages), (0, 3, 6));
        // a repeated one is a duplicate
        let (seen, _) = after(&[0, 2, 1, 1]);
        assert_eq!((seen.duplicated, seen.reordered), (1, 1));
    }

    #[test]
    fn old_gaps_are_forgotten_but_stay_missing() {
        let check = SequenceCheck::new(1);
        for n in 0..=GAPS as u64 {
            check.receive(&stamp(0, 2 * n + 1));
        }
        check.receive(&stamp(0, 0));
        check.receive(&stamp(0, 2));
        let seen = check.seen()[0];
        assert_eq!((seen.duplicated, seen.reordered), (1, 1));
        assert_eq!(seen.missing, GAPS as u64);
    }

    #[test]
    fn greetings_and_short_messages_stand_apart() {
        let check = SequenceCheck::new(2);
        check.receive(&greeting(1));
        check.receive(&greeting(1));
        assert_eq!((check.heard(), check.messages()), (1, 0));
        check.receive(&greeting(0));
        check.receive(&[1, 2]);
        // no such publisher
        check.receive(&stamp(7, 0));
        assert_eq!(
            (check.heard(), check.messages(), check.unstamped()),
            (2, 1, 1)
        );
    }
}
