// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries to the admin space that wait, and the pace of the answers: one answer at a time for each
//! asker, and of all together a part of one processor.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    time::{Duration, Instant},
};

use zonda_transport::sync::Mutex;

use crate::{admin::question::AdminQuestion, table::FaceId};

/// Pause after work on an answer, as a multiple of the time that it took.
const PAUSE: u32 = 3;

/// Pauses that are shorter are added up first.
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// Most queries of an asker that wait.
const QUERIES_MAX: usize = 64;

/// Most bytes of an asker's queries that wait.
const BYTES_MAX: usize = 64 << 10;

/// The queries, and the time of the next work.
#[derive(Debug, Default)]
pub(crate) struct WaitingQuestions(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Queries by the asker. There is an entry while a task answers for it.
    by_asker: HashMap<FaceId, OfAsker>,
    /// Time at which the next work may begin.
    free_at: Option<Instant>,
}

/// Queries of one asker that wait.
#[derive(Debug, Default)]
struct OfAsker {
    queries: VecDeque<AdminQuestion>,
    bytes: usize,
}

impl OfAsker {
    /// Adds a query; returns it if the asker has too much that waits.
    fn push(&mut self, asked: AdminQuestion) -> Option<AdminQuestion> {
        let bytes = self.bytes + asked.bytes();
        let is_full = self.queries.len() >= QUERIES_MAX || bytes > BYTES_MAX;
        // One query waits whatever its length.
        if is_full && !self.queries.is_empty() {
            return Some(asked);
        }
        self.bytes = bytes;
        self.queries.push_back(asked);
        None
    }

    fn pop(&mut self) -> Option<AdminQuestion> {
        let asked = self.queries.pop_front()?;
        self.bytes -= asked.bytes();
        Some(asked)
    }
}

/// Outcome of [`WaitingQuestions::push`].
#[derive(Debug)]
pub(crate) enum Pushed {
    /// The query waits, and the caller starts the task that answers those of its asker.
    First,
    /// The query waits behind others of its asker.
    Next,
    /// The asker has too many queries that wait; this one is not among them.
    Refused(AdminQuestion),
}

impl WaitingQuestions {
    /// Adds a query.
    pub(crate) fn push(&self, asker: FaceId, asked: AdminQuestion) -> Pushed {
        let mut waiting = self.0.lock();
        match waiting.by_asker.entry(asker) {
            Entry::Vacant(entry) => {
                // The first query always finds room.
                entry.insert(OfAsker::default()).push(asked);
                Pushed::First
            }
            Entry::Occupied(mut entry) => match entry.get_mut().push(asked) {
                None => Pushed::Next,
                Some(asked) => Pushed::Refused(asked),
            },
        }
    }

    /// Removes the oldest query of an asker; `None` ends the task that answers them.
    pub(crate) fn pop(&self, asker: FaceId) -> Option<AdminQuestion> {
        let mut waiting = self.0.lock();
        let next = waiting.by_asker.get_mut(&asker)?.pop();
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
    use zonda_codec::{KeyExpr, WhatAmI};

    use crate::table::{FaceInfo, FaceKind, ForwardingTable, LocalBranch};

    use super::*;

    #[test]
    fn the_queries_of_an_asker_that_wait_are_bounded() {
        let zid = "a1".parse().expect("an id");
        let mut table = ForwardingTable::new(zid, WhatAmI::Router);
        let faces = ["b2", "c3"].map(|zid| {
            let info = FaceInfo {
                zid: zid.parse().expect("an id"),
                whatami: WhatAmI::Client,
                kind: FaceKind::Remote,
            };
            table.add_face(info, &mut Vec::new())
        });
        let [one, two] = faces;
        let query = |key: &str| AdminQuestion {
            branch: LocalBranch {
                face: one,
                rid: 1,
                queryables: Vec::new(),
            },
            key: KeyExpr::try_from(key.to_owned()).expect("a key"),
            omits_descriptors: false,
            omits_neighbours: false,
            wants_stats: false,
            written: None,
            about: None,
        };
        for (key, most) in [
            ("@/**".to_owned(), 64),
            (format!("@/{}", "x".repeat(40_000)), 1),
        ] {
            let waiting = WaitingQuestions::default();
            let push = |asker, key: &str| waiting.push(asker, query(key));
            assert!(matches!(push(one, &key), Pushed::First));
            for _ in 1..most {
                assert!(matches!(push(one, &key), Pushed::Next));
            }
            assert!(matches!(push(one, &key), Pushed::Refused(_)));
            assert!(matches!(push(two, &key), Pushed::First), "another asker's");
            // Room for one is there again.
            assert!(waiting.pop(one).is_some());
            assert!(matches!(push(one, &key), Pushed::Next));
            assert!(matches!(push(one, &key), Pushed::Refused(_)));
            let left = std::iter::from_fn(|| waiting.pop(one));
            assert_eq!(left.count(), most);
            assert!(
                matches!(push(one, &key), Pushed::First),
                "its task has ended"
            );
        }
    }

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
