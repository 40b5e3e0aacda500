// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes that are being announced in slices, and the order in which the faces that made them have
//! their turns.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::{kind::EntityRef, search::Search};

/// Changes that are being announced, by the slot of the face that made them: a face waits for its
/// own changes only.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    /// Changes that faces with few interests have not received yet.
    to_few: BTreeMap<u32, VecDeque<EntityRef>>,
    by_face: BTreeMap<u32, VecDeque<Announcement>>,
    /// The entities that changed.
    waiting: HashMap<EntityRef, Waiting>,
    /// Number of announcements that were cancelled since the queues were rid of them.
    cancelled: usize,
    /// The face that had the last turn, and whether that turn was for faces with few interests.
    turn: u32,
    was_for_few: bool,
}

/// The face that made the changes which a slice announces, and the faces that receive them.
pub(super) struct AnnouncementTurn {
    pub(super) slot: u32,
    pub(super) is_for_few: bool,
}

/// State of an entity whose changes are being announced.
#[derive(Debug)]
struct Waiting {
    came: NewFor,
    /// True if the entity changed again since the round began.
    again: bool,
    /// True if the entity was new and no face knows it by this announcement or as a member of a
    /// group.
    is_unheard: bool,
    key: Arc<str>,
    /// The face that made the change.
    slot: u32,
    /// Slot of the next face to be checked for few interests; `None` after the last one.
    few_at: Option<u32>,
}

/// Number of a face's own changes that may still be on their way to faces with many interests when
/// its next message is handled.
const OWN_MAX: usize = 16;

/// Number of changes that may be announced in slices while links to other routers are read.
const WAITING_MAX: usize = 4096;

/// Number of cancelled announcements that may stay in the queues, beside one for each that stands.
const CANCELLED_MAX: usize = 64;

/// Faces for which an entity is new, among those with interests in changes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewFor {
    /// All faces.
    All,
    /// All faces; those whose interest waits for the gateways get the entity as an answer, as it
    /// existed before.
    Answer,
    /// One face, if any.
    Only(Option<u32>),
}

impl NewFor {
    /// Returns true if the entity is new for the face at `slot`.
    pub(super) fn is_for(self, slot: u32) -> bool {
        match self {
            NewFor::All | NewFor::Answer => true,
            NewFor::Only(only) => only == Some(slot),
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

    /// Returns the face that has the next turn, and whether the turn is for faces with few
    /// interests. At most every second turn is while faces with many interests wait: otherwise a face
    /// that makes changes without end would starve them.
    pub(super) fn next_turn(&mut self) -> Option<AnnouncementTurn> {
        let may_be = !self.was_for_few || self.by_face.is_empty();
        let is_for_few = may_be && !self.to_few.is_empty();
        let next = match is_for_few {
            true => next_in(&self.to_few, self.turn),
            false => next_in(&self.by_face, self.turn),
        };
        let slot = next?;
        (self.turn, self.was_for_few) = (slot, is_for_few);
        Some(AnnouncementTurn { slot, is_for_few })
    }

    /// Returns the turn of one face.
    pub(super) fn turn_of(&self, slot: u32) -> AnnouncementTurn {
        let is_for_few = self.to_few.contains_key(&slot);
        AnnouncementTurn { slot, is_for_few }
    }

    /// Returns true if no other message of a face may be handled because of changes that it made.
    pub(super) fn holds(&self, slot: u32) -> bool {
        let rest = self.by_face.get(&slot).map_or(0, VecDeque::len);
        self.to_few.contains_key(&slot) || rest > OWN_MAX
    }

    /// Queues a change of an entity for the faces with few interests, from the first face on.
    pub(super) fn begin_few(&mut self, entity: EntityRef) {
        if let Some(waiting) = self.waiting.get_mut(&entity)
            && waiting.few_at.replace(0).is_none()
        {
            let queue = self.to_few.entry(waiting.slot).or_default();
            queue.push_back(entity);
        }
    }

    /// Returns the first entity that a face changed and faces with few interests have not received.
    pub(super) fn first_for_few(&mut self, slot: u32) -> Option<EntityRef> {
        let queue = self.to_few.get_mut(&slot)?;
        while queue.len() > 1 && !self.waiting.contains_key(queue.front()?) {
            queue.pop_front();
        }
        let first = queue.front().copied()?;
        self.note_heard(first);
        Some(first)
    }

    /// Ends the announcement of the first queued change of a face to the faces with few interests.
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

    /// Takes the first announcement of a face that has not been cancelled.
    pub(super) fn take(&mut self, slot: u32) -> Option<Announcement> {
        let queue = self.by_face.get_mut(&slot)?;
        while queue.front().is_some_and(|one| !stands(&self.waiting, one)) {
            queue.pop_front();
        }
        let one = queue.pop_front();
        if queue.is_empty() {
            self.by_face.remove(&slot);
        }
        self.note_heard(one.as_ref()?.entity);
        one
    }

    /// Queues the announcement for the next turn of its face.
    pub(super) fn put_back(&mut self, slot: u32, one: Announcement) {
        self.by_face.entry(slot).or_default().push_front(one);
    }

    /// Returns true if a change of an entity is being announced.
    pub(super) fn has(&self, entity: EntityRef) -> bool {
        self.waiting.contains_key(&entity)
    }

    /// Notes that a face may know an entity from now on, so that its end has to be announced.
    pub(super) fn note_heard(&mut self, entity: EntityRef) {
        if let Some(waiting) = self.waiting.get_mut(&entity) {
            waiting.is_unheard = false;
        }
    }

    /// Cancels the announcement of an entity that is gone before any face received it; false if a
    /// face may know the entity.
    pub(super) fn cancel(&mut self, entity: EntityRef) -> bool {
        let is_unheard = |waiting: &Waiting| waiting.is_unheard;
        if !self.waiting.get(&entity).is_some_and(is_unheard) {
            return false;
        }
        // The queues are rid of many cancelled announcements at once.
        self.waiting.remove(&entity);
        self.cancelled += 1;
        if self.cancelled > self.waiting.len() + CANCELLED_MAX {
            self.cancelled = 0;
            let waiting = &self.waiting;
            self.by_face.retain(|_, queue| {
                queue.retain(|one| stands(waiting, one));
                !queue.is_empty()
            });
            self.to_few.retain(|_, queue| {
                queue.retain(|entity| waiting.contains_key(entity));
                !queue.is_empty()
            });
        }
        true
    }

    /// Returns true if so many changes are being announced that links to other routers, whose
    /// changes are not bounded by a wait of their source, are not read.
    pub(super) fn are_too_many(&self) -> bool {
        self.waiting.len() > WAITING_MAX
    }

    /// Returns true if a change of an entity is being announced, and then schedules another round
    /// for this further change.
    pub(super) fn again(&mut self, entity: EntityRef, came: NewFor) -> bool {
        let Some(waiting) = self.waiting.get_mut(&entity) else {
            return false;
        };
        waiting.again = true;
        if waiting.came != came {
            waiting.came = NewFor::All;
        }
        self.begin_few(entity);
        true
    }

    /// Begins to announce a change that the face at `slot` made. `is_new` is true for an entity
    /// without earlier sources.
    pub(super) fn begin(&mut self, slot: u32, one: Announcement, came: NewFor, is_new: bool) {
        let entity = one.entity;
        let waiting = Waiting {
            came,
            again: false,
            is_unheard: is_new,
            key: Arc::clone(&one.key),
            slot,
            few_at: None,
        };
        self.waiting.insert(entity, waiting);
        self.begin_few(entity);
        self.by_face.entry(slot).or_default().push_back(one);
    }

    /// Ends a round. Returns true if there is another one; otherwise the announcement of the entity
    /// has ended.
    pub(super) fn end_round(&mut self, entity: EntityRef) -> bool {
        let waiting = self.waiting.get_mut(&entity);
        let again = waiting.is_some_and(|waiting| std::mem::take(&mut waiting.again));
        if !again {
            self.waiting.remove(&entity);
        }
        again
    }

    /// Returns the slot of the next face to be checked for few interests, and the key of the entity.
    pub(super) fn few_at(&self, entity: EntityRef) -> Option<(u32, Arc<str>)> {
        let waiting = self.waiting.get(&entity)?;
        Some((waiting.few_at?, Arc::clone(&waiting.key)))
    }

    /// Stores the slot of the next face to be checked for few interests; false if no change of the
    /// entity is being announced.
    pub(super) fn set_few_at(&mut self, entity: EntityRef, at: u32) -> bool {
        let waiting = self.waiting.get_mut(&entity);
        waiting.is_some_and(|waiting| {
            waiting.few_at = Some(at);
            true
        })
    }

    /// Returns the faces for which an entity that is being announced is new.
    pub(super) fn came(&self, entity: EntityRef) -> NewFor {
        let waiting = self.waiting.get(&entity);
        waiting.map_or(NewFor::Only(None), |waiting| waiting.came)
    }
}

/// Returns true if an announcement has not been cancelled. Another entity may have got its number
/// since.
fn stands(waiting: &HashMap<EntityRef, Waiting>, one: &Announcement) -> bool {
    let known = waiting.get(&one.entity);
    known.is_some_and(|known| Arc::ptr_eq(&known.key, &one.key))
}

/// Returns the face behind `turn`, or the first one.
fn next_in<T>(by_face: &BTreeMap<u32, T>, turn: u32) -> Option<u32> {
    let mut later = by_face.range(turn.saturating_add(1)..);
    let next = later.next().or_else(|| by_face.first_key_value());
    next.map(|(slot, _)| *slot)
}
