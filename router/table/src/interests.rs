// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kept interests by key and by face, and groups of aggregate interests, which get one declaration
//! for all entities that match.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{
    interest_records::{Answer, ExampleSearch, Group, GroupKey, InterestRecord, InterestRef},
    key_tree::{
        KeyTree,
        pattern::Pattern,
        steps::Steps,
        walk::{Reached, Walk},
    },
    slots::Slots,
};
use std::ops::ControlFlow;

use zonda_codec::InterestOptions;

/// All kept interests of a table.
#[derive(Debug, Default)]
pub(super) struct Interests {
    by_key: KeyTree<InterestRef>,
    /// Interests in all keys.
    in_all: HashSet<InterestRef>,
    by_number: Slots<InterestRef>,
    /// Interests of each face, by the face's slot.
    faces: HashMap<u32, FaceInterests>,
    /// Groups that need another example.
    seeking: VecDeque<ExampleSearch>,
}

/// The interests of one face.
#[derive(Debug, Default)]
struct FaceInterests {
    /// Interests by the face's ids.
    kept: HashMap<u32, InterestRecord>,
    /// Answer to an interest that has not been sent in full yet.
    answer: Option<Box<Answer>>,
    /// Groups of aggregate interests, by kind and key.
    groups: HashMap<GroupKey, Group>,
    /// Interests that permit D_KEYEXPR, by key.
    granting: KeyTree<u32>,
    /// Number of interests that permit D_KEYEXPR for every key.
    grants_all: usize,
}

/// Steps of one announcement to a face, in addition to those of its search.
pub(super) const FOUND_STEPS: usize = 4;

impl Interests {
    /// Returns the bytes of memory of the keys.
    pub(super) fn memory(&self) -> usize {
        self.by_key.memory()
    }

    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        self.by_key.steps()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty() && self.in_all.is_empty()
    }

    /// Returns the number of interests in all keys.
    pub(super) fn in_all(&self) -> usize {
        self.in_all.len()
    }

    /// Returns the number of kept interests of a face.
    pub(super) fn count(&self, slot: u32) -> usize {
        self.faces.get(&slot).map_or(0, |face| face.kept.len())
    }

    pub(super) fn get(&self, interest: InterestRef) -> Option<&InterestRecord> {
        self.faces.get(&interest.slot)?.kept.get(&interest.id)
    }

    pub(super) fn get_mut(&mut self, interest: InterestRef) -> Option<&mut InterestRecord> {
        let face = self.faces.get_mut(&interest.slot)?;
        face.kept.get_mut(&interest.id)
    }

    /// Returns a bound: all kept interests have numbers below it.
    pub(super) fn places(&self) -> u32 {
        self.by_number.places()
    }

    /// Returns the kept interest of a number.
    pub(super) fn at(&self, place: u32) -> Option<InterestRef> {
        self.by_number.get(place).copied()
    }

    /// Returns the kept interests on exactly this key.
    pub(super) fn on(&self, key: &str) -> &[InterestRef] {
        self.by_key.get(key)
    }

    /// Returns the interests of a face.
    pub(super) fn of(&self, slot: u32) -> impl Iterator<Item = (InterestRef, &InterestRecord)> {
        let face = self.faces.get(&slot);
        let all = face.into_iter().flat_map(|face| face.kept.iter());
        all.map(move |(&id, kept)| (InterestRef { slot, id }, kept))
    }

    /// Inserts an interest, whose groups the face has [entered](Self::enter_group) already.
    pub(super) fn insert(&mut self, interest: InterestRef, mut kept: InterestRecord) {
        kept.place = self.by_number.insert(interest);
        match &kept.key {
            Some(key) => drop(self.by_key.insert(key, interest)),
            None => drop(self.in_all.insert(interest)),
        }
        let face = self.faces.entry(interest.slot).or_default();
        if kept.options.contains(InterestOptions::KEYEXPRS) {
            match &kept.key {
                Some(key) => drop(face.granting.insert(key, interest.id)),
                None => face.grants_all += 1,
            }
        }
        face.kept.insert(interest.id, kept);
    }

    /// Removes an interest, but not its membership of its groups.
    pub(super) fn remove(&mut self, interest: InterestRef) -> Option<InterestRecord> {
        let face = self.faces.get_mut(&interest.slot)?;
        let kept = face.kept.remove(&interest.id)?;
        if kept.options.contains(InterestOptions::KEYEXPRS) {
            match &kept.key {
                Some(key) => drop(face.granting.remove(key, interest.id)),
                None => face.grants_all -= 1,
            }
        }
        self.unregister(interest, &kept);
        Some(kept)
    }

    /// Removes an interest that its face no longer lists from the indexes.
    pub(super) fn unregister(&mut self, interest: InterestRef, kept: &InterestRecord) {
        self.by_number.remove(kept.place);
        match &kept.key {
            Some(key) => drop(self.by_key.remove(key, interest)),
            None => drop(self.in_all.remove(&interest)),
        }
    }

    /// Removes a face: no search finds its interests any more. Returns them in the order of their
    /// ids; the caller [unregisters](Self::unregister) them one by one.
    pub(super) fn remove_face(&mut self, slot: u32) -> Vec<(u32, InterestRecord)> {
        let face = self.faces.remove(&slot).unwrap_or_default();
        let mut kept: Vec<_> = face.kept.into_iter().collect();
        kept.sort_unstable_by_key(|(id, _)| *id);
        kept
    }

    /// Returns true if an interest of a face permits declaring an id for `prefix` to it.
    pub(super) fn grants(&self, slot: u32, prefix: &str) -> bool {
        let face = self.faces.get(&slot);
        face.is_some_and(|face| face.grants_all > 0 || face.granting.any(prefix, &mut |_| true))
    }

    /// Continues a walk through the interests on keys that intersect that of a pattern.
    pub(super) fn search(
        &self,
        pattern: &Pattern<'_>,
        walk: &mut Walk,
        steps: &Steps,
        found: &mut impl FnMut(InterestRef),
    ) -> Reached {
        let found = &mut |interests: &[InterestRef]| {
            interests.iter().for_each(|interest| found(*interest));
            ControlFlow::Continue(())
        };
        self.by_key.search(pattern, walk, steps, found)
    }

    /// Returns the interests in all keys.
    pub(super) fn each_in_all(&self) -> impl Iterator<Item = InterestRef> {
        self.in_all.iter().copied()
    }

    /// Returns the interest of this number, which is below [`numbers`](Self::numbers).
    pub(super) fn numbered(&self, number: u32) -> Option<InterestRef> {
        self.by_number.get(number).copied()
    }

    pub(super) fn numbers(&self) -> u32 {
        self.by_number.places()
    }

    /// Adds an interest of a face to the members of a group.
    pub(super) fn enter_group(&mut self, slot: u32, group: GroupKey) {
        let face = self.faces.entry(slot).or_default();
        face.groups.entry(group).or_default().members += 1;
    }

    /// Removes a member; returns the id of the group's declaration if the last member has left a
    /// declared group.
    pub(super) fn leave_group(&mut self, slot: u32, key: &GroupKey) -> Option<u32> {
        let face = self.faces.get_mut(&slot)?;
        let group = face.groups.get_mut(key)?;
        group.members -= 1;
        match group.members {
            0 => face.groups.remove(key)?.announced,
            _ => None,
        }
    }

    pub(super) fn group(&self, slot: u32, group: &GroupKey) -> Option<&Group> {
        self.faces.get(&slot)?.groups.get(group)
    }

    pub(super) fn group_mut(&mut self, slot: u32, group: &GroupKey) -> Option<&mut Group> {
        self.faces.get_mut(&slot)?.groups.get_mut(group)
    }

    /// Returns the ids under which groups were declared to a face.
    pub(super) fn announced_groups(&self, slot: u32) -> impl Iterator<Item = u32> {
        let face = self.faces.get(&slot);
        let groups = face.into_iter().flat_map(|face| face.groups.values());
        groups.filter_map(|group| group.announced)
    }

    /// Takes the unfinished answer of a face, which the caller continues.
    pub(super) fn take_answer(&mut self, slot: u32) -> Option<Box<Answer>> {
        self.faces.get_mut(&slot)?.answer.take()
    }

    /// Stores the rest of an answer, to be sent later.
    pub(super) fn put_answer(&mut self, slot: u32, answer: Answer) {
        self.faces.entry(slot).or_default().answer = Some(Box::new(answer));
    }

    pub(super) fn is_answering(&self, slot: u32) -> bool {
        let face = self.faces.get(&slot);
        face.is_some_and(|face| face.answer.is_some())
    }

    /// Queues the search for an example of a group.
    pub(super) fn seek_later(&mut self, seeking: ExampleSearch) {
        if let Some(group) = self.group_mut(seeking.slot, &seeking.group) {
            group.example(seeking.sought).is_looking = true;
            self.seeking.push_back(seeking);
        }
    }

    /// Takes the next queued search.
    pub(super) fn next_seeking(&mut self) -> Option<ExampleSearch> {
        self.seeking.pop_front()
    }

    /// Puts a search back at the front of the queue.
    pub(super) fn seek_next(&mut self, seeking: ExampleSearch) {
        self.seeking.push_front(seeking);
    }

    pub(super) fn is_seeking(&self) -> bool {
        !self.seeking.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn interest(key: Option<&str>, options: InterestOptions) -> InterestRecord {
        InterestRecord {
            options,
            key: key.map(Into::into),
            aggregate: false,
            unanswered: false,
            answering: false,
            future_only: false,
            place: 0,
        }
    }

    fn covering(interests: &Interests, kind: Kind, key: &str) -> Vec<u32> {
        let (mut all, steps) = (Vec::new(), Steps::unlimited());
        let found = &mut |interest| all.push(interest);
        interests.search(&Pattern::new(key), &mut Walk::default(), &steps, found);
        all.extend(interests.each_in_all());
        let is_in = |kept: &InterestRecord| kept.options.contains(kind.option());
        all.retain(|interest| interests.get(*interest).is_some_and(is_in));
        let mut slots: Vec<u32> = all.iter().map(|interest| interest.slot).collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn interests_are_found_by_key_and_kind_until_they_or_their_faces_are_gone() {
        let mut interests = Interests::default();
        let (subscribers, tokens) = (InterestOptions::SUBSCRIBERS, InterestOptions::TOKENS);
        let at = |slot| InterestRef { slot, id: 1 };
        interests.insert(at(0), interest(Some("a/*"), subscribers));
        interests.insert(at(1), interest(None, subscribers));
        interests.insert(at(2), interest(Some("a/b"), tokens));
        assert_eq!(covering(&interests, Kind::Subscriber, "a/b"), [0, 1]);
        assert_eq!(covering(&interests, Kind::Token, "a/*"), [2]);
        assert!(interests.remove(at(0)).is_some() && interests.remove(at(0)).is_none());
        for (id, kept) in interests.remove_face(1) {
            assert_eq!(covering(&interests, Kind::Subscriber, "a/b"), [0; 0]);
            interests.unregister(InterestRef { slot: 1, id }, &kept);
        }
        interests.remove(at(2));
        assert!(interests.is_empty());
    }

    #[test]
    fn ids_are_granted_by_those_that_ask_for_them() {
        let mut interests = Interests::default();
        let grants = InterestOptions::KEYEXPRS | InterestOptions::SUBSCRIBERS;
        let at = InterestRef { slot: 3, id: 1 };
        interests.insert(at, interest(Some("a/**"), grants));
        assert!(interests.grants(3, "a/b") && !interests.grants(3, "b"));
        assert!(!interests.grants(4, "a/b"));
        interests.remove(at);
        assert!(!interests.grants(3, "a/b"));
    }

    #[test]
    fn a_group_is_gone_with_its_last_member() {
        let mut interests = Interests::default();
        let (kind, key) = (Kind::Queryable, "a".into());
        let group = GroupKey { kind, key };
        interests.enter_group(0, group.clone());
        interests.enter_group(0, group.clone());
        interests
            .group_mut(0, &group)
            .expect("it has members")
            .announced = Some(7);
        assert_eq!(interests.announced_groups(0).collect::<Vec<_>>(), [7]);
        assert_eq!(interests.leave_group(0, &group), None);
        assert_eq!(interests.leave_group(0, &group), Some(7));
        assert!(interests.group(0, &group).is_none());
    }
}
