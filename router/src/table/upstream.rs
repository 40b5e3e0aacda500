// SPDX-License-Identifier: MIT OR Apache-2.0

//! The node as somebody's client: what it asks its gateways, for its own publishers and for the nodes it
//! serves, and what it may conclude from their answers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use zonda_codec::{Declaration, InterestMode, InterestOptions, KeyExpr, WhatAmI};

use crate::table::{
    Action, FaceId, OwnRef,
    entity::{EntityRef, Kind},
    face::Face,
    forwarding::ForwardingTable,
    interest::InterestRef,
    limits::Limits,
    message,
    policy::Relation,
};

/// An interest this node has, whatever its gateways are. Users with the same wish share it.
#[derive(Debug)]
pub(super) struct Want {
    what: WantKey,
    /// How many publishers and listeners of the session have it.
    publishers: usize,
    /// How many held queries of the session have it.
    watchers: usize,
    /// The interests of served nodes that have it.
    served: HashSet<InterestRef>,
}

impl Want {
    /// Whether anybody has it for longer than a query is held.
    fn lasts(&self) -> bool {
        self.publishers > 0 || !self.served.is_empty()
    }
}

/// What is wanted: when, which kinds, on which keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct WantKey {
    pub(super) mode: InterestMode,
    pub(super) options: InterestOptions,
    /// All keys if `None`.
    pub(super) key: Option<Arc<str>>,
}

impl WantKey {
    /// What there is of a kind on `key`, and what comes and goes.
    pub(super) fn lasting(kind: Kind, key: Arc<str>) -> Self {
        WantKey {
            mode: InterestMode::CurrentFuture,
            options: InterestOptions::KEYEXPRS | kind.option(),
            key: Some(key),
        }
    }
}

/// A want as one gateway was asked for it.
#[derive(Debug)]
pub(super) struct Asked {
    id: u32,
    /// The gateway has declared all it had.
    finalised: bool,
}

/// The interest of a link between peers, which nobody sends: its end is the end of what the other one has to tell when the
/// link comes up.
pub const INITIAL: u32 = 0;

/// When [`ForwardingTable::expire`] wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// As soon as possible: something waits to be timed.
    Now,
    /// At this time.
    At(Instant),
}

impl ForwardingTable {
    /// Gives up waiting for answers that are overdue: a gateway that did not end its answer to an interest within
    /// [`answer_timeout`](crate::table::Limits::answer_timeout) counts as having ended it, and so does a peer that tells nothing
    /// for [`initial_timeout`](crate::table::Limits::initial_timeout) when the link comes up. The time of an interest begins with
    /// the first call after it was sent. Ends queries whose time is over; if there are many, some are left to the next
    /// call.
    pub fn expire(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let Limits {
            answer_timeout,
            initial_timeout,
            ..
        } = self.limits;
        let mut overdue = Vec::new();
        for (asked, deadline) in &mut self.unanswered {
            let (slot, is_initial) = (asked.0.index, asked.1 == INITIAL);
            let limit = if is_initial {
                initial_timeout
            } else {
                answer_timeout
            };
            let deadline = deadline.get_or_insert(now + limit);
            if *deadline > now {
                continue;
            }
            let peer = self.faces.get_mut(slot).filter(|_| is_initial);
            match peer.is_some_and(|peer| peer.goes_on(now, answer_timeout)) {
                true => *deadline = now + limit,
                false => overdue.push(*asked),
            }
        }
        overdue.sort_unstable();
        for (face, id) in overdue {
            match id {
                // A peer that never says that it has declared all it has gets what it has asked for, and no more.
                INITIAL => self.handle_final(face, Some(INITIAL), actions),
                _ => self.finalise(face, id, actions),
            }
        }
        self.expire_token_queries(now, actions);
        self.expire_absent(now);
        self.expire_queries(now);
    }

    /// When [`expire`](Self::expire) has something to do; `None` if nothing is waited for.
    pub fn next_deadline(&self) -> Option<Deadline> {
        let answers = self.unanswered.values().copied();
        let answers = answers
            .chain(self.token_query_deadlines())
            .map(|deadline| deadline.map_or(Deadline::Now, Deadline::At));
        let query = self.query_deadline().map(Deadline::At);
        answers.chain(query).chain(self.absence_deadline()).min()
    }

    /// Asks a new gateway for all this node wants.
    pub(super) fn ask_everything(&mut self, slot: u32, actions: &mut Vec<Action>) {
        let mut wants: Vec<u32> = self.wants_by_key.values().copied().collect();
        wants.sort_unstable();
        for want in wants {
            self.ask(slot, want, actions);
        }
    }

    /// Asks the gateways what a served node asked. True if an answer must be waited for.
    pub(super) fn ask_for(
        &mut self,
        user: InterestRef,
        mut what: WantKey,
        actions: &mut Vec<Action>,
    ) -> bool {
        if self.role == WhatAmI::Router {
            return false;
        }
        let options = what.options.bits() & !InterestOptions::AGGREGATE.bits();
        what.options = InterestOptions::from_bits(options);
        let want = self.find_or_add_want(what, actions);
        let waits = self.is_waited_for(want);
        if let Some(want) = self.wants.get_mut(want) {
            want.served.insert(user);
        }
        self.outdate_want(want);
        let face = self.faces.get_mut(user.slot);
        if let Some(kept) = face.and_then(|face| face.interests.get_mut(&user.id)) {
            kept.want = Some(want);
            kept.unanswered = waits;
        }
        waits
    }

    /// Asks the gateways for the tokens that exist, for a served node. True if an answer must be waited for.
    pub(super) fn ask_current(
        &mut self,
        asker: FaceId,
        interest_id: u32,
        key: Option<Arc<str>>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let mut asked = false;
        let is_own = self.is_local(asker);
        for slot in self.gateways.clone() {
            if self.relays.len() >= self.limits.interests_max && !is_own {
                break;
            }
            let (mode, options) = (InterestMode::Current, InterestOptions::TOKENS);
            if let Some(sent) = self.send_interest(slot, mode, options, key.as_ref(), actions) {
                self.relays.insert(sent, (asker, interest_id));
                asked = true;
            }
        }
        asked
    }

    /// Passes a gateway's token on to the served node that asked for it. False if it answers nothing of the kind.
    pub(super) fn relay_token(
        &mut self,
        gateway: FaceId,
        interest_id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(&(asker, id)) = self.relays.get(&(gateway, interest_id)) else {
            return false;
        };
        match self.is_local(asker) {
            true => self.answer_query(gateway, id, key, actions),
            false => self.announce_token(asker, id, key.as_str(), actions),
        }
        true
    }

    /// Whether a gateway keeps this interest, so that what it tells of it lives on. Its first token may have the id 0,
    /// which stands for nothing in answers to queries: the reference counts from 0 up to its release 1.8.
    pub(super) fn is_interested(&self, gateway: FaceId, interest_id: u32) -> bool {
        self.face(gateway)
            .is_some_and(|face| face.asked.values().any(|asked| asked.id == interest_id))
    }

    /// Forgets the open queries of a served node that is gone.
    pub(super) fn forget_current(&mut self, asker: FaceId) {
        self.relays.retain(|_, (other, _)| *other != asker);
    }

    /// A publisher or querier of the session: from now on the gateways say whether anybody subscribes, or answers.
    pub(super) fn add_publisher(
        &mut self,
        publisher: OwnRef,
        kind: Kind,
        key: Arc<str>,
        actions: &mut Vec<Action>,
    ) {
        let want = self.add_own_want(WantKey::lasting(kind, key), actions);
        self.publishers.insert(publisher, want);
        self.outdate_want(want);
    }

    /// Something the session wants to hear of from now on. It is to be given back with
    /// [`release_own_want`](Self::release_own_want).
    pub(super) fn add_own_want(&mut self, what: WantKey, actions: &mut Vec<Action>) -> u32 {
        let want = self.find_or_add_want(what, actions);
        if let Some(found) = self.wants.get_mut(want) {
            found.publishers += 1;
        }
        self.outdate_want(want);
        want
    }

    /// The session does not want this any more.
    pub(super) fn release_own_want(&mut self, want: u32, actions: &mut Vec<Action>) {
        if let Some(found) = self.wants.get_mut(want) {
            found.publishers -= 1;
        }
        self.release_want(want, actions);
    }

    /// The gateways are to tell of queryables on this key while a query on it is held. To be given back with
    /// [`release_watch`](Self::release_watch).
    pub(super) fn add_watch(&mut self, key: Arc<str>, actions: &mut Vec<Action>) -> u32 {
        let what = WantKey::lasting(Kind::Queryable, key);
        let want = self.find_or_add_want(what, actions);
        if let Some(found) = self.wants.get_mut(want) {
            found.watchers += 1;
        }
        want
    }

    /// The query is not held any more.
    pub(super) fn release_watch(&mut self, want: u32, actions: &mut Vec<Action>) {
        if let Some(found) = self.wants.get_mut(want) {
            found.watchers -= 1;
        }
        self.release_want(want, actions);
    }

    /// The interests under which gateways still have to answer a want.
    pub(super) fn open_answers(&self, want: u32) -> Vec<(FaceId, u32)> {
        let gateways = self.gateways.iter();
        let open = gateways.filter_map(|slot| {
            let gateway = self.faces.get(*slot)?;
            let asked = gateway.asked.get(&want).filter(|asked| !asked.finalised)?;
            Some((gateway.id, asked.id))
        });
        open.collect()
    }

    /// The end of a publisher.
    pub(super) fn remove_publisher(&mut self, publisher: OwnRef, actions: &mut Vec<Action>) {
        let Some(want) = self.publishers.remove(&publisher) else {
            return;
        };
        self.release_own_want(want, actions);
    }

    /// The end of a served node's interest.
    pub(super) fn release_interest(
        &mut self,
        want: u32,
        user: InterestRef,
        actions: &mut Vec<Action>,
    ) {
        if let Some(found) = self.wants.get_mut(want) {
            found.served.remove(&user);
        }
        self.release_want(want, actions);
    }

    /// The gateway `face` answered interest `id` in full.
    pub(super) fn finalise(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.unanswered.remove(&(face, id));
        self.end_quiet(face, Some(id));
        if let Some(query) = self.relays.remove(&(face, id)) {
            self.end_current(query, actions);
            return;
        }
        let Some(gateway) = self.face_mut(face) else {
            return;
        };
        let Some(&want) = gateway.asked_by_id.get(&id) else {
            return;
        };
        if let Some(asked) = gateway.asked.get_mut(&want) {
            asked.finalised = true;
        }
        self.outdate_want(want);
        self.stir_held();
        self.answer_waiting(want, actions);
    }

    /// A gateway is gone: nobody waits for it any more.
    pub(super) fn forget_upstream(&mut self, gone: &Face, actions: &mut Vec<Action>) {
        if !gone.relation.conduct().ask {
            return;
        }
        self.unanswered.retain(|(face, _), _| *face != gone.id);
        let mut queries = Vec::new();
        self.relays.retain(|(face, _), query| {
            let open = *face != gone.id;
            if !open {
                queries.push(*query);
            }
            open
        });
        queries.sort_unstable();
        self.end_quiet(gone.id, None);
        self.hold_queries(&queries);
        for query in queries {
            self.end_current(query, actions);
        }
        let mut wants: Vec<u32> = gone.asked.keys().copied().collect();
        wants.sort_unstable();
        for want in wants {
            self.answer_waiting(want, actions);
        }
    }

    /// Whether this node asked for entities of a kind on keys like this one. Others a gateway mentions (answers that
    /// crossed the end of an interest) are not believed, as nobody would hear of their end.
    pub(super) fn is_wanted(&self, kind: Kind, key: &str) -> bool {
        let wants = |want| {
            let want: Option<&Want> = self.wants.get(want);
            want.is_some_and(|want| want.what.options.contains(kind.option()))
        };
        self.wants_in_all.iter().any(|want| wants(*want))
            || self.wants_tree.any(key, &mut |want| wants(want))
    }

    /// Whether the subscribers, or queryables, behind gateway `face` that a message on `key` would reach are known.
    /// `publisher` is the session's publisher, or querier, that it comes from.
    pub(super) fn upstream_knows(
        &self,
        source: &Face,
        face: &Face,
        kind: Kind,
        key: &str,
        publisher: Option<u32>,
    ) -> bool {
        let finalised = |want: &u32| {
            let asked = face.asked.get(want);
            asked.is_some_and(|asked| asked.finalised)
        };
        let face = source.id;
        if let Some(id) = publisher
            && let Some(want) = self.publishers.get(&OwnRef { face, id })
        {
            return finalised(want);
        }
        // Without a publisher of its own, a key that somebody else's interest is about is known as well.
        self.wants_tree.get(key).iter().any(|want| {
            let found = self.wants.get(*want);
            finalised(want)
                && found.is_some_and(|found| {
                    found.lasts()
                        && found.what.mode == InterestMode::CurrentFuture
                        && found.what.options.contains(kind.option())
                })
        })
    }

    fn find_or_add_want(&mut self, what: WantKey, actions: &mut Vec<Action>) -> u32 {
        if let Some(&want) = self.wants_by_key.get(&what) {
            return want;
        }
        let want = self.wants.insert(Want {
            what: what.clone(),
            publishers: 0,
            watchers: 0,
            served: HashSet::new(),
        });
        match &what.key {
            Some(key) => drop(self.wants_tree.insert(key, want)),
            None => drop(self.wants_in_all.insert(want)),
        }
        self.wants_by_key.insert(what, want);
        for slot in self.gateways.clone() {
            self.ask(slot, want, actions);
        }
        want
    }

    /// Somebody has a want, or has it no longer, or a gateway answered it: where a message on its key goes may differ.
    fn outdate_want(&mut self, want: u32) {
        let key = self.wants.get(want).and_then(|want| want.what.key.clone());
        if let Some(key) = key {
            self.outdate_exactly(&key);
        }
    }

    fn release_want(&mut self, want: u32, actions: &mut Vec<Action>) {
        self.outdate_want(want);
        let unused = |found: &Want| !found.lasts() && found.watchers == 0;
        if !self.wants.get(want).is_some_and(unused) {
            return;
        }
        let Some(removed) = self.wants.remove(want) else {
            return;
        };
        match &removed.what.key {
            Some(key) => drop(self.wants_tree.remove(key, want)),
            None => drop(self.wants_in_all.remove(&want)),
        }
        self.wants_by_key.remove(&removed.what);
        for slot in self.gateways.clone() {
            let Some(gateway) = self.faces.get_mut(slot) else {
                continue;
            };
            let face = gateway.id;
            if let Some(asked) = gateway.asked.remove(&want) {
                gateway.asked_by_id.remove(&asked.id);
                self.unanswered.remove(&(face, asked.id));
                let none = InterestOptions::default();
                let end = message::interest(asked.id, InterestMode::Final, none, None);
                message::send(face, &end, actions);
            }
            self.forget_unwanted(face, &removed.what, actions);
        }
    }

    /// Forgets what a gateway declared under an interest that ended, as far as no other covers it: it will not say when
    /// these end.
    fn forget_unwanted(&mut self, face: FaceId, ended: &WantKey, actions: &mut Vec<Action>) {
        for kind in crate::table::announce::kinds(ended.options) {
            let entities = self.entities(kind);
            let mut unwanted = HashSet::new();
            let mut check = |entity| {
                let sources = entities.sources(entity);
                if sources.iter().any(|source| source.slot == face.index)
                    && let Some(key) = entities.key(entity)
                    && !self.is_wanted(kind, &key)
                {
                    unwanted.insert(entity);
                }
            };
            match &ended.key {
                Some(key) => entities.tree.matches(key, &mut check),
                None => entities.tree.for_each(&mut check),
            }
            if unwanted.is_empty() {
                continue;
            }
            let Some(gateway) = self.face_mut(face) else {
                return;
            };
            let mut gone = Vec::new();
            gateway.declared.of_mut(kind).retain(|entity| {
                let keep = !unwanted.contains(&entity);
                if !keep {
                    gone.push(entity);
                }
                keep
            });
            gateway.orphans.of_mut(kind).retain(|entity| {
                let keep = !unwanted.contains(entity);
                if !keep {
                    gone.push(*entity);
                }
                keep
            });
            gone.sort_unstable();
            for index in gone {
                self.release_entity(face, EntityRef { kind, index }, actions);
            }
        }
    }

    fn ask(&mut self, slot: u32, want: u32, actions: &mut Vec<Action>) {
        let Some(WantKey { mode, options, key }) = self.wants.get(want).map(|w| w.what.clone())
        else {
            return;
        };
        let sent = self.send_interest(slot, mode, options, key.as_ref(), actions);
        let Some((_, id)) = sent else {
            return;
        };
        if let Some(gateway) = self.faces.get_mut(slot) {
            let finalised = false;
            gateway.asked.insert(want, Asked { id, finalised });
            gateway.asked_by_id.insert(id, want);
        }
    }

    fn send_interest(
        &mut self,
        slot: u32,
        mode: InterestMode,
        options: InterestOptions,
        key: Option<&Arc<str>>,
        actions: &mut Vec<Action>,
    ) -> Option<(FaceId, u32)> {
        let spelling = key.map(|key| (self.spell(slot, key, actions), key));
        let gateway = self.faces.get_mut(slot)?;
        let (face, id) = (gateway.id, gateway.next_interest_id());
        let expr = spelling.map(|(spelling, key)| spelling.wire_expr(key));
        message::send(face, &message::interest(id, mode, options, expr), actions);
        self.unanswered.insert((face, id), None);
        Some((face, id))
    }

    /// Whether a gateway still has to answer.
    fn is_waited_for(&self, want: u32) -> bool {
        self.gateways.iter().any(|slot| {
            let gateway = self.faces.get(*slot);
            let asked = gateway.and_then(|gateway| gateway.asked.get(&want));
            asked.is_some_and(|asked| !asked.finalised)
        })
    }

    /// Ends the answers to served nodes that waited for the gateways', if none is left to wait for.
    fn answer_waiting(&mut self, want: u32, actions: &mut Vec<Action>) {
        if self.is_waited_for(want) {
            return;
        }
        let Some(found) = self.wants.get(want) else {
            return;
        };
        let mut users: Vec<InterestRef> = found.served.iter().copied().collect();
        users.sort_unstable();
        for user in users {
            let Some(face) = self.faces.get_mut(user.slot) else {
                continue;
            };
            if let Some(kept) = face.interests.get_mut(&user.id)
                && std::mem::take(&mut kept.unanswered)
                && !kept.answering
            {
                message::declare(face.id, Some(user.id), Declaration::Final, actions);
            }
        }
    }

    /// A gateway has declared to a served node all tokens it has; the last one to do so ends the answer.
    fn end_current(&mut self, query: (FaceId, u32), actions: &mut Vec<Action>) {
        let (asker, id) = query;
        let open = self.relays.values().any(|other| *other == query);
        match self.relation(asker) {
            Some(Relation::Served) if !open => {
                message::declare(asker, Some(id), Declaration::Final, actions);
            }
            Some(Relation::Local) => self.end_if_delivered(id, actions),
            _ => {}
        }
    }
}
