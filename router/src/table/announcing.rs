// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes that concern so many interests that announcing them at once would keep everybody else waiting: they are announced
//! in slices. Each slice brings those up to date whose interests it comes to, by what is true then, so further changes in
//! between cost nothing but one more round. An entity without sources is forgotten when its last change has been announced.
//!
//! A round begins with the faces that have few interests, and each change begins there anew: what a face is interested in
//! delays itself, not the others. The face that made the changes waits until those have heard of them; for the rest only if
//! many of its changes are still being announced.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::table::{
    Action, FaceId,
    announce::{FOUND_STEPS, Hears},
    entity::{EntityRef, Kind},
    forwarding::ForwardingTable,
    interest::{GroupKey, InterestRef, Kept},
    key_tree::{pattern::Pattern, steps::Steps, walk::Reached},
    search::Search,
};

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
struct Turn {
    slot: u32,
    is_for_few: bool,
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

/// A face with more interests than this does not hear of changes among the first.
const FEW: usize = 32;

/// Changes that are still being announced to faces with many interests when the face that made them goes on.
const OWN_MAX: usize = 16;

/// The faces for which an entity is new, among those that asked for changes only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// For everybody.
    All,
    /// For one face, if at all.
    Only(Option<u32>),
}

impl Came {
    /// Whether it is new for the face at `slot`.
    pub(super) fn is_for(self, slot: u32) -> bool {
        match self {
            Came::All => true,
            Came::Only(only) => only == Some(slot),
        }
    }
}

/// A change that is being announced.
#[derive(Debug)]
pub(super) struct Announcement {
    entity: EntityRef,
    key: Arc<str>,
    search: Search,
}

impl Announcements {
    pub(super) fn is_empty(&self) -> bool {
        self.by_face.is_empty() && self.to_few.is_empty()
    }

    /// The face whose turn it is, and whether faces with few interests are to hear of its change. They have every second
    /// turn, or the others would hear of nothing beside a face that changes something without end.
    fn next_turn(&mut self) -> Option<Turn> {
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
    fn turn_of(&self, slot: u32) -> Turn {
        let is_for_few = self.to_few.contains_key(&slot);
        Turn { slot, is_for_few }
    }

    /// Whether what a face changed keeps it from going on.
    fn holds(&self, slot: u32) -> bool {
        let rest = self.by_face.get(&slot).map_or(0, VecDeque::len);
        self.to_few.contains_key(&slot) || rest > OWN_MAX
    }

    /// Has the faces with few interests hear of an entity's change, from the first one on.
    fn begin_few(&mut self, entity: EntityRef) {
        if let Some(waiting) = self.waiting.get_mut(&entity)
            && waiting.few_at.replace(0).is_none()
        {
            let queue = self.to_few.entry(waiting.slot).or_default();
            queue.push_back(entity);
        }
    }

    /// The entity of a face whose turn it is.
    fn first_for_few(&self, slot: u32) -> Option<EntityRef> {
        self.to_few.get(&slot)?.front().copied()
    }

    /// The faces with few interests have heard of it.
    fn end_few(&mut self, slot: u32) {
        let queue = self.to_few.get_mut(&slot);
        let first = queue.and_then(VecDeque::pop_front);
        if let Some(waiting) = first.and_then(|entity| self.waiting.get_mut(&entity)) {
            waiting.few_at = None;
        }
        if self.to_few.get(&slot).is_some_and(VecDeque::is_empty) {
            self.to_few.remove(&slot);
        }
    }

    fn take(&mut self, slot: u32) -> Option<Announcement> {
        let queue = self.by_face.get_mut(&slot)?;
        let one = queue.pop_front();
        if queue.is_empty() {
            self.by_face.remove(&slot);
        }
        one
    }

    /// Goes on with it at the next turn of its face.
    fn put_back(&mut self, slot: u32, one: Announcement) {
        self.by_face.entry(slot).or_default().push_front(one);
    }
}

/// The face behind `turn`, or the first one.
fn next_in<T>(by_face: &BTreeMap<u32, T>, turn: u32) -> Option<u32> {
    let mut later = by_face.range(turn.saturating_add(1)..);
    let next = later.next().or_else(|| by_face.first_key_value());
    next.map(|(slot, _)| *slot)
}

/// An interest that a slice came to.
struct Concerned {
    /// Its face.
    slot: u32,
    /// The key of its group.
    group: Option<Arc<str>>,
    /// It is about changes only.
    is_late: bool,
}

impl Concerned {
    fn new(slot: u32, kept: &Kept, kind: Kind) -> Self {
        Concerned {
            slot,
            group: kept.group_key(kind).cloned(),
            is_late: kept.future_only,
        }
    }
}

/// With more interests in all keys than this, all interests are looked at by their numbers.
const IN_ALL_MAX: usize = 1000;

/// Whether an interest is about entities of a kind and covers the key of a pattern.
fn is_concerned(kept: &Kept, kind: Kind, pattern: &Pattern<'_>, steps: &Steps) -> bool {
    let key = kept.key.as_deref();
    steps.spend(key.map_or(0, str::len) / 8);
    kept.options.contains(kind.option()) && key.is_none_or(|key| pattern.meets(key))
}

impl ForwardingTable {
    /// Whether a change of an entity is being announced.
    pub(super) fn is_announcing(&self, entity: EntityRef) -> bool {
        self.announcing.waiting.contains_key(&entity)
    }

    /// The same; if so there will be another round.
    pub(super) fn announces_again(&mut self, entity: EntityRef, came: Came) -> bool {
        let Some(waiting) = self.announcing.waiting.get_mut(&entity) else {
            return false;
        };
        waiting.again = true;
        if waiting.came != came {
            waiting.came = Came::All;
        }
        self.announcing.begin_few(entity);
        true
    }

    /// Tells a change that the face at `slot` made bit by bit.
    pub(super) fn announce_later(&mut self, slot: u32, entity: EntityRef, key: String, came: Came) {
        let key: Arc<str> = key.into();
        let waiting = Waiting {
            came,
            again: false,
            key: Arc::clone(&key),
            slot,
            few_at: None,
        };
        self.announcing.waiting.insert(entity, waiting);
        self.announcing.begin_few(entity);
        let one = Announcement {
            entity,
            key,
            search: self.search_in_interests(),
        };
        let queue = self.announcing.by_face.entry(slot).or_default();
        queue.push_back(one);
    }

    fn search_in_interests(&self) -> Search {
        match self.interests_in_all.len() > IN_ALL_MAX {
            true => Search::From(0),
            false => Search::default(),
        }
    }

    /// Goes on for a slice with what one face changed, or the next one; true if there is more to tell.
    pub(super) fn announce_on(&mut self, slot: Option<u32>, actions: &mut Vec<Action>) -> bool {
        let turn = match slot {
            Some(slot) => Some(self.announcing.turn_of(slot)),
            None => self.announcing.next_turn(),
        };
        let Some(Turn { slot, is_for_few }) = turn else {
            return false;
        };
        if is_for_few && let Some(entity) = self.announcing.first_for_few(slot) {
            self.announce_to_few(slot, entity, actions);
            return !self.announcing.is_empty();
        }
        let Some(mut one) = self.announcing.take(slot) else {
            return false;
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (concerned, done) = self.next_concerned(&mut one, &steps);
        let entity = one.entity;
        for concerned in concerned {
            self.announce_to(concerned, entity, &steps, actions);
        }
        let waiting = self.announcing.waiting.get_mut(&entity);
        if !done {
            self.announcing.put_back(slot, one);
        } else if waiting.is_some_and(|waiting| std::mem::take(&mut waiting.again)) {
            one.search = self.search_in_interests();
            self.announcing.put_back(slot, one);
        } else {
            self.announcing.waiting.remove(&entity);
            self.end_announcement(entity, actions);
        }
        !self.announcing.is_empty()
    }

    /// A slice of the faces that have few interests; the change was made by the face at `slot`.
    fn announce_to_few(&mut self, slot: u32, entity: EntityRef, actions: &mut Vec<Action>) {
        let waiting = self.announcing.waiting.get(&entity);
        let Some((mut at, key)) =
            waiting.and_then(|waiting| waiting.few_at.zip(Some(waiting.key.clone())))
        else {
            return self.announcing.end_few(slot);
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (pattern, mut concerned) = (Pattern::new(&key), Vec::new());
        let end = self.faces.places();
        while at < end && !steps.are_over() {
            if let Some(face) = self.faces.get(at)
                && face.interests.len() <= FEW
            {
                for kept in face.interests.values() {
                    if is_concerned(kept, entity.kind, &pattern, &steps) {
                        concerned.push(Concerned::new(at, kept, entity.kind));
                    }
                }
            }
            at += 1;
            steps.spend(1 + pattern.take_work());
        }
        for concerned in concerned {
            self.announce_to(concerned, entity, &steps, actions);
        }
        match self.announcing.waiting.get_mut(&entity) {
            Some(waiting) if at < end => waiting.few_at = Some(at),
            _ => self.announcing.end_few(slot),
        }
    }

    /// Brings one face up to date because of one of its interests.
    fn announce_to(
        &mut self,
        concerned: Concerned,
        entity: EntityRef,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) {
        let (slot, is_late) = (concerned.slot, concerned.is_late);
        let EntityRef { kind, index } = entity;
        let is_gone = self.entities(kind).sources(index).is_empty();
        let is_announced = self.is_announced(slot, entity);
        if kind == Kind::Token && is_gone && is_late && !is_announced {
            let waiting = self.announcing.waiting.get(&entity);
            let key = waiting.map(|waiting| Arc::clone(&waiting.key));
            return key
                .into_iter()
                .for_each(|key| self.end_unannounced(slot, &key, actions));
        }
        let waiting = self.announcing.waiting.get(&entity);
        let is_new = waiting.is_some_and(|waiting| waiting.came.is_for(slot));
        let hears = match concerned.group.is_some() || is_late && !is_new {
            true => Hears::Known,
            false => Hears::All,
        };
        self.refresh(entity, slot, hears, actions);
        if let Some(key) = concerned.group {
            self.refresh_group(slot, GroupKey { kind, key }, index, steps, actions);
        }
    }

    /// Some more interests that cover the entity's key, and whether they are the last.
    fn next_concerned(&self, one: &mut Announcement, steps: &Steps) -> (Vec<Concerned>, bool) {
        let (kind, pattern) = (one.entity.kind, Pattern::new(&one.key));
        let mut all = Vec::new();
        let mut note = |interest: &InterestRef, meets: Option<&Pattern<'_>>| {
            let face = self.faces.get(interest.slot);
            let kept = face.and_then(|face| face.interests.get(&interest.id));
            let Some(kept) = kept.filter(|kept| kept.options.contains(kind.option())) else {
                return;
            };
            let covers = |pattern| is_concerned(kept, kind, pattern, steps);
            if meets.is_none_or(covers) {
                steps.spend(FOUND_STEPS);
                all.push(Concerned::new(interest.slot, kept, kind));
            }
        };
        if let Search::Tree(walk) = &mut one.search {
            let found = &mut |interests: &[InterestRef]| {
                interests.iter().for_each(|interest| note(interest, None));
                ControlFlow::Continue(())
            };
            match self.interests.search(&pattern, walk, steps, found) {
                Reached::Pause => return (all, false),
                Reached::Nowhere => one.search = Search::From(0),
                Reached::End => {
                    let rest = self.interests_in_all.iter();
                    rest.for_each(|interest| note(interest, None));
                    return (all, true);
                }
            }
        }
        let end = self.kept_interests.places();
        if let Search::From(place) = &mut one.search {
            while *place < end && !steps.are_over() {
                if let Some(interest) = self.kept_interests.get(*place) {
                    note(interest, Some(&pattern));
                }
                *place += 1;
                steps.spend(1 + pattern.take_work());
            }
            return (all, *place >= end);
        }
        (all, true)
    }

    /// Everybody knows. What is not covered by an interest any more is forgotten in silence.
    fn end_announcement(&mut self, entity: EntityRef, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        for slot in self.entities(kind).announced(index).to_vec() {
            self.refresh(entity, slot, Hears::Nothing, actions);
        }
        if self.entities(kind).sources(index).is_empty() {
            self.forget_entity(entity);
        }
    }

    /// Whether nothing else of a face should be handled: an answer to it, or what it changed, is still being sent.
    pub fn is_busy(&self, face: FaceId) -> bool {
        let holds = self.announcing.holds(face.index);
        self.is_answering(face) || holds && self.face(face).is_some()
    }

    /// Goes on with that; true if there is more.
    pub fn work_on(&mut self, face: FaceId, actions: &mut Vec<Action>) -> bool {
        if !self.answer_on(face, actions) && self.face(face).is_some() {
            self.announce_on(Some(face.index), actions);
        }
        self.is_busy(face)
    }
}
