// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes that concern so many interests that announcing them at once would keep everybody else waiting: they are announced
//! in slices. Each slice brings those up to date whose interests it comes to, by what is true then, so further changes in
//! between cost nothing but one more round. An entity without sources is forgotten when its last change has been announced.
//!
//! A round begins with the faces that have few interests, and each change begins there anew: what a face is interested in
//! delays itself, not the others. The face that made the changes waits until those have heard of them; for the rest only if
//! many of its changes are still being announced.

use std::sync::Arc;

use crate::table::{
    announce::Hears,
    announcements::{Announcement, Came, Turn},
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    interests::FOUND_STEPS,
    kept::{GroupKey, InterestRef, Kept},
    key_tree::{pattern::Pattern, steps::Steps, walk::Reached},
    kind::{EntityRef, Kind},
    search::Search,
};

/// A face with more interests than this does not hear of changes among the first.
const FEW: usize = 32;

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
    /// Announces a change that the face at `slot` made bit by bit.
    pub(super) fn announce_later(&mut self, slot: u32, entity: EntityRef, key: String, came: Came) {
        let one = Announcement {
            entity,
            key: key.into(),
            search: self.search_in_interests(),
        };
        self.announcing.begin(slot, one, came);
    }

    fn search_in_interests(&self) -> Search {
        match self.interests.in_all() > IN_ALL_MAX {
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
        if !done {
            self.announcing.put_back(slot, one);
        } else if self.announcing.end_round(entity) {
            one.search = self.search_in_interests();
            self.announcing.put_back(slot, one);
        } else {
            self.end_announcement(entity, actions);
        }
        !self.announcing.is_empty()
    }

    /// A slice of the faces that have few interests; the change was made by the face at `slot`.
    fn announce_to_few(&mut self, slot: u32, entity: EntityRef, actions: &mut Vec<Action>) {
        let Some((mut at, key)) = self.announcing.few_at(entity) else {
            return self.announcing.end_few(slot);
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (pattern, mut concerned) = (Pattern::new(&key), Vec::new());
        let end = self.topology.places();
        while at < end && !steps.are_over() {
            if self.interests.count(at) <= FEW {
                for kept in self.interests.of(at) {
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
        if at >= end || !self.announcing.set_few_at(entity, at) {
            self.announcing.end_few(slot);
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
            if let Some(key) = self.announcing.key(entity) {
                self.end_unannounced(slot, &key, actions);
            }
            return;
        }
        let is_new = self.announcing.is_new_for(entity, slot);
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
        let mut note = |interest: InterestRef, meets: Option<&Pattern<'_>>| {
            let kept = self.interests.get(interest);
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
            let found = &mut |interest| note(interest, None);
            match self.interests.search(&pattern, walk, steps, found) {
                Reached::Pause => return (all, false),
                Reached::Nowhere => one.search = Search::From(0),
                Reached::End => {
                    let rest = self.interests.each_in_all();
                    rest.for_each(|interest| note(interest, None));
                    return (all, true);
                }
            }
        }
        let end = self.interests.numbers();
        if let Search::From(place) = &mut one.search {
            while *place < end && !steps.are_over() {
                if let Some(interest) = self.interests.numbered(*place) {
                    note(interest, Some(&pattern));
                }
                *place += 1;
                steps.spend(1 + pattern.take_work());
            }
            return (all, *place >= end);
        }
        (all, true)
    }

    /// All interests that cover the entity were looked at. Faces that heard of it under another one hear of its end here.
    fn end_announcement(&mut self, entity: EntityRef, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        for slot in self.entities(kind).announced(index).to_vec() {
            self.refresh(entity, slot, Hears::Nothing, actions);
        }
        if self.entities(kind).sources(index).is_empty() {
            self.forget_entity(entity, actions);
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
