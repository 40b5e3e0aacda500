// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ends of answers to peers that ask for tokens: they wait for a moment.
//!
//! A peer of the reference adds the tokens that it knows by itself to the answer of its gateway. It
//! reads them from its table, sends the interest to the gateway, and passes them to its query only
//! then. If the end of the gateway's answer comes first, it ends the query, and the peer discards
//! its own tokens and those of the peers that it is linked to.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use zonda_codec::{Declaration, WhatAmI};

use crate::{
    deadline::Deadline,
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    message,
};

/// Limit of the ends that wait at the same time. Beyond it the oldest is sent.
const WAITING_MAX: usize = 1024;

/// End of the answer to one interest of a neighbour.
type End = (FaceId, u32);

/// Ends that wait, the oldest first.
#[derive(Debug, Default)]
pub(super) struct DelayedFinals {
    waiting: VecDeque<(End, Option<Instant>)>,
}

impl DelayedFinals {
    /// Adds an end. Its time begins with the next call of [`due`](Self::due). Returns the end that
    /// has to be sent because too many wait.
    fn add(&mut self, end: End) -> Option<End> {
        self.waiting.push_back((end, None));
        let is_over = self.waiting.len() > WAITING_MAX;
        let oldest = is_over.then(|| self.waiting.pop_front())?;
        Some(oldest?.0)
    }

    /// Removes and returns the ends whose pause is over.
    fn due(&mut self, now: Instant, pause: Duration) -> Vec<End> {
        let new = self.waiting.iter_mut().rev();
        for (_, at) in new.take_while(|(_, at)| at.is_none()) {
            *at = Some(now + pause);
        }
        let is_due = |(_, at): &(End, Option<Instant>)| at.is_some_and(|at| at <= now);
        let count = self.waiting.partition_point(is_due);
        self.waiting.drain(..count).map(|(end, _)| end).collect()
    }

    /// Removes the ends for a neighbour that is gone.
    pub(super) fn forget(&mut self, face: FaceId) {
        self.waiting.retain(|((asker, _), _)| *asker != face);
    }

    /// Returns the time at which [`due`](Self::due) has work to do.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let (_, newest) = self.waiting.back()?;
        let (_, oldest) = self.waiting.front()?;
        Some(newest.and(*oldest).map_or(Deadline::Now, Deadline::At))
    }
}

impl ForwardingTable {
    /// Ends the answer to a current interest: to a peer after a pause.
    pub(super) fn end_current_answer(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        let asker = self.face(face).map(|face| face.info.whatami);
        let end = (face, id);
        let sent = match asker {
            Some(WhatAmI::Peer) if !self.limits.answer_pause.is_zero() => {
                self.delayed_finals.add(end)
            }
            _ => Some(end),
        };
        Self::send_ends(sent, actions);
    }

    /// Ends the answers whose pause is over.
    pub(super) fn end_due(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let due = self.delayed_finals.due(now, self.limits.answer_pause);
        Self::send_ends(due, actions);
    }

    fn send_ends(ends: impl IntoIterator<Item = End>, actions: &mut Vec<Action>) {
        for (face, interest) in ends {
            message::declare(face, Some(interest), Declaration::Final, actions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(30);
    const FACE: FaceId = FaceId {
        index: 1,
        generation: 0,
    };

    #[test]
    fn an_end_is_due_after_a_pause_that_begins_with_the_next_look() {
        let (mut ends, start) = (DelayedFinals::default(), Instant::now());
        assert_eq!(ends.deadline(), None);
        assert_eq!(ends.add((FACE, 1)), None);
        assert_eq!(ends.deadline(), Some(Deadline::Now));
        assert_eq!(ends.due(start, PAUSE), []);
        assert_eq!(ends.deadline(), Some(Deadline::At(start + PAUSE)));
        // A second one begins its own pause, and does not prolong the first.
        assert_eq!(ends.add((FACE, 2)), None);
        assert_eq!(ends.deadline(), Some(Deadline::Now));
        assert_eq!(ends.due(start + PAUSE / 2, PAUSE), []);
        assert_eq!(ends.deadline(), Some(Deadline::At(start + PAUSE)));
        assert_eq!(ends.due(start + PAUSE, PAUSE), [(FACE, 1)]);
        assert_eq!(ends.due(start + PAUSE * 2, PAUSE), [(FACE, 2)]);
        assert_eq!(ends.deadline(), None);
    }

    #[test]
    fn the_oldest_end_is_sent_at_once_if_too_many_wait() {
        let mut ends = DelayedFinals::default();
        let sent = (0..=WAITING_MAX as u32).filter_map(|id| ends.add((FACE, id)));
        assert_eq!(sent.collect::<Vec<_>>(), [(FACE, 0)]);
    }
}
