// SPDX-License-Identifier: MIT OR Apache-2.0

//! Telling served nodes of changes that their interests cover.
//!
//! Changes that concern so many interests that announcing them at once would keep everybody else waiting are announced
//! in slices. Each slice brings those up to date whose interests it comes to, by what is true then, so further changes in
//! between cost nothing but one more round. An entity without sources is forgotten when its last change has been announced.
//!
//! A round begins with the faces that have few interests, and each change begins there anew: what a face is interested in
//! delays itself, not the others. The face that made the changes waits until those have heard of them; for the rest only if
//! many of its changes are still being announced.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::table::{
    announce::Hears,
    announcements::{Announcement, Came, Turn},
    entity::{Change, Source},
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

/// An interest that covers the key of an entity that changed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Concerned {
    /// Its face.
    slot: u32,
    /// The key of its group.
    group: Option<Arc<str>>,
    /// It is about changes only.
    is_late: bool,
    /// The interest, if it waits for what gateways answer; that one comes first.
    awaits: Reverse<Option<u32>>,
}

impl Concerned {
    fn new(interest: InterestRef, kept: &Kept, kind: Kind) -> Self {
        let awaits = kind == Kind::Token && kept.unanswered;
        Concerned {
            slot: interest.slot,
            group: kept.group_key(kind).cloned(),
            is_late: kept.future_only,
            awaits: Reverse(awaits.then_some(interest.id)),
        }
    }
}

/// An entity whose sources changed.
struct Changed<'k> {
    entity: EntityRef,
    key: &'k str,
    /// The place of the face that made the change.
    by: u32,
    came: Came,
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
    /// Tells the served nodes whose interests cover an entity how its sources changed, now or in slices.
    pub(super) fn announce_to_interested(
        &mut self,
        entity: EntityRef,
        change: Change,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        // With two or more sources before and after, everybody sees the entity as before; with one before or left,
        // only that one's view can differ, or nobody's if it sees its own. What queryables promise can change with
        // any source. What is not seen by all does not count: what comes from a peer that is kept apart, and tokens that
        // another gateway of a peer tells it of.
        let is_seen = |source: &&Source| {
            source.slot != change.slot && self.topology.is_seen_by_all(kind, source)
        };
        let fewest = match self.topology.may_be_unseen(kind) {
            true => (self.entities(kind).sources(index).iter())
                .filter(is_seen)
                .count(),
            false => change.before.min(change.after),
        };
        let is_queryable = kind == Kind::Queryable;
        if (fewest > 1 && !is_queryable) || (fewest > 0 && kind == Kind::Token) {
            return;
        }
        let mut others = self.entities(kind).sources(index).iter();
        let only = others.find(|source| fewest == 1 && is_seen(source));
        let only = only.map(|source| source.slot);
        let came = match fewest {
            0 if change.is_answer => Came::Answer,
            0 => Came::All,
            _ => Came::Only(only),
        };
        if self.announcing.again(entity, came) {
            return;
        }
        // Without anybody to tell, the key need not be put together.
        if !self.interests.is_empty()
            && let Some(key) = self.entities(kind).key(index)
        {
            let steps = Steps::new(self.limits.announce_steps_max);
            let mut search = self.search_in_interests();
            let (mut concerned, done) = self.next_concerned(kind, &key, &mut search, &steps);
            if !done {
                return self.announce_later(change.slot, entity, key.into(), came);
            }
            concerned.retain(|concerned| {
                let is_own = concerned.group.is_some() && concerned.slot == change.slot;
                (is_queryable || came.is_for(concerned.slot)) && !is_own
            });
            concerned.sort_unstable();
            concerned.dedup();
            let changed = Changed {
                entity,
                key: &key,
                by: change.slot,
                came,
            };
            for concerned in concerned {
                self.announce_to(concerned, &changed, &steps, actions);
            }
        }
        if let Some(slot) = only {
            self.refresh(entity, slot, Hears::Nothing, actions);
        }
    }

    /// Announces the end of a token to faces that never heard of it, as a gateway does; it says the key.
    pub(super) fn end_unannounced_key(&mut self, key: &str, actions: &mut Vec<Action>) {
        let (mut search, steps) = (self.search_in_interests(), Steps::unlimited());
        let (concerned, _) = self.next_concerned(Kind::Token, key, &mut search, &steps);
        let late = concerned.iter().filter(|concerned| concerned.is_late);
        let slots: BTreeSet<u32> = late.map(|concerned| concerned.slot).collect();
        for slot in slots {
            self.end_unannounced(slot, key, actions);
        }
    }

    /// Announces a change that the face at `slot` made bit by bit.
    fn announce_later(&mut self, slot: u32, entity: EntityRef, key: Arc<str>, came: Came) {
        let search = self.search_in_interests();
        let one = Announcement {
            entity,
            key,
            search,
        };
        self.announcing.begin(slot, one, came);
    }

    fn search_in_interests(&self) -> Search {
        match self.interests.in_all() > IN_ALL_MAX {
            true => Search::by_number(),
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
        let (entity, key) = (one.entity, &one.key);
        let (concerned, done) = self.next_concerned(entity.kind, key, &mut one.search, &steps);
        let came = self.announcing.came(entity);
        let changed = Changed {
            entity,
            key,
            by: slot,
            came,
        };
        for concerned in concerned {
            self.announce_to(concerned, &changed, &steps, actions);
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
                for (interest, kept) in self.interests.of(at) {
                    if is_concerned(kept, entity.kind, &pattern, &steps) {
                        concerned.push(Concerned::new(interest, kept, entity.kind));
                    }
                }
            }
            at += 1;
            steps.spend(1 + pattern.take_work());
        }
        let (key, came) = (&key, self.announcing.came(entity));
        let changed = Changed {
            entity,
            key,
            by: slot,
            came,
        };
        for concerned in concerned {
            self.announce_to(concerned, &changed, &steps, actions);
        }
        if at >= end || !self.announcing.set_few_at(entity, at) {
            self.announcing.end_few(slot);
        }
    }

    /// Brings one face up to date because of one of its interests.
    fn announce_to(
        &mut self,
        Concerned {
            slot,
            group,
            is_late,
            awaits,
        }: Concerned,
        &Changed {
            entity,
            key,
            by,
            came,
        }: &Changed<'_>,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        let is_gone = self.entities(kind).sources(index).is_empty();
        if kind == Kind::Token && is_gone && is_late && !self.is_announced(slot, entity) {
            let face = self.topology.at(slot);
            if face.is_some_and(|face| !self.topology.leaves(kind, by, face)) {
                self.end_unannounced(slot, key, actions);
            }
            return;
        }
        let hears = match awaits.0.filter(|_| came == Came::Answer) {
            _ if group.is_some() || is_late && !came.is_for(slot) => Hears::Known,
            Some(interest) => Hears::Answer(interest),
            None => Hears::All,
        };
        self.refresh(entity, slot, hears, actions);
        if let Some(key) = group {
            self.refresh_group(slot, GroupKey { kind, key }, index, steps, actions);
        }
    }

    /// Some more interests in a kind that cover a key, and whether they are the last.
    fn next_concerned(
        &self,
        kind: Kind,
        key: &str,
        search: &mut Search,
        steps: &Steps,
    ) -> (Vec<Concerned>, bool) {
        let pattern = Pattern::new(key);
        let mut all = Vec::new();
        let mut note = |interest: InterestRef, meets: Option<&Pattern<'_>>| {
            let kept = self.interests.get(interest);
            let Some(kept) = kept.filter(|kept| kept.options.contains(kind.option())) else {
                return;
            };
            let covers = |pattern| is_concerned(kept, kind, pattern, steps);
            if meets.is_none_or(covers) {
                steps.spend(FOUND_STEPS);
                all.push(Concerned::new(interest, kept, kind));
            }
        };
        if let Search::Tree(walk) = search {
            let found = &mut |interest| note(interest, None);
            match self.interests.search(&pattern, walk, steps, found) {
                Reached::Pause => return (all, false),
                Reached::Nowhere => *search = Search::by_number(),
                Reached::End => {
                    let rest = self.interests.each_in_all();
                    rest.for_each(|interest| note(interest, None));
                    return (all, true);
                }
            }
        }
        let end = self.interests.numbers();
        if let Search::From { place, .. } = search {
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
