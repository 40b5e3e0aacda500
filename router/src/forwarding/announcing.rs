// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes that concern so many interests that announcing them at once would keep everybody else waiting: they are announced
//! in slices. Each slice brings those up to date whose interests it comes to, by what is true then, so further changes in
//! between cost nothing but one more round. An entity without sources is forgotten when its last change has been announced.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::announce::{FOUND_STEPS, Hears};
use super::entity::Kind;
use super::interest::InterestRef;
use super::key_tree::pattern::Pattern;
use super::key_tree::steps::Steps;
use super::key_tree::walk::Reached;
use super::search::Search;
use super::table::ForwardingTable;
use super::{Action, FaceId};

/// Changes that are being announced, by the place of the face that made them: one waits for its own, not for those of others.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    by_face: BTreeMap<u32, VecDeque<Announcement>>,
    /// The entities that they are about.
    waiting: HashMap<(Kind, u32), Waiting>,
    /// The face whose turn it was.
    turn: u32,
}

/// What is known of an entity whose changes are being announced.
#[derive(Debug)]
struct Waiting {
    came: Came,
    /// There was a change since the round began.
    again: bool,
}

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
    kind: Kind,
    entity: u32,
    key: Arc<str>,
    search: Search,
}

impl Announcements {
    pub(super) fn is_empty(&self) -> bool {
        self.by_face.is_empty()
    }

    /// The face whose turn it is.
    fn next_face(&mut self) -> Option<u32> {
        let mut later = self.by_face.range(self.turn.saturating_add(1)..);
        let next = later.next().or_else(|| self.by_face.first_key_value());
        self.turn = *next?.0;
        Some(self.turn)
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

/// An interest that a slice came to: its face, the key of its group, and whether it is about changes only.
type Concerned = (u32, Option<Arc<str>>, bool);

/// With more interests in all keys than this, all interests are looked at by their numbers.
const IN_ALL_MAX: usize = 1000;

impl ForwardingTable {
    /// Whether a change of an entity is being announced.
    pub(super) fn is_announcing(&self, kind: Kind, entity: u32) -> bool {
        self.announcing.waiting.contains_key(&(kind, entity))
    }

    /// The same; if so there will be another round.
    pub(super) fn announces_again(&mut self, what: (Kind, u32), came: Came) -> bool {
        let Some(waiting) = self.announcing.waiting.get_mut(&what) else {
            return false;
        };
        waiting.again = true;
        if waiting.came != came {
            waiting.came = Came::All;
        }
        true
    }

    /// Tells a change that the face at `slot` made bit by bit.
    pub(super) fn announce_later(
        &mut self,
        slot: u32,
        (kind, entity): (Kind, u32),
        (key, came): (String, Came),
    ) {
        let again = false;
        let waiting = Waiting { came, again };
        self.announcing.waiting.insert((kind, entity), waiting);
        let one = Announcement {
            kind,
            entity,
            key: key.into(),
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
        let slot = slot.or_else(|| self.announcing.next_face());
        let one = slot.and_then(|slot| Some((slot, self.announcing.take(slot)?)));
        let Some((slot, mut one)) = one else {
            return false;
        };
        let steps = Steps::new(self.limits.announce_steps_max.max(1));
        let (concerned, done) = self.next_concerned(&mut one, &steps);
        let (kind, entity) = (one.kind, one.entity);
        for (slot, group, is_late) in concerned {
            self.announce_to(slot, &one, (group, is_late), (&steps, actions));
        }
        let waiting = self.announcing.waiting.get_mut(&(kind, entity));
        if !done {
            self.announcing.put_back(slot, one);
        } else if waiting.is_some_and(|waiting| std::mem::take(&mut waiting.again)) {
            one.search = self.search_in_interests();
            self.announcing.put_back(slot, one);
        } else {
            self.announcing.waiting.remove(&(kind, entity));
            self.end_announcement(kind, entity, actions);
        }
        !self.announcing.is_empty()
    }

    /// Brings one face up to date because of one of its interests.
    fn announce_to(
        &mut self,
        slot: u32,
        one: &Announcement,
        (group, is_late): (Option<Arc<str>>, bool),
        (steps, actions): (&Steps, &mut Vec<Action>),
    ) {
        let (kind, entity) = (one.kind, one.entity);
        let is_gone = self.entities(kind).sources(entity).is_empty();
        let is_told = self.is_told(slot, kind, entity);
        if kind == Kind::Token && is_gone && is_late && !is_told {
            return self.end_untold(slot, &one.key, actions);
        }
        let waiting = self.announcing.waiting.get(&(kind, entity));
        let is_new = waiting.is_some_and(|waiting| waiting.came.is_for(slot));
        let hears = match group.is_some() || is_late && !is_new {
            true => Hears::Known,
            false => Hears::All,
        };
        self.refresh(kind, entity, slot, hears, actions);
        if let Some(key) = group {
            self.refresh_group((slot, (kind, key)), entity, steps, actions);
        }
    }

    /// Some more interests that cover the entity's key, and whether they are the last.
    fn next_concerned(&self, one: &mut Announcement, steps: &Steps) -> (Vec<Concerned>, bool) {
        let pattern = Pattern::new(&one.key);
        let mut all = Vec::new();
        let mut note = |interest: &InterestRef, meets: Option<&Pattern<'_>>| {
            let face = self.faces.get(interest.slot);
            let kept = face.and_then(|face| face.interests.get(&interest.id));
            let Some(kept) = kept.filter(|kept| kept.options.contains(one.kind.option())) else {
                return;
            };
            let covers = |pattern: &Pattern<'_>| {
                let key = kept.key.as_deref();
                steps.spend(key.map_or(0, str::len) / 8);
                key.is_none_or(|key| pattern.meets(key))
            };
            if meets.is_none_or(covers) {
                steps.spend(FOUND_STEPS);
                let group = kept.group_key(one.kind).cloned();
                all.push((interest.slot, group, kept.future_only));
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
    fn end_announcement(&mut self, kind: Kind, entity: u32, actions: &mut Vec<Action>) {
        for slot in self.entities(kind).told(entity).to_vec() {
            self.refresh(kind, entity, slot, Hears::Nothing, actions);
        }
        if self.entities(kind).sources(entity).is_empty() {
            self.forget_entity(kind, entity);
        }
    }

    /// Whether nothing else of a face should be handled: an answer to it, or what it changed, is still being sent.
    pub fn is_busy(&self, face: FaceId) -> bool {
        let tells = self.announcing.by_face.contains_key(&face.index);
        self.is_answering(face) || tells && self.face(face).is_some()
    }

    /// Goes on with that; true if there is more.
    pub fn work_on(&mut self, face: FaceId, actions: &mut Vec<Action>) -> bool {
        if !self.answer_on(face, actions) && self.face(face).is_some() {
            self.announce_on(Some(face.index), actions);
        }
        self.is_busy(face)
    }
}
