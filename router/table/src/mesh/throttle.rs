// SPDX-License-Identifier: MIT OR Apache-2.0

//! Throttle of the computation of trees: the first change of a quiet network is followed at once,
//! further ones together after a pause that grows as long as the network keeps changing, and
//! shrinks again when it does not. A router that connects and disconnects without end costs the
//! other routers a bounded share of their time.
//!
//! Messages over a link that this node has lost go nowhere until trees are computed, so that change
//! does not wait. A neighbour that connects and disconnects is accepted at most four times a second.

use std::time::{Duration, Instant};

use crate::deadline::Deadline;

/// First pause.
const FIRST: Duration = Duration::from_millis(50);

/// Longest pause.
pub(super) const LONGEST: Duration = Duration::from_millis(1600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// Each change is followed at once.
    Over,
    /// Trees were computed; the next call with a time sets the end of the pause.
    Begins,
    Until(Instant),
}

/// Decides when trees are computed.
#[derive(Debug)]
pub(super) struct Throttle {
    pause: Pause,
    /// Length of the next pause.
    length: Duration,
    /// True if a change is not in the trees yet.
    is_pending: bool,
    /// True if the next change is followed at once.
    is_urgent: bool,
}

impl Throttle {
    pub(super) const fn new() -> Self {
        Throttle {
            pause: Pause::Over,
            length: FIRST,
            is_pending: false,
            is_urgent: false,
        }
    }

    /// Makes the next change urgent: the loss of a link of this node.
    pub(super) fn note_loss(&mut self) {
        self.is_urgent = true;
    }

    /// Records a change. True if trees are to be computed now.
    pub(super) fn note_change(&mut self) -> bool {
        let is_over = self.pause == Pause::Over;
        if is_over {
            self.pause = Pause::Begins;
        }
        let is_due = is_over | std::mem::take(&mut self.is_urgent);
        self.is_pending = !is_due;
        is_due
    }

    /// Returns true if a change is not in the trees yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Returns true if trees are to be computed at this time.
    pub(super) fn look(&mut self, now: Instant) -> bool {
        match self.pause {
            Pause::Begins => self.pause = Pause::Until(now + self.length),
            Pause::Until(at) if at <= now && self.is_pending => {
                self.is_pending = false;
                self.length = (2 * self.length).min(LONGEST);
                self.pause = Pause::Until(now + self.length);
                return true;
            }
            Pause::Until(at) if at <= now && self.length > FIRST => {
                self.length /= 2;
                self.pause = Pause::Until(now + self.length);
            }
            Pause::Until(at) if at <= now => self.pause = Pause::Over,
            Pause::Over | Pause::Until(_) => {}
        }
        false
    }

    /// Returns the time at which [`look`](Self::look) has work to do.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        match self.pause {
            Pause::Over => None,
            Pause::Begins => Some(Deadline::Now),
            Pause::Until(at) => Some(Deadline::At(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_of_a_link_does_not_wait() {
        let mut throttle = Throttle::new();
        assert!(throttle.note_change() && !throttle.note_change());
        throttle.note_loss();
        assert!(throttle.note_change() && !throttle.is_pending());
        assert!(!throttle.note_change(), "the pause goes on for others");
    }

    #[test]
    fn the_first_change_is_followed_at_once_and_the_next_ones_together() {
        let (mut throttle, start) = (Throttle::new(), Instant::now());
        assert!(throttle.note_change());
        assert!(!throttle.note_change() && !throttle.note_change());
        assert!(!throttle.look(start) && !throttle.look(start + FIRST / 2));
        assert_eq!(throttle.deadline(), Some(Deadline::At(start + FIRST)));
        assert!(throttle.look(start + FIRST) && !throttle.is_pending());
        assert!(
            !throttle.look(start + 2 * FIRST),
            "the next pause is longer"
        );
    }

    #[test]
    fn a_network_without_rest_costs_little_and_one_at_rest_is_quick_again() {
        let (mut throttle, start) = (Throttle::new(), Instant::now());
        let mut now = start;
        let computed = (0..100_000).filter(|_| {
            now += Duration::from_millis(1);
            throttle.note_change() | throttle.look(now)
        });
        // 100 s with a change each millisecond.
        let most = 100_000 / LONGEST.as_millis() + 7;
        assert!((computed.count() as u128) < most);
        while let Some(deadline) = throttle.deadline() {
            if let Deadline::At(at) = deadline {
                now = at;
            }
            throttle.look(now);
        }
        assert!(throttle.note_change(), "it has come to rest");
        assert!(now - start < Duration::from_secs(104));
    }
}
