// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of neighbours: answered with the entities that match, and those of served nodes kept,
//! so that changes follow.

use std::ops::ControlFlow;
use std::sync::Arc;

use zonda_codec::{
    Declaration, Interest, InterestMode, InterestOptions, KeyExpr, QueryableInfo, WhatAmI,
    key_expr::includes,
};

use crate::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    gate::GatedKind,
    ids::Spelling,
    interest_records::{
        Example, ExampleProperty, ExampleSearch, GroupKey, InterestRecord, InterestRef,
        ResolvedInterest,
    },
    key_tree::steps::Steps,
    kind::{EntityRef, Kind},
    limits::key_memory,
    message,
    search::Search,
    upstream_interests::{UpstreamInterestKey, UpstreamInterestUser},
};

impl ForwardingTable {
    /// Handles an INTEREST from a neighbour. A long answer only begins here:
    /// [`answer_on`](Self::answer_on) continues it. Interests of served nodes are kept; those of
    /// fellow peers are answered only, as peers announce changes to each other anyway; those of
    /// gateways and of routers in the mesh are counted as misplaced.
    pub fn handle_interest(
        &mut self,
        face: FaceId,
        interest: &Interest<'_>,
        actions: &mut Vec<Action>,
    ) {
        while self.answer_on(face, actions) {}
        let Some(source) = self.face_mut(face) else {
            return;
        };
        let relation = source.relation;
        if !relation.conduct().answer_interests {
            source.counters.misplaced += 1;
            return;
        }
        // The end of a kept interest ends its groups and its requests at gateways.
        if interest.mode == InterestMode::Final {
            let user = InterestRef {
                slot: face.index,
                id: interest.id,
            };
            let left = self.retract(user);
            self.end_groups(face, left, actions);
            self.stop_asking(UpstreamInterestUser::Interest(user), actions);
            return;
        }
        // A key that cannot be used ends the answer at once.
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
        let asking = ResolvedInterest {
            id: interest.id,
            mode: interest.mode,
            options: interest.options,
            key: key.map(Arc::from),
        };
        // Answer from the table; interests in changes are kept for nodes that this node serves.
        match interest.mode {
            InterestMode::Current if !Self::answers_current(asking.options) => {}
            InterestMode::Current => self.answer(face, asking, actions),
            _ if relation.conduct().keep_interests => self.keep(face, asking, actions),
            _ => self.answer(face, asking, actions),
        }
    }

    /// Ends the answer to an INTEREST that the node's filters drop.
    pub fn refuse_interest(
        &mut self,
        face: FaceId,
        interest: &Interest<'_>,
        actions: &mut Vec<Action>,
    ) {
        while self.answer_on(face, actions) {}
        let relation = self.relation(face);
        if relation.is_some_and(|relation| relation.conduct().answer_interests) {
            self.end_refused(face, interest, actions);
        }
    }

    /// Ends the answer that the neighbour waits for although the interest itself is ignored.
    fn end_refused(&mut self, face: FaceId, interest: &Interest<'_>, actions: &mut Vec<Action>) {
        if interest.mode != InterestMode::Current || Self::answers_current(interest.options) {
            message::declare(face, Some(interest.id), Declaration::Final, actions);
        }
    }

    fn keep(&mut self, face: FaceId, asking: ResolvedInterest, actions: &mut Vec<Action>) {
        let limits = self.limits;
        let memory = asking.key.as_ref().map_or(0, |key| key_memory(key));
        let Some(source) = self.topology.face(face) else {
            return;
        };
        // Aggregation is a service to clients; peers get each entity.
        let aggregate = asking.options.contains(InterestOptions::AGGREGATE)
            && source.info.whatami == WhatAmI::Client;
        let kept = InterestRecord {
            options: asking.options,
            key: asking.key.clone(),
            aggregate,
            unanswered: false,
            answering: asking.mode == InterestMode::CurrentFuture,
            future_only: asking.mode == InterestMode::Future,
            place: 0,
        };
        // An interest under an id in use replaces the old one. The old one leaves its groups and
        // its gateways after the new one has joined, so that groups and requests of both continue.
        let (slot, id) = (face.index, asking.id);
        let user = InterestRef { slot, id };
        for group in kept.groups() {
            self.interests.enter_group(slot, group);
        }
        let left = self.retract(user);
        let count = self.interests.count(slot);
        // An interest beyond the limits is ignored, and its answer ended.
        let Some(source) = self.topology.face_mut(face) else {
            return;
        };
        if source.is_full(count, limits.interests_max, memory, &limits) {
            self.notes.extend(source.note_of_full());
            for group in kept.groups() {
                self.interests.leave_group(slot, &group);
            }
            self.end_groups(face, left, actions);
            self.stop_asking(UpstreamInterestUser::Interest(user), actions);
            message::declare(face, Some(id), Declaration::Final, actions);
            return;
        }
        source.charge(memory, false);
        let answers = kept.answering;
        self.interests.insert(user, kept);
        let want = UpstreamInterestKey {
            mode: asking.mode,
            options: asking.options,
            key: asking.key.clone(),
        };
        // Gateways are asked before this node answers, and their answers end the interest.
        self.end_groups(face, left, actions);
        let waits = self.ask_for(UpstreamInterestUser::Interest(user), want, actions);
        if let Some(kept) = self.interests.get_mut(user) {
            kept.unanswered = waits;
        }
        if answers {
            self.answer(face, asking, actions);
        } else if !waits {
            message::declare(face, Some(id), Declaration::Final, actions);
        }
    }

    /// Removes a kept interest, if there is one under this id; returns its groups without members,
    /// with the ids of their declarations.
    fn retract(&mut self, user: InterestRef) -> Vec<(GroupKey, u32)> {
        let mut left = Vec::new();
        if let Some(kept) = self.interests.remove(user) {
            if let Some(face) = self.topology.at_mut(user.slot) {
                face.discharge(kept.key.as_ref().map_or(0, |key| key_memory(key)), false);
            }
            for group in kept.groups() {
                let announced = self.interests.leave_group(user.slot, &group);
                left.extend(announced.map(|id| (group, id)));
            }
        }
        left
    }

    /// Undeclares groups. The neighbour may have another interest in the key, or one under way, and
    /// count the earlier declaration as its answer.
    fn end_groups(&self, face: FaceId, left: Vec<(GroupKey, u32)>, actions: &mut Vec<Action>) {
        for (GroupKey { kind, .. }, announced) in left {
            let end = message::undeclaration(kind, announced);
            message::declare(face, None, end, actions);
        }
    }

    /// Removes an interest of a face that is gone.
    pub(super) fn forget_interest(
        &mut self,
        user: InterestRef,
        kept: &InterestRecord,
        actions: &mut Vec<Action>,
    ) {
        self.interests.unregister(user, kept);
        self.stop_asking(UpstreamInterestUser::Interest(user), actions);
    }

    /// Answers an aggregate interest with one declaration for all entities that match. Continues
    /// the search for one that the face may see; false if more places are left to search.
    pub(super) fn answer_group(
        &mut self,
        asker: InterestRef,
        group: GroupKey,
        search: &mut Search,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) -> bool {
        let slot = asker.slot;
        let Some(known) = self.interests.group(slot, &group) else {
            return true;
        };
        // A group without a declaration needs an example that the face may see.
        if known.announced.is_none() {
            let Some(found) = self.seek(slot, &group, ExampleProperty::Member, search, steps)
            else {
                return false;
            };
            if found.is_none() {
                return true;
            }
            self.found(slot, &group, ExampleProperty::Member, found);
            if group.kind == Kind::Queryable {
                self.seek_another(slot, &group, ExampleProperty::Complete, steps);
            }
        }
        // The declaration answers every interest of the group.
        self.announce_group(slot, group, Some(asker.id), actions);
        true
    }

    /// Updates the declaration of a group after a change of the sources of a matching entity. If
    /// another example has to be found and the steps are over, [`seek_on`](Self::seek_on) continues
    /// the search.
    pub(super) fn refresh_group(
        &mut self,
        slot: u32,
        group: GroupKey,
        entity: u32,
        steps: &Steps,
        actions: &mut Vec<Action>,
    ) {
        // A new example replaces a missing one; a lost example needs a search.
        for sought in [ExampleProperty::Member, ExampleProperty::Complete] {
            let fits = self.is_example(slot, &group, sought, entity, steps);
            let Some(known) = self.interests.group_mut(slot, &group) else {
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

    /// Continues the search for examples of groups, for a slice.
    pub(super) fn seek_on(&mut self, actions: &mut Vec<Action>) {
        let steps = Steps::new(self.limits.announce_steps_max);
        while !steps.are_over()
            && let Some(mut seeking) = self.interests.next_seeking()
        {
            // The group may have ended, or have found an example, since the search was queued.
            steps.spend(1);
            let ExampleSearch {
                slot,
                group,
                sought,
                search,
            } = &mut seeking;
            let known = self.interests.group_mut(*slot, group);
            if known.is_none_or(|known| !known.example(*sought).is_looking) {
                continue;
            }
            // An unfinished search stays first in the queue.
            match self.seek(*slot, group, *sought, search, &steps) {
                Some(found) => {
                    self.found(*slot, group, *sought, found);
                    self.settle_group(seeking.slot, seeking.group, actions);
                }
                None => self.interests.seek_next(seeking),
            }
        }
    }

    /// Searches for another example of a group, now as far as the steps reach, and else [later](Self::seek_on).
    fn seek_another(
        &mut self,
        slot: u32,
        group: &GroupKey,
        sought: ExampleProperty,
        steps: &Steps,
    ) {
        let mut search = Search::except(slot);
        if let Some(found) = self.seek(slot, group, sought, &mut search, steps) {
            return self.found(slot, group, sought, found);
        }
        self.interests.seek_later(ExampleSearch {
            slot,
            group: group.clone(),
            sought,
            search,
        });
    }

    /// Searches for an example of a group. `None` if the steps are over.
    fn seek(
        &self,
        slot: u32,
        group: &GroupKey,
        sought: ExampleProperty,
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

    /// Returns true if an entity that matches the key of a group is an example of the kind that is sought.
    fn is_example(
        &self,
        slot: u32,
        group: &GroupKey,
        sought: ExampleProperty,
        entity: u32,
        steps: &Steps,
    ) -> bool {
        let entities = self.entities(group.kind);
        let face = self.topology.at(slot);
        let sources = entities.sources(entity);
        let info = face.and_then(|face| self.topology.visible(group.kind, sources, face));
        info.is_some_and(|info| match sought {
            ExampleProperty::Member => true,
            ExampleProperty::Complete => {
                let mut text = String::new();
                info.complete && entities.write_key(entity, &mut text) && {
                    steps.spend_comparing(&text, &group.key);
                    includes(&text, &group.key)
                }
            }
        })
    }

    fn found(&mut self, slot: u32, group: &GroupKey, sought: ExampleProperty, entity: Option<u32>) {
        if let Some(index) = entity {
            let kind = group.kind;
            self.announcing.note_heard(EntityRef { kind, index });
        }
        if let Some(known) = self.interests.group_mut(slot, group) {
            *known.example(sought) = Example {
                entity,
                is_looking: false,
            };
        }
    }

    /// Declares the changes of a group to its face.
    fn settle_group(&mut self, slot: u32, group: GroupKey, actions: &mut Vec<Action>) {
        let Some(known) = self.interests.group_mut(slot, &group) else {
            return;
        };
        let is_complete = known.complete.entity.is_some();
        match (known.announced, known.member.entity) {
            (Some(_), None) => self.unannounce_group(slot, &group, actions),
            (None, Some(_)) => self.announce_group(slot, group, None, actions),
            (Some(_), Some(_)) if known.announced_complete != is_complete => {
                self.announce_group(slot, group, None, actions);
            }
            _ => {}
        }
    }

    /// Declares the changes of a group to its face, and takes back a declaration that the gate of
    /// the face does not permit.
    pub(super) fn settle_gated_group(
        &mut self,
        slot: u32,
        group: GroupKey,
        actions: &mut Vec<Action>,
    ) {
        let announced = self.interests.group(slot, &group);
        let announced = announced.and_then(|known| known.announced);
        if announced.is_some() && !self.permits(slot, GatedKind::Entity(group.kind), &group.key) {
            self.unannounce_group(slot, &group, actions);
        } else {
            self.settle_group(slot, group, actions);
        }
    }

    /// Takes back the declaration of a group.
    fn unannounce_group(&mut self, slot: u32, group: &GroupKey, actions: &mut Vec<Action>) {
        let known = self.interests.group_mut(slot, group);
        if let Some(id) = known.and_then(|known| known.announced.take())
            && let Some(face) = self.topology.at(slot)
        {
            let end = message::undeclaration(group.kind, id);
            message::declare(face.id, None, end, actions);
        }
    }

    fn announce_group(
        &mut self,
        slot: u32,
        group: GroupKey,
        interest_id: Option<u32>,
        actions: &mut Vec<Action>,
    ) {
        if !self.permits(slot, GatedKind::Entity(group.kind), &group.key) {
            return;
        }
        let spelling: Spelling = self.spell(slot, &group.key, actions);
        let Some(face) = self.topology.at_mut(slot) else {
            return;
        };
        let known = self.interests.group(slot, &group);
        let announced = known.and_then(|known| known.announced);
        let others = self.interests.announced_groups(slot);
        let id = announced.unwrap_or_else(|| face.announced.next_id(others));
        let mut info = QueryableInfo::default();
        if let Some(known) = self.interests.group_mut(slot, &group) {
            info.complete = known.complete.entity.is_some();
            (known.announced, known.announced_complete) = (Some(id), info.complete);
        }
        let body = message::declaration(group.kind, id, spelling.wire_expr(&group.key), info);
        message::declare(face.id, interest_id, body, actions);
    }
}
