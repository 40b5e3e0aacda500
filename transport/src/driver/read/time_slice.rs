// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time slices of a reading task whose socket always has bytes: the task yields to other tasks
//! after a while. A runtime may count reads for the same end, but the time of one read depends on
//! what a peer sends.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    time::{Duration, Instant},
};

/// Time for which a reading task continues without a wait.
const TURN_MAX: Duration = Duration::from_millis(2);

/// Time slice of a reading task.
#[derive(Debug, Default)]
pub(super) struct TimeSlice {
    /// End of the first read of this turn; `None` after a wait.
    since: Option<Instant>,
    over: bool,
}

impl TimeSlice {
    /// Notes that the task has waited for its socket, so that other tasks had their turn.
    pub(super) fn waited(&mut self) {
        *self = TimeSlice::default();
    }

    /// Reads, and notes if the read had to wait.
    pub(super) async fn watch<F: Future>(&mut self, read: F) -> F::Output {
        let mut read = pin!(read);
        poll_fn(|context| {
            let done = read.as_mut().poll(context);
            if done.is_pending() {
                self.waited();
            }
            done
        })
        .await
    }

    /// Notes the end of a read.
    pub(super) fn note_read(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        self.over = now.saturating_duration_since(since) >= TURN_MAX;
    }

    /// Returns true if the task has to yield now. If so, the next turn begins.
    pub(super) fn is_over(&mut self) -> bool {
        let over = self.over;
        if over {
            self.waited();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_lasts_until_a_wait_or_its_time_is_over() {
        let begin = Instant::now();
        let mut turn = TimeSlice::default();
        turn.note_read(begin);
        turn.note_read(begin + TURN_MAX / 2);
        assert!(!turn.is_over());
        turn.waited();
        turn.note_read(begin + TURN_MAX * 2);
        assert!(!turn.is_over());
        turn.note_read(begin + TURN_MAX * 3);
        assert!(turn.is_over() && !turn.is_over());
        turn.note_read(begin + TURN_MAX * 9);
        assert!(!turn.is_over());
    }
}
