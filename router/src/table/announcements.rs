// SPDX-License-Identifier: MIT OR Apache-2.0

//! The changes that are being announced, and whose turn it is.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::table::{kind::EntityRef, search::Search};

/// Changes that are being announced, by the place of the face that made them: one waits for its own, not for those of others.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    /// Those that faces with few interests are to hear of.
    to_few: BTreeMap<u32, VecDeque<EntityRef>>,
    by_face: BTreeMap<u32, VecDeque<Announcement>>,
    /// The entities that they are about.
    waiting: HashMap<EntityRef, Waiting>,
    /// The face whose turn it was, and whether faces with few interests heard of its change.
    turn: u32,
    was_for_few: bool,
}

/// The face that made the changes which a slice announces, and which faces hear of them.
pub(super) struct Turn {
    pub(super) slot: u32,
    pub(super) is_for_few: bool,
}

/// What is known of an entity whose changes are being announced.
#[derive(Debug)]
struct Waiting {
    came: Came,
    /// There was a change since the round began.
    again: bool,
    key: Arc<str>,
    /// The face that made the change.
    slot: u32,
    /// The place of the next face that is looked at as one of few interests; `None` after the last of them.
    few_at: Option<u32>,
}

/// Changes that are still being announced to faces with many interests when the face that made them goes on.
const OWN_MAX: usize = 16;

/// The faces for which an entity is new, among those that asked for changes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// For everybody.
    All,
    /// For everybody but those who wait for the answer that a gateway tells of it in: it was there when they asked.
    Answer,
    /// For one face, if at all.
    Only(Option<u32>),
}

impl Came {
    /// Whether it is new for the face at `slot`.
    pub(super) fn is_for(self, slot: u32) -> bool {
        match self {
            Came::All | Came::Answer => true,
            Came::Only(only) => only == Some(slot),
        }
    }
}

/// A change that is being announced.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) entity: EntityRef,
    pub(super) key: Arc<str>,
    pub(super) search: Search,
}

impl Announcements {
    pub(super) fn is_empty(&self) -> bool {
        self.by_face.is_empty() && self.to_few.is_empty()
    }

    /// The face whose turn it is, and whether faces with few interests are to hear of its change. They have every second
    /// turn, or the others would hear of nothing beside a face that changes something without end.
    pub(super) fn next_turn(&mut self) -> Option<Turn> {
        let may_be = !self.was_for_few || self.by_face.is_empty();
        let is_for_few = may_be && !self.to_few.is_empty();
        let next = match is_for_few {
            true => next_in(&self.to_few, self.turn),
            false => next_in(&self.by_face, self.turn),
        };
        let slot = next?;
        (self.turn, self.was_for_few) = (slot, is_for_few);
        Some(Turn { slot, is_for_few })
    }

    /// The turn of one face.
    pub(super) fn turn_of(&self, slot: u32) -> Turn {
        let is_for_few = self.to_few.contains_key(&slot);
        Turn { slot, is_for_few }
    }

    /// Whether what a face changed keeps it from going on.
    pub(super) fn holds(&self, slot: u32) -> bool {
        let rest = self.by_face.get(&slot).map_or(0, VecDeque::len);
        self.to_few.contains_key(&slot) || rest > OWN_MAX
    }

    /// Has the faces with few interests hear of an entity's change, from the first one on.
    pub(super) fn begin_few(&mut self, entity: EntityRef) {
        if let Some(waiting) = self.waiting.get_mut(&entity)
            && waiting.few_at.replace(0).is_none()
        {
            let queue = self.to_few.entry(waiting.slot).or_default();
            queue.push_back(entity);
        }
    }

    /// The entity of a face whose turn it is.
    pub(super) fn first_for_few(&self, slot: u32) -> Option<EntityRef> {
        self.to_few.get(&slot)?.front().copied()
    }

    /// The faces with few interests have heard of it.
    pub(super) fn end_few(&mut self, slot: u32) {
        let queue = self.to_few.get_mut(&slot);
        let first = queue.and_then(VecDeque::pop_front);
        if let Some(waiting) = first.and_then(|entity| self.waiting.get_mut(&entity)) {
            waiting.few_at = None;
        }
        if self.to_few.get(&slot).is_some_and(VecDeque::is_empty) {
            self.to_few.remove(&slot);
        }
    }

    pub(super) fn take(&mut self, slot: u32) -> Option<Announcement> {
        let queue = self.by_face.get_mut(&slot)?;
        let one = queue.pop_front();
        if queue.is_empty() {
            self.by_face.remove(&slot);
        }
        one
    }

    /// Goes on with it at the next turn of its face.
    pub(super) fn put_back(&mut self, slot: u32, one: Announcement) {
        self.by_face.entry(slot).or_default().push_front(one);
    }

    /// Whether a change of an entity is being announced.
    pub(super) fn has(&self, entity: EntityRef) -> bool {
        self.waiting.contains_key(&entity)
    }

    /// The same; if so there will be another round, after this further change.
    pub(super) fn again(&mut self, entity: EntityRef, came: Came) -> bool {
        let Some(waiting) = self.waiting.get_mut(&entity) else {
            return false;
        };
        waiting.again = true;
        if waiting.came != came {
            waiting.came = Came::All;
        }
        self.begin_few(entity);
        true
    }

    /// Begins to announce a change that the face at `slot` made.
    pub(super) fn begin(&mut self, slot: u32, one: Announcement, came: Came) {
        let entity = one.entity;
        let waiting = Waiting {
            came,
            again: false,
            key: Arc::clone(&one.key),
            slot,
            few_at: None,
        };
        self.waiting.insert(entity, waiting);
        self.begin_few(entity);
        self.by_face.entry(slot).or_default().push_back(one);
    }

    /// A round is over: whether there is another one. If not, nothing is announced of the entity any more.
    pub(super) fn end_round(&mut self, entity: EntityRef) -> bool {
        let waiting = self.waiting.get_mut(&entity);
        let again = waiting.is_some_and(|waiting| std::mem::take(&mut waiting.again));
        if !again {
            self.waiting.remove(&entity);
        }
        again
    }

    /// The place of the next face that is looked at as one of few interests, and the key of the entity.
    pub(super) fn few_at(&self, entity: EntityRef) -> Option<(u32, Arc<str>)> {
        let waiting = self.waiting.get(&entity)?;
        Some((waiting.few_at?, Arc::clone(&waiting.key)))
    }

    /// Goes on with the faces of few interests at this place; false if nothing is announced of the entity.
    pub(super) fn set_few_at(&mut self, entity: EntityRef, at: u32) -> bool {
        let waiting = self.waiting.get_mut(&entity);
        waiting.is_some_and(|waiting| {
            waiting.few_at = Some(at);
            true
        })
    }

    /// The faces that an entity is new for whose changes are being announced.
    pub(super) fn came(&self, entity: EntityRef) -> Came {
        let waiting = self.waiting.get(&entity);
        waiting.map_or(Came::Only(None), |waiting| waiting.came)
    }
}

/// The face behind `turn`, or the first one.
fn next_in<T>(by_face: &BTreeMap<u32, T>, turn: u32) -> Option<u32> {
    let mut later = by_face.range(turn.saturating_add(1)..);
    let next = later.next().or_else(|| by_face.first_key_value());
    next.map(|(slot, _)| *slot)
}
