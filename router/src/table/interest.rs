// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of neighbours: answered with what is known, and for served nodes kept, so that changes follow.

use std::ops::ControlFlow;
use std::sync::Arc;

use zonda_codec::{
    Declaration, Interest, InterestMode, InterestOptions, KeyExpr, QueryableInfo, WhatAmI,
    key_expr::includes,
};

use crate::table::{
    Action, FaceId,
    announce::{kinds, visible},
    entity::Kind,
    face::Face,
    forwarding::ForwardingTable,
    ids::Spelling,
    key_tree::steps::Steps,
    limits::key_memory,
    message,
    search::Search,
    upstream::WantKey,
};

/// A kept interest, from the table's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InterestRef {
    pub(super) slot: u32,
    /// The neighbour's id for it.
    pub(super) id: u32,
}

/// A kept interest, from its face's side.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
    /// One declaration on its own key stands for all.
    aggregate: bool,
    /// What this node asks its own gateways on its behalf.
    pub(super) want: Option<u32>,
    /// Its D_FINAL waits for the gateways'.
    pub(super) unanswered: bool,
    /// Its D_FINAL waits for the rest of this node's own answer.
    pub(super) answering: bool,
    /// It is about changes only: what it covers may exist without having been declared.
    pub(super) future_only: bool,
    /// Its number among all that are kept.
    place: u32,
}

impl Kept {
    /// The key of the one declaration that stands for all of `kind`, if this interest asks for that.
    pub(super) fn group_key(&self, kind: Kind) -> Option<&Arc<str>> {
        self.key
            .as_ref()
            .filter(|_| self.aggregate && kind != Kind::Token)
    }

    /// The groups it is a member of.
    fn groups(&self) -> impl Iterator<Item = GroupKey> {
        kinds(self.options).filter_map(|kind| {
            let key = self.group_key(kind)?.clone();
            Some(GroupKey { kind, key })
        })
    }
}

/// What the aggregate interests of a group have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct GroupKey {
    pub(super) kind: Kind,
    pub(super) key: Arc<str>,
}

/// All aggregate interests of a face in one kind on one key.
#[derive(Debug)]
pub(super) struct Group {
    /// How many there are.
    members: usize,
    /// The id under which the face knows that something matches.
    pub(super) announced: Option<u32>,
    /// The face knows that a queryable is complete for the whole key.
    announced_complete: bool,
    /// An entity that matches.
    member: Example,
    /// A queryable that is complete for the whole key.
    complete: Example,
}

impl Group {
    fn example(&mut self, sought: Sought) -> &mut Example {
        match sought {
            Sought::Member => &mut self.member,
            Sought::Complete => &mut self.complete,
        }
    }
}

/// An entity that the face of a group may know of, while there is one: as long as it stays, no others are looked at.
#[derive(Debug, Default)]
struct Example {
    entity: Option<u32>,
    /// This one is gone, and another one is being looked for.
    is_looking: bool,
}

/// What an entity is an example of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sought {
    Member,
    Complete,
}

/// The search for another example of a group.
#[derive(Debug)]
pub(super) struct Seeking {
    slot: u32,
    group: GroupKey,
    sought: Sought,
    search: Search,
}

/// What an interest leaves behind that is gone.
#[derive(Default)]
struct Left {
    /// Groups without members, with the ids of their declarations.
    groups: Vec<(GroupKey, u32)>,
    /// What was asked of the gateways on its behalf.
    want: Option<u32>,
}

/// An interest whose key is resolved.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) id: u32,
    pub(super) mode: InterestMode,
    pub(super) options: InterestOptions,
    pub(super) key: Option<Arc<str>>,
}

impl ForwardingTable {
    /// An INTEREST from a neighbour. If there is much to tell, the answer only begins:
    /// [`answer_on`](Self::answer_on) goes on with it.
    /// Those of served nodes are kept; those of fellow peers are answered only, as
    /// peers tell each other of changes anyway; others are not this node's to answer.
    pub fn handle_interest(
        &mut self,
        face: FaceId,
        interest: &Interest<'_>,
        actions: &mut Vec<Action>,
    ) {
        while self.answer_on(face, actions) {}
        let Some(asking_face) = self.face_mut(face) else {
            return;
        };
        let relation = asking_face.relation;
        if !relation.conduct().answer_interests {
            asking_face.counters.misplaced += 1;
            return;
        }
        if interest.mode == InterestMode::Final {
            let user = InterestRef {
                slot: face.index,
                id: interest.id,
            };
            let left = self.retract(user);
            self.clear(user, left, actions);
            return;
        }
        let key = interest
            .wire_expr
            .map(|expr| self.declared_key(face, &expr));
        let key: Option<KeyExpr<'_>> = match key {
            None => None,
            Some(Some(key)) => Some(key),
            Some(None) => {
                self.end_refused(face, interest, actions);
                return;
            }
        };
        let asking = Asking {
            id: interest.id,
            mode: interest.mode,
            options: interest.options,
            key: key.map(Arc::from),
        };
        match interest.mode {
            InterestMode::Current if !Self::answers_current(asking.options) => {}
            InterestMode::Current => self.answer(face, asking, actions),
            _ if relation.conduct().keep_interests => self.keep(face, asking, actions),
            _ => self.answer(face, asking, actions),
        }
    }

    /// The neighbour gets the end of the answer that it waits for, also if the interest itself is ignored.
    fn end_refused(&mut self, face: FaceId, interest: &Interest<'_>, actions: &mut Vec<Action>) {
        if interest.mode != InterestMode::Current || Self::answers_current(interest.options) {
            message::declare(face, Some(interest.id), Declaration::Final, actions);
        }
    }

    fn keep(&mut self, face: FaceId, asking: Asking, actions: &mut Vec<Action>) {
        let limits = self.limits;
        let memory = asking.key.as_ref().map_or(0, |key| key_memory(key));
        let Some(asker) = self.face_mut(face) else {
            return;
        };
        // Aggregation is a service to clients; peers get each entity.
        let aggregate = asking.options.contains(InterestOptions::AGGREGATE)
            && asker.info.whatami == WhatAmI::Client;
        let kept = Kept {
            options: asking.options,
            key: asking.key.clone(),
            aggregate,
            want: None,
            unanswered: false,
            answering: asking.mode == InterestMode::CurrentFuture,
            future_only: asking.mode == InterestMode::Future,
            place: 0,
        };
        // An id in use is used anew. The old interest leaves its groups and its gateways when the new one is there, so
        // that what both have in common stays as it is.
        kept.groups().for_each(|group| enter_group(asker, group));
        let user = InterestRef {
            slot: face.index,
            id: asking.id,
        };
        let left = self.retract(user);
        let Some(asker) = self.face_mut(face) else {
            return;
        };
        let count = asker.interests.len();
        if asker.is_full(count, limits.interests_max, memory, &limits) {
            kept.groups().for_each(|group| {
                leave_group(asker, &group);
            });
            let note = asker.note_of_full();
            self.notes.extend(note);
            self.clear(user, left, actions);
            message::declare(face, Some(asking.id), Declaration::Final, actions);
            return;
        }
        asker.key_memory += memory;
        let answers = kept.answering;
        self.register(face, asking.id, kept);
        let want = WantKey {
            mode: asking.mode,
            options: asking.options,
            key: asking.key.clone(),
        };
        let waits = self.ask_for(user, want, actions);
        self.clear(user, left, actions);
        if answers {
            self.answer(face, asking, actions);
        } else if !waits {
            message::declare(face, Some(asking.id), Declaration::Final, actions);
        }
    }

    fn register(&mut self, face: FaceId, id: u32, mut kept: Kept) {
        let reference = InterestRef {
            slot: face.index,
            id,
        };
        kept.place = self.kept_interests.insert(reference);
        match &kept.key {
            Some(key) => drop(self.interests.insert(key, reference)),
            None => drop(self.interests_in_all.insert(reference)),
        }
        let Some(asker) = self.face_mut(face) else {
            return;
        };
        if kept.options.contains(InterestOptions::KEYEXPRS) {
            match &kept.key {
                Some(key) => drop(asker.granting.insert(key, id)),
                None => asker.grants_all += 1,
            }
        }
        asker.interests.insert(id, kept);
    }

    /// Forgets a kept interest, if there is one under this id.
    fn retract(&mut self, user: InterestRef) -> Left {
        let Some(face) = self.faces.get_mut(user.slot) else {
            return Left::default();
        };
        let Some(kept) = face.interests.remove(&user.id) else {
            return Left::default();
        };
        face.key_memory -= kept.key.as_ref().map_or(0, |key| key_memory(key));
        if kept.options.contains(InterestOptions::KEYEXPRS) {
            match &kept.key {
                Some(key) => drop(face.granting.remove(key, user.id)),
                None => face.grants_all -= 1,
            }
        }
        let groups = kept
            .groups()
            .filter_map(|group| leave_group(face, &group).map(|announced| (group, announced)))
            .collect();
        self.unregister(user, &kept);
        Left {
            groups,
            want: kept.want,
        }
    }

    /// Ends what an interest left behind, where it must be said.
    fn clear(&mut self, user: InterestRef, left: Left, actions: &mut Vec<Action>) {
        // What was declared under an interest alone is left to the neighbour to forget. But as long as another interest covers
        // the key, it may take the declaration for one of that interest's, whose end it will get.
        for (GroupKey { kind, key }, announced) in left.groups {
            let mut covered = false;
            let mut check = |other: u32, _: &Kept| covered |= other == user.slot;
            let steps = Steps::new(self.limits.announce_steps_max);
            let all = self.interested(kind, &key, &steps, &mut check);
            // Where it cannot be said, one end too many does no harm.
            covered |= !all;
            if let Some(face) = self.faces.get(user.slot).filter(|_| covered) {
                let end = message::undeclaration(kind, announced);
                message::declare(face.id, None, end, actions);
            }
        }
        let face = self.faces.get(user.slot);
        let now = face.and_then(|face| face.interests.get(&user.id)?.want);
        if let Some(want) = left.want
            && now != Some(want)
        {
            self.release_interest(want, user, actions);
        }
    }

    /// Forgets an interest of a face that is gone.
    pub(super) fn forget_interest(
        &mut self,
        user: InterestRef,
        kept: &Kept,
        actions: &mut Vec<Action>,
    ) {
        self.unregister(user, kept);
        if let Some(want) = kept.want {
            self.release_interest(want, user, actions);
        }
    }

    fn unregister(&mut self, user: InterestRef, kept: &Kept) {
        self.kept_interests.remove(kept.place);
        match &kept.key {
            Some(key) => drop(self.interests.remove(key, user)),
            None => drop(self.interests_in_all.remove(&user)),
        }
    }

    /// One declaration stands for all that match. Goes on with the search for one that the face may know of; false if there
    /// is more to look at.
    pub(super) fn answer_group(
        &mut self,
        asker: InterestRef,
        group: GroupKey,
        search: &mut Search,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) -> bool {
        let slot = asker.slot;
        let face = self.faces.get(slot);
        let Some(known) = face.and_then(|face| face.groups.get(&group)) else {
            return true;
        };
        if known.announced.is_none() {
            let Some(found) = self.seek(slot, &group, Sought::Member, search, steps) else {
                return false;
            };
            if found.is_none() {
                return true;
            }
            self.found(slot, &group, Sought::Member, found);
            if group.kind == Kind::Queryable {
                self.seek_another(slot, &group, Sought::Complete, steps);
            }
        }
        self.announce_group(slot, group, Some(asker.id), actions);
        true
    }

    /// Brings what a face knows of a group up to date, after the sources of an entity that matches changed. If another one
    /// has to be found and the steps are over, [`seek_on`](Self::seek_on) goes on with it.
    pub(super) fn refresh_group(
        &mut self,
        slot: u32,
        group: GroupKey,
        entity: u32,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) {
        for sought in [Sought::Member, Sought::Complete] {
            let fits = self.is_example(slot, &group, sought, entity, steps);
            let face = self.faces.get_mut(slot);
            let Some(known) = face.and_then(|face| face.groups.get_mut(&group)) else {
                return;
            };
            let example = known.example(sought);
            if fits && (example.entity.is_none() || example.is_looking) {
                self.found(slot, &group, sought, Some(entity));
            } else if !fits && example.entity == Some(entity) && !example.is_looking {
                self.seek_another(slot, &group, sought, steps);
            }
        }
        self.settle_group(slot, group, actions);
    }

    /// Goes on looking for examples of groups, for a slice; true if there is more to do.
    pub(super) fn seek_on(&mut self, actions: &mut Vec<Action>) -> bool {
        let steps = Steps::new(self.limits.announce_steps_max);
        while !steps.are_over()
            && let Some(mut seeking) = self.seeking.pop_front()
        {
            steps.spend(1);
            let Seeking {
                slot,
                group,
                sought,
                search,
            } = &mut seeking;
            let face = self.faces.get_mut(*slot);
            let known = face.and_then(|face| face.groups.get_mut(group));
            if known.is_none_or(|known| !known.example(*sought).is_looking) {
                continue;
            }
            match self.seek(*slot, group, *sought, search, &steps) {
                Some(found) => {
                    self.found(*slot, group, *sought, found);
                    self.settle_group(seeking.slot, seeking.group, actions);
                }
                None => self.seeking.push_front(seeking),
            }
        }
        !self.seeking.is_empty()
    }

    /// Looks for another example of a group, now as far as the steps go, and else [later](Self::seek_on).
    fn seek_another(&mut self, slot: u32, group: &GroupKey, sought: Sought, steps: &Steps) {
        let mut search = Search::default();
        if let Some(found) = self.seek(slot, group, sought, &mut search, steps) {
            return self.found(slot, group, sought, found);
        }
        let face = self.faces.get_mut(slot);
        if let Some(known) = face.and_then(|face| face.groups.get_mut(group)) {
            known.example(sought).is_looking = true;
            let group = group.clone();
            self.seeking.push_back(Seeking {
                slot,
                group,
                sought,
                search,
            });
        }
    }

    /// Looks for an example of a group. `None` if the steps are over.
    fn seek(
        &self,
        slot: u32,
        group: &GroupKey,
        sought: Sought,
        search: &mut Search,
        steps: &Steps,
    ) -> Option<Option<u32>> {
        let entities = self.entities(group.kind);
        let mut example = None;
        let done = entities.search(&group.key, search, steps, &mut |entity| {
            steps.spend(entities.sources(entity).len().min(2));
            if !self.is_example(slot, group, sought, entity, steps) {
                return ControlFlow::Continue(());
            }
            example = Some(entity);
            ControlFlow::Break(())
        });
        done.then_some(example)
    }

    /// Whether an entity that matches the key of a group is an example of what is sought.
    fn is_example(
        &self,
        slot: u32,
        group: &GroupKey,
        sought: Sought,
        entity: u32,
        steps: &Steps,
    ) -> bool {
        let entities = self.entities(group.kind);
        let face = self.faces.get(slot);
        let info = face.and_then(|face| visible(group.kind, entities.sources(entity), face));
        info.is_some_and(|info| match sought {
            Sought::Member => true,
            Sought::Complete => {
                let mut text = String::new();
                info.complete && entities.write_key(entity, &mut text) && {
                    steps.spend_comparing(&text, &group.key);
                    includes(&text, &group.key)
                }
            }
        })
    }

    fn found(&mut self, slot: u32, group: &GroupKey, sought: Sought, entity: Option<u32>) {
        let face = self.faces.get_mut(slot);
        if let Some(known) = face.and_then(|face| face.groups.get_mut(group)) {
            *known.example(sought) = Example {
                entity,
                is_looking: false,
            };
        }
    }

    /// Declares to a face what has changed of a group.
    fn settle_group(&mut self, slot: u32, group: GroupKey, actions: &mut Vec<Action>) {
        let Some(face) = self.faces.get_mut(slot) else {
            return;
        };
        let Some(known) = face.groups.get_mut(&group) else {
            return;
        };
        let is_complete = known.complete.entity.is_some();
        match (known.announced, known.member.entity) {
            (Some(id), None) => {
                known.announced = None;
                let end = message::undeclaration(group.kind, id);
                message::declare(face.id, None, end, actions);
            }
            (None, Some(_)) => self.announce_group(slot, group, None, actions),
            (Some(_), Some(_)) if known.announced_complete != is_complete => {
                self.announce_group(slot, group, None, actions);
            }
            _ => {}
        }
    }

    fn announce_group(
        &mut self,
        slot: u32,
        group: GroupKey,
        interest_id: Option<u32>,
        actions: &mut Vec<Action>,
    ) {
        let spelling: Spelling = self.spell(slot, &group.key, actions);
        let Some(face) = self.faces.get_mut(slot) else {
            return;
        };
        let announced = face.groups.get(&group).and_then(|state| state.announced);
        let id = announced.unwrap_or_else(|| face.next_announced_id());
        let mut info = QueryableInfo::default();
        if let Some(state) = face.groups.get_mut(&group) {
            info.complete = state.complete.entity.is_some();
            (state.announced, state.announced_complete) = (Some(id), info.complete);
        }
        let body = message::declaration(group.kind, id, spelling.wire_expr(&group.key), info);
        message::declare(face.id, interest_id, body, actions);
    }
}

fn enter_group(face: &mut Face, group: GroupKey) {
    let group = face.groups.entry(group).or_insert(Group {
        members: 0,
        announced: None,
        announced_complete: false,
        member: Example::default(),
        complete: Example::default(),
    });
    group.members += 1;
}

/// Gives back the id of the group's declaration if the group is gone and was declared.
fn leave_group(face: &mut Face, group: &GroupKey) -> Option<u32> {
    let state = face.groups.get_mut(group)?;
    state.members -= 1;
    if state.members > 0 {
        return None;
    }
    face.groups.remove(group)?.announced
}
