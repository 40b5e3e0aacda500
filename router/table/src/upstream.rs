// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of this node at its gateways, for its own publishers and for the nodes it serves, and
//! the conclusions from their answers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use zonda_codec::{Declaration, Interest, InterestMode, InterestOptions, KeyExpr, WhatAmI};

use crate::{
    deadline::Deadline,
    face::Face,
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    gate::GatedKind,
    kind::{EntityRef, Kind, kinds},
    limits::Limits,
    message,
    policy::{INITIAL, Relation},
    upstream_interests::{UpstreamInterestKey, UpstreamInterestUser},
};

impl ForwardingTable {
    /// Ends the wait for overdue answers: a gateway that has not ended its answer to an interest
    /// within [`answer_timeout`](crate::Limits::answer_timeout) counts as having ended it,
    /// and so does a peer that declares nothing for
    /// [`initial_timeout`](crate::Limits::initial_timeout) when the link comes up. The time
    /// of an interest begins with the first call after it was sent. Ends queries that have timed
    /// out; if there are many, the next call ends the rest.
    pub fn expire(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let Limits {
            answer_timeout,
            initial_timeout,
            ..
        } = self.limits;
        let limit = |interest| match interest {
            INITIAL => initial_timeout,
            _ => answer_timeout,
        };
        // A peer that still declares its first entities gets more time.
        let (topology, entities) = (&mut self.topology, &self.entities);
        let goes_on = |face: FaceId, interest| {
            let declared = entities.ids(face.index);
            let peer = topology.at_mut(face.index);
            let peer = peer.filter(|_| interest == INITIAL);
            peer.is_some_and(|peer| peer.goes_on(declared, now, answer_timeout))
        };
        for (face, id) in self.wants.overdue(now, limit, goes_on) {
            match id {
                // A peer that never ends its first declarations gets what it has subscribed to, and
                // no more.
                INITIAL => self.handle_final(face, Some(INITIAL), actions),
                _ => self.finalise(face, id, actions),
            }
        }
        self.expire_liveliness_queries(now, actions);
        self.settle_mesh(now, actions);
        self.queries.expire(now);
        self.end_due(now, actions);
    }

    /// Returns the time at which [`expire`](Self::expire) has work to do; `None` if there is
    /// nothing to wait for.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let answers = self.wants.deadlines();
        let answers = answers
            .chain(self.token_query_deadlines())
            .map(|deadline| deadline.map_or(Deadline::Now, Deadline::At));
        let others = self.queries.deadline().into_iter();
        let others = others.chain(self.delayed_finals.deadline());
        answers.chain(others).chain(self.mesh.deadline()).min()
    }

    /// Returns the latest time for the next call by a caller that polls the clock: a query times
    /// out then, an answer ends, or trees are due.
    pub fn alarm(&self) -> Option<Deadline> {
        let query = self.query_deadline().map(Deadline::At);
        let query = query.into_iter().chain(self.delayed_finals.deadline());
        query.chain(self.mesh.look_deadline()).min()
    }

    /// Sends all interests of this node to a new gateway.
    pub(super) fn ask_everything(&mut self, slot: u32, actions: &mut Vec<Action>) {
        for want in self.wants.all() {
            self.ask(slot, want, actions);
        }
    }

    /// Sends the gateways an interest for a user, and ends the user's previous one. True if an
    /// answer must be waited for. Routers have no gateways.
    pub(super) fn ask_for(
        &mut self,
        user: UpstreamInterestUser,
        mut what: UpstreamInterestKey,
        actions: &mut Vec<Action>,
    ) -> bool {
        if self.topology.role() == WhatAmI::Router {
            return false;
        }
        let options = what.options.bits() & !InterestOptions::AGGREGATE.bits();
        what.options = InterestOptions::from_bits(options);
        let want = self.find_or_add_want(what, actions);
        let waits = self.is_waited_for(want);
        let before = self.wants.add_user(want, user);
        self.outdate_want(want);
        if let Some(before) = before {
            self.release_want(before, actions);
        }
        waits
    }

    /// Ends the interest of a user.
    pub(super) fn stop_asking(&mut self, user: UpstreamInterestUser, actions: &mut Vec<Action>) {
        if let Some(want) = self.wants.remove_user(user) {
            self.release_want(want, actions);
        }
    }

    /// Sends the gateways a current interest in tokens, for a served node. True if an answer must
    /// be waited for.
    pub(super) fn ask_current(
        &mut self,
        asker: FaceId,
        interest_id: u32,
        key: Option<Arc<str>>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let mut asked = false;
        let is_own = self.is_local(asker);
        for slot in self.topology.gateways().to_vec() {
            if self.wants.relays() >= self.limits.interests_max && !is_own {
                break;
            }
            let (mode, options) = (InterestMode::Current, InterestOptions::TOKENS);
            if let Some(sent) = self.send_interest(slot, mode, options, key.as_ref(), actions) {
                self.wants.add_relay(sent, (asker, interest_id));
                asked = true;
            }
        }
        asked
    }

    /// Relays a gateway's token to the served node whose interest it answers. False if it answers
    /// no such interest.
    pub(super) fn relay_token(
        &mut self,
        gateway: FaceId,
        interest_id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some((asker, id)) = self.wants.relayed((gateway, interest_id)) else {
            return false;
        };
        match self.is_local(asker) {
            true => self.answer_query(gateway, id, key, actions),
            false => self.announce_current(asker, id, key.as_str(), actions),
        }
        true
    }

    /// Returns true if a gateway keeps this interest, so that its declarations under it are
    /// recorded. Its first token may have the id 0, which means no id in answers to queries: the
    /// reference counts from 0 up to its release 1.8.
    pub(super) fn is_interested(&self, gateway: FaceId, interest_id: u32) -> bool {
        self.face(gateway)
            .is_some_and(|face| face.sent.has(interest_id))
    }

    /// Removes the open queries of a served node that is gone.
    pub(super) fn forget_current(&mut self, asker: FaceId) {
        self.wants.remove_relays_for(asker);
    }

    /// Sends the gateways an interest in queryables on this key while a query on it is held. The
    /// caller ends it with [`release_watch`](Self::release_watch).
    pub(super) fn add_watch(&mut self, key: Arc<str>, actions: &mut Vec<Action>) -> u32 {
        let what = UpstreamInterestKey::lasting(Kind::Queryable, key);
        let want = self.find_or_add_want(what, actions);
        self.wants.hold(want, true);
        want
    }

    /// Ends that interest, as the query is not held any more.
    pub(super) fn release_watch(&mut self, want: u32, actions: &mut Vec<Action>) {
        self.wants.hold(want, false);
        self.release_want(want, actions);
    }

    /// Returns the interests under which gateways still have to answer a want.
    pub(super) fn open_answers(&self, want: u32) -> Vec<(FaceId, u32)> {
        let gateways = self.topology.gateways().iter();
        let open = gateways.filter_map(|slot| {
            let gateway = self.topology.at(*slot)?;
            Some((gateway.id, gateway.sent.open(want)?))
        });
        open.collect()
    }

    /// Ends the answer of the gateway `face` to interest `id`.
    pub(super) fn finalise(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.wants.stop_waiting(face, id);
        self.listeners.end_quiet(face, Some(id));
        if let Some(query) = self.wants.remove_relay((face, id)) {
            self.end_current(query, actions);
            return;
        }
        let gateway = self.topology.face_mut(face);
        let Some(want) = gateway.and_then(|gateway| gateway.sent.finalise(id)) else {
            return;
        };
        self.outdate_want(want);
        self.queries.stir_held();
        self.answer_waiting(want, actions);
    }

    /// Ends all waits for a gateway that is gone.
    pub(super) fn forget_upstream(&mut self, gone: &Face, actions: &mut Vec<Action>) {
        if !gone.relation.conduct().ask {
            return;
        }
        let queries = self.wants.remove_gateway(gone.id);
        self.listeners.end_quiet(gone.id, None);
        self.hold_queries(&queries);
        for query in queries {
            self.end_current(query, actions);
        }
        for want in gone.sent.wants() {
            self.answer_waiting(want, actions);
        }
    }

    /// Returns true if all subscribers, or queryables, behind gateway `face` that a message on
    /// `key` would reach are known. `publisher` is the session's publisher, or querier, that it
    /// comes from.
    pub(super) fn upstream_knows(
        &self,
        source: &Face,
        face: &Face,
        kind: Kind,
        key: &str,
        publisher: Option<u32>,
    ) -> bool {
        let finalised = |want| face.sent.is_finalised(want) == Some(true);
        let own = publisher.map(|id| UpstreamInterestUser::Sender(source.id.own(id)));
        if let Some(want) = own.and_then(|own| self.wants.of(own)) {
            return finalised(want);
        }
        // Without a publisher of its own, a key with an interest of another user is known as well.
        self.wants.lasting_on(kind, key).any(finalised)
    }

    fn find_or_add_want(&mut self, what: UpstreamInterestKey, actions: &mut Vec<Action>) -> u32 {
        let (want, is_new) = self.wants.find_or_add(what);
        if is_new {
            for slot in self.topology.gateways().to_vec() {
                self.ask(slot, want, actions);
            }
        }
        want
    }

    /// Ends routes on the key of a want whose users or answers have changed.
    fn outdate_want(&mut self, want: u32) {
        let key = self.wants.what(want).and_then(|what| what.key.clone());
        if let Some(key) = key {
            self.outdate_exactly(&key);
        }
    }

    fn release_want(&mut self, want: u32, actions: &mut Vec<Action>) {
        self.outdate_want(want);
        let Some(removed) = self.wants.remove_unused(want) else {
            return;
        };
        for slot in self.topology.gateways().to_vec() {
            let Some(gateway) = self.topology.at_mut(slot) else {
                continue;
            };
            let face = gateway.id;
            if let Some(id) = gateway.sent.remove(want) {
                self.wants.stop_waiting(face, id);
                let none = InterestOptions::default();
                let end = Interest::new(id, InterestMode::Final, none, None);
                message::send(face, &end, actions);
            }
            self.forget_unwanted(face, &removed, actions);
        }
    }

    /// Removes declarations of a gateway under an interest that ended, unless another one covers
    /// them: the gateway does not undeclare them.
    fn forget_unwanted(
        &mut self,
        face: FaceId,
        ended: &UpstreamInterestKey,
        actions: &mut Vec<Action>,
    ) {
        for kind in kinds(ended.options) {
            let entities = self.entities(kind);
            let mut unwanted = HashSet::new();
            // Find the entities of the gateway that the ended interest covered and no other one covers.
            let mut check = |entity| {
                let sources = entities.sources(entity);
                if sources.iter().any(|source| source.slot == face.index)
                    && let Some(key) = entities.key(entity)
                    && !self.wants.is_wanted(kind, &key)
                {
                    unwanted.insert(entity);
                }
            };
            match &ended.key {
                Some(key) => entities.tree().matches(key, &mut check),
                None => entities.tree().for_each(&mut check),
            }
            if unwanted.is_empty() {
                continue;
            }
            // Remove them one by one.
            let is_unwanted = |entity| unwanted.contains(&entity);
            for index in self.entities.take(face.index, kind, is_unwanted) {
                self.release_entity(face, EntityRef { kind, index }, actions);
            }
        }
    }

    /// Sends a want to a gateway as an interest.
    fn ask(&mut self, slot: u32, want: u32, actions: &mut Vec<Action>) {
        let Some(UpstreamInterestKey { mode, options, key }) = self.wants.what(want).cloned()
        else {
            return;
        };
        let sent = self.send_interest(slot, mode, options, key.as_ref(), actions);
        if let (Some((_, id)), Some(gateway)) = (sent, self.topology.at_mut(slot)) {
            gateway.sent.insert(want, id);
        }
    }

    /// Sends an interest, without the tokens if the gate of the face does not permit them; `None`
    /// if nothing is left of it.
    fn send_interest(
        &mut self,
        slot: u32,
        mode: InterestMode,
        mut options: InterestOptions,
        key: Option<&Arc<str>>,
        actions: &mut Vec<Action>,
    ) -> Option<(FaceId, u32)> {
        if options.contains(InterestOptions::TOKENS) {
            let kind = match mode {
                InterestMode::Current => GatedKind::TokenQuery,
                _ => GatedKind::TokenInterest,
            };
            if !self.permits(slot, kind, key.map_or("**", |key| &**key)) {
                options = options.without(InterestOptions::TOKENS);
                kinds(options).next()?;
            }
        }
        let spelling = key.map(|key| (self.spell(slot, key, actions), key));
        let gateway = self.topology.at_mut(slot)?;
        let (face, id) = (gateway.id, gateway.sent.next_id());
        gateway.ids.note_asked(id);
        let expr = spelling.map(|(spelling, key)| spelling.wire_expr(key));
        message::send(face, &Interest::new(id, mode, options, expr), actions);
        self.wants.wait_for(face, id);
        Some((face, id))
    }

    /// Returns true if a gateway still has to answer a want.
    fn is_waited_for(&self, want: u32) -> bool {
        let mut gateways = self.topology.gateways().iter();
        gateways.any(|slot| {
            let gateway = self.topology.at(*slot);
            gateway.is_some_and(|gateway| gateway.sent.open(want).is_some())
        })
    }

    /// Ends the answers to served nodes that waited for the gateways', if no gateway has to answer
    /// any more.
    fn answer_waiting(&mut self, want: u32, actions: &mut Vec<Action>) {
        if self.is_waited_for(want) {
            return;
        }
        for user in self.wants.served(want) {
            let Some(face) = self.topology.at(user.slot) else {
                continue;
            };
            if let Some(kept) = self.interests.get_mut(user)
                && std::mem::take(&mut kept.unanswered)
                && !kept.answering
            {
                message::declare(face.id, Some(user.id), Declaration::Final, actions);
            }
        }
    }

    /// Ends a current answer of a gateway; the last gateway's end is passed on to the asking node.
    fn end_current(&mut self, query: (FaceId, u32), actions: &mut Vec<Action>) {
        let (asker, id) = query;
        let open = self.wants.is_relayed(query);
        if !open {
            self.wants.forget_told(query);
        }
        match self.relation(asker) {
            Some(Relation::Served) if !open => self.end_current_answer(asker, id, actions),
            Some(Relation::Local) => self.end_if_delivered(id, actions),
            _ => {}
        }
    }
}
