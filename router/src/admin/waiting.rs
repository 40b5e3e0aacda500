// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries to the admin space that wait, and the pace of the answers: one answer at a time for each
//! asker, and of all together a part of one processor.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use zonda_transport::sync::Mutex;

use crate::{admin::question::AdminQuestion, table::FaceId};

/// Pause after work on an answer, as a multiple of the time that it took.
const PAUSE: u32 = 3;

/// Pauses that are shorter are added up first.
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// The queries, and the time of the next work.
#[derive(Debug, Default)]
pub(crate) struct WaitingQuestions(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Queries by the asker. There is an entry while a task answers for it.
    by_asker: HashMap<FaceId, VecDeque<AdminQuestion>>,
    /// Time at which the next work may begin.
    free_at: Option<Instant>,
}

impl WaitingQuestions {
    /// Adds a query. True if the caller starts the task that answers those of this asker.
    pub(crate) fn push(&self, asker: FaceId, asked: AdminQuestion) -> bool {
        let mut waiting = self.0.lock();
        let is_new = !waiting.by_asker.contains_key(&asker);
        waiting.by_asker.entry(asker).or_default().push_back(asked);
        is_new
    }

    /// Removes the oldest query of an asker; `None` ends the task that answers them.
    pub(crate) fn pop(&self, asker: FaceId) -> Option<AdminQuestion> {
        let mut waiting = self.0.lock();
        let next = waiting.by_asker.get_mut(&asker)?.pop_front();
        if next.is_none() {
            waiting.by_asker.remove(&asker);
        }
        next
    }

    /// Records work that began at `begin` and ends now.
    pub(crate) fn note_work(&self, begin: Instant, now: Instant) {
        let worked = now.saturating_duration_since(begin);
        let mut waiting = self.0.lock();
        // Work within a pause that was too short to wait for does not count as a part of it.
        let from = waiting.free_at.map_or(begin, |at| at.max(begin));
        waiting.free_at = Some(from + worked.saturating_mul(PAUSE + 1));
    }

    /// Returns the end of the pause before the next work, if it is worth a wait.
    pub(crate) fn pause(&self, now: Instant) -> Option<Instant> {
        let free_at = self.0.lock().free_at?;
        (free_at.saturating_duration_since(now) >= PAUSE_MIN).then_some(free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_answers_together_take_a_part_of_a_processor() {
        let waiting = WaitingQuestions::default();
        let (begin, mut now) = (Instant::now(), Instant::now());
        let work = Duration::from_micros(500);
        for _ in 0..1000 {
            now = waiting.pause(now).unwrap_or(now);
            waiting.note_work(now, now + work);
            now += work;
        }
        let (worked, took) = (work * 1000, now - begin);
        assert!(took >= worked * 7 / 2 && took <= worked * 9 / 2, "{took:?}");
    }
}
