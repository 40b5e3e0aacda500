// SPDX-License-Identifier: MIT OR Apache-2.0

//! Announcements of changes to served nodes whose interests cover them.
//!
//! A change that so many interests cover that one announcement would hold the table's lock too long
//! is announced in slices. Each slice brings the faces of the interests that it reaches up to date
//! with the state at that time, so further changes cost no more than one more round. An entity
//! without sources is forgotten when its last change has been announced.
//!
//! A round begins with the faces that have few interests, and each change begins there anew: the
//! number of a face's interests delays that face, not all faces. The face that made the changes
//! waits until the faces with few interests have received them, and for the rest only if many of
//! its changes are still being announced.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{
    announce::AnnounceScope,
    announcements::{Announcement, AnnouncementTurn, NewFor},
    entity::{Change, Source},
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    interest_records::{GroupKey, InterestRecord, InterestRef},
    interests::FOUND_STEPS,
    key_tree::{pattern::Pattern, steps::Steps, walk::Reached},
    kind::{EntityRef, Kind},
    policy::Relation,
    search::Search,
};

/// Number of interests up to which a face receives changes among the first.
const FEW: usize = 32;

/// Part of the steps of a slice, as a divisor, that the announcement of a router's change may take
/// at once.
const ROUTED_SHARE: usize = 4;

/// An interest that covers the key of an entity that changed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CoveringInterest {
    /// The face that has the interest.
    slot: u32,
    /// The key of its group.
    group: Option<Arc<str>>,
    /// True if the interest is in changes only.
    is_late: bool,
    /// The interest, if gateways have not answered it yet; such an interest sorts first.
    awaits: Reverse<Option<u32>>,
}

impl CoveringInterest {
    fn new(interest: InterestRef, kept: &InterestRecord, kind: Kind) -> Self {
        let awaits = kind == Kind::Token && kept.unanswered;
        CoveringInterest {
            slot: interest.slot,
            group: kept.group_key(kind).cloned(),
            is_late: kept.future_only,
            awaits: Reverse(awaits.then_some(interest.id)),
        }
    }
}

/// An entity whose sources changed.
struct ChangedEntity<'k> {
    entity: EntityRef,
    key: &'k str,
    /// Slot of the face that made the change.
    by: u32,
    came: NewFor,
}

/// Number of interests in all keys beyond which a search goes through all interests by number.
const IN_ALL_MAX: usize = 1000;

/// Returns true if an interest covers entities of a kind on the key of a pattern.
fn is_concerned(kept: &InterestRecord, kind: Kind, pattern: &Pattern<'_>, steps: &Steps) -> bool {
    let key = kept.key.as_deref();
    steps.spend(key.map_or(0, str::len) / 8);
    kept.options.contains(kind.option()) && key.is_none_or(|key| pattern.meets(key))
}

impl ForwardingTable {
    /// Announces a change of the sources of an entity to the served nodes whose interests cover it,
    /// at once or in slices.
    pub(super) fn announce_to_interested(
        &mut self,
        entity: EntityRef,
        change: Change,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        // With two or more sources before and after, every face sees the entity as before; with one
        // before or left, only the view of that source's face can differ, or no view if it sees its
        // own. The promises of queryables can change with any source. Sources that not all faces
        // see do not count: those of peers that are kept apart, and tokens that a peer gets from
        // another gateway.
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
            0 if change.is_answer => NewFor::Answer,
            0 => NewFor::All,
            _ => NewFor::Only(only),
        };
        let is_gone = change.after == 0;
        if is_gone && self.announcing.cancel(entity) || self.announcing.again(entity, came) {
            return;
        }
        // The key is put together only if there is an interest.
        if !self.interests.is_empty()
            && let Some(key) = self.entities(kind).key(index)
        {
            let steps = Steps::new(self.steps_at_once(change.slot));
            let mut search = self.search_in_interests();
            let (mut concerned, done) = self.next_concerned(kind, &key, &mut search, &steps);
            if !done {
                return self.announce_later(&change, entity, key.into(), came);
            }
            concerned.retain(|concerned| {
                let is_own = concerned.group.is_some() && concerned.slot == change.slot;
                (is_queryable || came.is_for(concerned.slot)) && !is_own
            });
            concerned.sort_unstable();
            concerned.dedup();
            let changed = ChangedEntity {
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
            self.refresh(entity, slot, AnnounceScope::Nothing, actions);
        }
    }

    /// Returns the steps that the announcement of a change by the face at `slot` may take at once. A
    /// link to a router brings the changes of all nodes behind it, and their messages.
    fn steps_at_once(&self, slot: u32) -> usize {
        let face = self.topology.at(slot);
        let share = match face.is_some_and(|face| face.relation == Relation::Routed) {
            true => ROUTED_SHARE,
            false => 1,
        };
        self.limits.announce_steps_max / share
    }

    /// Announces the end of a token to faces it was not declared to, with its key, as a gateway does.
    pub(super) fn end_unannounced_key(&mut self, key: &str, actions: &mut Vec<Action>) {
        let (mut search, steps) = (self.search_in_interests(), Steps::unlimited());
        let (concerned, _) = self.next_concerned(Kind::Token, key, &mut search, &steps);
        let late = concerned.iter().filter(|concerned| concerned.is_late);
        let slots: BTreeSet<u32> = late.map(|concerned| concerned.slot).collect();
        for slot in slots {
            self.end_unannounced(slot, key, actions);
        }
    }

    /// Announces a change in slices.
    fn announce_later(&mut self, change: &Change, entity: EntityRef, key: Arc<str>, came: NewFor) {
        let search = self.search_in_interests();
        let one = Announcement {
            entity,
            key,
            search,
        };
        let is_new = change.before == 0;
        self.announcing.begin(change.slot, one, came, is_new);
    }

    fn search_in_interests(&self) -> Search {
        match self.interests.in_all() > IN_ALL_MAX {
            true => Search::by_number(),
            false => Search::default(),
        }
    }

    /// Announces a slice of the changes of one face, or of the face with the next turn; true if
    /// more is left.
    pub(super) fn announce_on(&mut self, slot: Option<u32>, actions: &mut Vec<Action>) -> bool {
        let turn = match slot {
            Some(slot) => Some(self.announcing.turn_of(slot)),
            None => self.announcing.next_turn(),
        };
        let Some(AnnouncementTurn { slot, is_for_few }) = turn else {
            return false;
        };
        // Faces with few interests come first.
        if is_for_few && let Some(entity) = self.announcing.first_for_few(slot) {
            self.announce_to_few(slot, entity, actions);
            return !self.announcing.is_empty();
        }
        // Then the interests that the search reaches in this slice, by the state of the entity now.
        let Some(mut one) = self.announcing.take(slot) else {
            return false;
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (entity, key) = (one.entity, &one.key);
        let (concerned, done) = self.next_concerned(entity.kind, key, &mut one.search, &steps);
        let came = self.announcing.came(entity);
        let changed = ChangedEntity {
            entity,
            key,
            by: slot,
            came,
        };
        for concerned in concerned {
            self.announce_to(concerned, &changed, &steps, actions);
        }
        // The rest waits for the next turn; further changes since then need another round.
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

    /// Announces a change that the face at `slot` made to a slice of the faces that have few interests.
    fn announce_to_few(&mut self, slot: u32, entity: EntityRef, actions: &mut Vec<Action>) {
        let Some((mut at, key)) = self.announcing.few_at(entity) else {
            return self.announcing.end_few(slot);
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (pattern, mut concerned) = (Pattern::new(&key), Vec::new());
        let end = self.topology.places();
        // Collect the interests that cover the key, face by face, for as long as the slice lasts.
        while at < end && !steps.are_over() {
            if self.interests.count(at) <= FEW {
                for (interest, kept) in self.interests.of(at) {
                    if is_concerned(kept, entity.kind, &pattern, &steps) {
                        concerned.push(CoveringInterest::new(interest, kept, entity.kind));
                    }
                }
            }
            at += 1;
            steps.spend(1 + pattern.take_work());
        }
        // Bring their faces up to date.
        let (key, came) = (&key, self.announcing.came(entity));
        let changed = ChangedEntity {
            entity,
            key,
            by: slot,
            came,
        };
        for concerned in concerned {
            self.announce_to(concerned, &changed, &steps, actions);
        }
        // The next slice continues with the next face.
        if at >= end || !self.announcing.set_few_at(entity, at) {
            self.announcing.end_few(slot);
        }
    }

    /// Brings one face up to date because of one of its interests.
    fn announce_to(
        &mut self,
        CoveringInterest {
            slot,
            group,
            is_late,
            awaits,
        }: CoveringInterest,
        &ChangedEntity {
            entity,
            key,
            by,
            came,
        }: &ChangedEntity<'_>,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        let is_gone = self.entities(kind).sources(index).is_empty();
        // A face with an interest in changes only receives the end of a token that it has no id for.
        if kind == Kind::Token && is_gone && is_late && !self.is_announced(slot, entity) {
            let face = self.topology.at(slot);
            if face.is_some_and(|face| !self.topology.leaves(kind, by, face)) {
                self.end_unannounced(slot, key, actions);
            }
            return;
        }
        // Entities of a group are announced with the group; an interest in changes only gets no entity
        // that existed before.
        let hears = match awaits.0.filter(|_| came == NewFor::Answer) {
            _ if group.is_some() || is_late && !came.is_for(slot) => AnnounceScope::Known,
            Some(interest) => AnnounceScope::Answer(interest),
            None => AnnounceScope::All,
        };
        self.refresh(entity, slot, hears, actions);
        if let Some(key) = group {
            self.refresh_group(slot, GroupKey { kind, key }, index, steps, actions);
        }
    }

    /// Returns some more interests in a kind that cover a key; true with them if they are the last.
    fn next_concerned(
        &self,
        kind: Kind,
        key: &str,
        search: &mut Search,
        steps: &Steps,
    ) -> (Vec<CoveringInterest>, bool) {
        let pattern = Pattern::new(key);
        let mut all = Vec::new();
        // Collects an interest that is in this kind and, where the search has not compared the
        // keys, covers the key.
        let mut note = |interest: InterestRef, meets: Option<&Pattern<'_>>| {
            let kept = self.interests.get(interest);
            let Some(kept) = kept.filter(|kept| kept.options.contains(kind.option())) else {
                return;
            };
            let covers = |pattern| is_concerned(kept, kind, pattern, steps);
            if meets.is_none_or(covers) {
                steps.spend(FOUND_STEPS);
                all.push(CoveringInterest::new(interest, kept, kind));
            }
        };
        // Search the tree of keys; a tree that changed below the search is left for the numbers.
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
        // Go through all interests by number.
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

    /// Ends an announcement that has reached all interests. Faces that know the entity by an
    /// interest that no longer covers it receive its end here.
    fn end_announcement(&mut self, entity: EntityRef, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        for slot in self.entities(kind).announced(index).to_vec() {
            self.refresh(entity, slot, AnnounceScope::Nothing, actions);
        }
        if self.entities(kind).sources(index).is_empty() {
            self.forget_entity(entity, actions);
        }
    }

    /// Returns true if no other message of a face should be handled yet: an answer to it, or a
    /// change that it made, is still being sent.
    pub fn is_busy(&self, face: FaceId) -> bool {
        let Some(source) = self.face(face) else {
            return false;
        };
        let holds = match source.relation {
            Relation::RouterToRouter => self.announcing.are_too_many(),
            _ => self.announcing.holds(face.index),
        };
        holds || self.is_answering(face)
    }

    /// Continues that answer or announcement; true if more is left.
    pub fn work_on(&mut self, face: FaceId, actions: &mut Vec<Action>) -> bool {
        if !self.answer_on(face, actions) && self.face(face).is_some() {
            // The changes that a link to a router brings belong to routers.
            let is_own = self.relation(face) != Some(Relation::RouterToRouter);
            self.announce_on(is_own.then_some(face.index), actions);
        }
        self.is_busy(face)
    }
}
