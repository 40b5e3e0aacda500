// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness, as the node's own session has it: its tokens, its listeners to tokens, and its queries for those that
//! are alive.
//!
//! A token is alive on a key as long as this node knows anybody who declared it: the session itself, a node behind a live
//! link, or one that a gateway declared. So a link that is lost takes what was known by it along, and a link that comes
//! back brings it back. A listener hears of the first declaration of a key and of the end of the last one.
//!
//! What is alive already when a listener begins or a query comes is delivered in slices, as a long list would keep everybody else
//! waiting. Between two of them the table may change; together with the changes that are delivered the result is exact.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, WhatAmI};

use crate::table::{
    entity::Declared,
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    key_tree::{pattern::Pattern, steps::Steps},
    kind::Kind,
    notice::Notice,
    policy::Relation,
    token_listeners::{LivelinessQuery, TokenListener, notify, token},
    wants::WantKey,
};

/// How long a query waits for peers to tell what they had when they were connected.
const PEERS_LIMIT: Duration = Duration::from_secs(1);

/// Steps in the key tree to find what is alive. With more to look at, tokens are looked at one after another.
const SLICE_STEPS: usize = 20_000;

/// How many of them in a slice.
const SLICE_LOOKS: usize = 10_000;

impl ForwardingTable {
    /// The session declares a liveliness token. `id` is the session's, unique among its live tokens; a live one with the
    /// same id ends. A key longer than 65535 bytes is ignored.
    pub fn local_token(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        if let Some(entity) = self.entity_of(face, Kind::Token, id) {
            if self.entities(Kind::Token).has_key(entity, key.as_str()) {
                return;
            }
            self.remove_entity(face, Kind::Token, id, actions);
        }
        self.add_token(face, id, key.clone().into_owned(), None, actions);
    }

    /// The end of a token of the session. Unknown ids are ignored.
    pub fn undeclare_local_token(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        if self.is_local(face) && self.entity_of(face, Kind::Token, id).is_some() {
            self.remove_entity(face, Kind::Token, id, actions);
        }
    }

    /// The session listens to tokens on keys that intersect `key`; with `history` it hears first of those that are
    /// alive. `id` is the session's, unique among its listeners of all kinds.
    ///
    /// If there is much to tell, this only begins: [`deliver_on`](Self::deliver_on) goes on with it.
    pub fn local_token_listener(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        history: bool,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        self.undeclare_local_token_listener(face, id, actions);
        let key: Arc<str> = Arc::from(key.clone());
        let want = (self.topology.role() != WhatAmI::Router).then(|| {
            let wanted = WantKey::lasting(Kind::Token, key.clone());
            self.add_own_want(wanted, actions)
        });
        // Gateways are asked what is alive in any case, to know who it is that ends some day.
        let quiet = match want {
            Some(want) if !history => self.open_answers(want),
            _ => Vec::new(),
        };
        let rest = match history {
            true => self.begin_delivery(id, &key, actions),
            false => None,
        };
        self.token_listeners.tree.insert(&key, id);
        let listener = TokenListener {
            face,
            key,
            want,
            quiet,
            rest,
        };
        self.token_listeners.by_id.insert(id, listener);
    }

    /// The end of a listener. Unknown ids are ignored.
    pub fn undeclare_local_token_listener(
        &mut self,
        face: FaceId,
        id: u32,
        actions: &mut Vec<Action>,
    ) {
        let listeners = &mut self.token_listeners;
        if listeners
            .by_id
            .get(&id)
            .is_none_or(|known| known.face != face)
        {
            return;
        }
        let Some(ended) = listeners.by_id.remove(&id) else {
            return;
        };
        listeners.tree.remove(&ended.key, id);
        if let Some(want) = ended.want {
            self.release_own_want(want, actions);
        }
    }

    /// The session asks for the tokens that are alive on keys that intersect `key`: each key is delivered once, then the end.
    /// Gateways are asked; a client without any waits for one. A link that ends while its answer is under way ends the
    /// query, but that of a client, which asks again when it has another. Peers are waited for, up to a second, until
    /// they have declared what they had when they were connected.
    ///
    /// If there is much to tell, this only begins: [`deliver_on`](Self::deliver_on) goes on with it.
    pub fn local_liveliness_query(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        let key: Arc<str> = Arc::from(key.clone());
        let peers = self.topology.north().iter().filter_map(|slot| {
            let peer = self.topology.at(*slot)?;
            (peer.relation == Relation::PeerToPeer && !peer.final_zero).then_some(peer.id)
        });
        let query = LivelinessQuery {
            face,
            key: key.clone(),
            delivered: HashSet::new(),
            rest: None,
            held: self.topology.is_cut_off(),
            peers: peers.collect(),
            peers_until: None,
        };
        self.token_listeners.queries.insert(id, query);
        self.ask_current(face, id, Some(key.clone()), actions);
        let rest = self.begin_delivery(id, &key, actions);
        if let Some(query) = self.token_listeners.queries.get_mut(&id) {
            query.rest = rest;
        }
        self.end_if_delivered(id, actions);
    }

    /// Ends a query that is still open, as its time is over or nobody wants the answer; the asker hears the end.
    /// What gateways still answer is ignored.
    pub fn end_liveliness_query(&mut self, id: u32, actions: &mut Vec<Action>) {
        if self.token_listeners.queries.remove(&id).is_some() {
            notify(id, Notice::End { complete: false }, actions);
        }
    }

    /// Goes on telling a listener, or the asker of a query, what was alive before; true if there is more.
    pub fn deliver_on(&mut self, id: u32, actions: &mut Vec<Action>) -> bool {
        let listeners = &self.token_listeners;
        let (key, from) = match (listeners.by_id.get(&id), listeners.queries.get(&id)) {
            (Some(listener), _) => (listener.key.clone(), listener.rest),
            (None, Some(query)) => (query.key.clone(), query.rest),
            (None, None) => return false,
        };
        let Some(from) = from else {
            return false;
        };
        let pattern = Pattern::new(&key);
        let end = self.entities(Kind::Token).places();
        let (mut at, mut looks, mut tells) =
            (from, SLICE_LOOKS, self.limits.answer_slice_max.max(1));
        let mut text = String::new();
        while at < end && looks > 0 && tells > 0 {
            let exists = self.entities(Kind::Token).write_key(at, &mut text);
            at += 1;
            looks = looks.saturating_sub(1 + text.len() * pattern.words() / 64);
            let is_alive = exists && !self.entities(Kind::Token).sources(at - 1).is_empty();
            if is_alive && pattern.meets(&text) {
                tells -= 1;
                self.deliver_alive(id, &text, actions);
            }
        }
        let rest = (at < end).then_some(at);
        if let Some(listener) = self.token_listeners.by_id.get_mut(&id) {
            listener.rest = rest;
        } else if let Some(query) = self.token_listeners.queries.get_mut(&id) {
            query.rest = rest;
            self.end_if_delivered(id, actions);
        }
        rest.is_some()
    }

    /// Records a token. `answered` is the gateway that declared it in answer to an interest, so that it was alive before.
    pub(super) fn add_token(
        &mut self,
        face: FaceId,
        id: u32,
        key: KeyExpr<'_>,
        answered: Option<FaceId>,
        actions: &mut Vec<Action>,
    ) {
        let text: Box<str> = key.as_str().into();
        let was_alive = self.alive(&text).is_some();
        self.add_entity(face, Declared::plain(Kind::Token, id), key, actions);
        if let Some(entity) = self.alive(&text).filter(|_| !was_alive) {
            self.token_came(&text, entity, answered, actions);
        }
    }

    /// A token went: tells those who listen. It is still in the tree.
    pub(super) fn token_gone(&self, entity: u32, actions: &mut Vec<Action>) {
        let listeners = &self.token_listeners;
        if listeners.tree.is_empty() {
            return;
        }
        if let Some(key) = self.entities(Kind::Token).key(entity) {
            let hears = |listener: &TokenListener| listener.is_past(entity);
            listeners.notify(&key, false, hears, actions);
        }
    }

    /// Whether anybody of the session hears of tokens.
    pub(super) fn has_token_listeners(&self) -> bool {
        let listeners = &self.token_listeners;
        !listeners.tree.is_empty() || !listeners.queries.is_empty()
    }

    /// A gateway's answer to a query of the session.
    pub(super) fn answer_query(
        &mut self,
        gateway: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        let limit = self.limits.tokens_max;
        let Some(query) = self.token_listeners.queries.get(&id) else {
            return;
        };
        if query.delivered.len() >= limit {
            if let Some(gateway) = self.face_mut(gateway) {
                gateway.counters.over_limit += 1;
            }
            return;
        }
        self.deliver_alive(id, key.as_str(), actions);
    }

    /// Ends a query if there is nobody left to wait for.
    pub(super) fn end_if_delivered(&mut self, id: u32, actions: &mut Vec<Action>) {
        let Some(query) = self.token_listeners.queries.get(&id) else {
            return;
        };
        let asker = (query.face, id);
        let waits = query.held || query.rest.is_some() || !query.peers.is_empty();
        if !waits && !self.wants.is_relayed(asker) {
            self.token_listeners.queries.remove(&id);
            notify(id, Notice::End { complete: true }, actions);
        }
    }

    /// Notes that queries of a client wait for another gateway, as the last one is gone.
    pub(super) fn hold_queries(&mut self, unanswered: &[(FaceId, u32)]) {
        if !self.topology.is_cut_off() {
            return;
        }
        for (face, id) in unanswered {
            let query = self.token_listeners.queries.get_mut(id);
            if let Some(query) = query.filter(|query| query.face == *face) {
                query.held = true;
            }
        }
    }

    /// Asks a new gateway what waited for one.
    pub(super) fn ask_held_queries(&mut self, actions: &mut Vec<Action>) {
        let mut held = Vec::new();
        for (id, query) in &mut self.token_listeners.queries {
            if std::mem::take(&mut query.held) {
                held.push((query.face, *id, query.key.clone()));
            }
        }
        for (face, id, key) in held {
            self.ask_current(face, id, Some(key), actions);
        }
    }

    /// A peer has declared what it had, or is gone: queries need not wait for it.
    pub(super) fn stop_waiting_for(&mut self, peer: FaceId, actions: &mut Vec<Action>) {
        self.release_queries(|query| query.peers.retain(|other| *other != peer), actions);
    }

    /// Ends the wait for peers where it took long enough.
    pub(super) fn expire_liveliness_queries(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let expire = |query: &mut LivelinessQuery| {
            if !query.peers.is_empty() && *query.peers_until.get_or_insert(now + PEERS_LIMIT) <= now
            {
                query.peers.clear();
            }
        };
        self.release_queries(expire, actions);
    }

    /// When the wait for peers ends, query by query.
    pub(super) fn token_query_deadlines(&self) -> impl Iterator<Item = Option<Instant>> {
        let queries = self.token_listeners.queries.values();
        let waiting = queries.filter(|query| !query.peers.is_empty());
        waiting.map(|query| query.peers_until)
    }

    /// A gateway has answered an interest, or all of them as it is gone: what comes from now on is new.
    pub(super) fn end_quiet(&mut self, gateway: FaceId, interest: Option<u32>) {
        for listener in self.token_listeners.by_id.values_mut() {
            listener.quiet.retain(|(face, id)| {
                *face != gateway || interest.is_some_and(|interest| interest != *id)
            });
        }
    }

    /// Forgets the listeners and queries of a session that is gone.
    pub(super) fn forget_token_listeners(&mut self, gone: FaceId, actions: &mut Vec<Action>) {
        let listeners = &self.token_listeners;
        let theirs = listeners
            .by_id
            .iter()
            .filter(|(_, known)| known.face == gone);
        let mut ids: Vec<u32> = theirs.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        for id in ids {
            notify(id, Notice::End { complete: true }, actions);
            self.undeclare_local_token_listener(gone, id, actions);
        }
        let queries = self.token_listeners.queries.iter();
        let theirs = queries.filter(|(_, query)| query.face == gone);
        for id in theirs.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end_liveliness_query(id, actions);
        }
    }

    /// The token on exactly this key, if one is alive.
    pub(super) fn alive(&self, key: &str) -> Option<u32> {
        let tokens = self.entities(Kind::Token);
        let entity = tokens.on(key);
        entity.filter(|entity| !tokens.sources(*entity).is_empty())
    }

    /// A token came: tells those who listen or have asked.
    fn token_came(
        &mut self,
        key: &str,
        entity: u32,
        answered: Option<FaceId>,
        actions: &mut Vec<Action>,
    ) {
        let is_old = |listener: &TokenListener| {
            let mut quiet = listener.quiet.iter();
            answered.is_some_and(|gateway| quiet.any(|(face, _)| *face == gateway))
        };
        let hears = |listener: &TokenListener| listener.is_past(entity) && !is_old(listener);
        self.token_listeners.notify(key, true, hears, actions);
        let queries = self.token_listeners.queries.iter();
        let concerned =
            queries.filter(|(_, query)| zonda_codec::key_expr::intersects(&query.key, key));
        for id in concerned.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.deliver_alive(id, key, actions);
        }
    }

    /// Tells what is alive on `key`; gives back where to go on if it is much.
    fn begin_delivery(&mut self, id: u32, key: &str, actions: &mut Vec<Action>) -> Option<u32> {
        let entities = self.entities(Kind::Token);
        let mut these = Vec::new();
        let tree = entities.tree();
        if !tree.matches_within(key, &Steps::new(SLICE_STEPS), &mut |entity| {
            these.push(entity)
        }) {
            return Some(0);
        }
        these.sort_unstable();
        these.retain(|entity| !entities.sources(*entity).is_empty());
        for entity in these {
            if let Some(key) = self.entities(Kind::Token).key(entity) {
                self.deliver_alive(id, &key, actions);
            }
        }
        None
    }

    /// Tells a listener that a token is alive, or the asker of a query, if it does not know yet.
    fn deliver_alive(&mut self, id: u32, key: &str, actions: &mut Vec<Action>) {
        if let Some(query) = self.token_listeners.queries.get_mut(&id)
            && !query.delivered.insert(key.into())
        {
            return;
        }
        if let Some(notice) = token(key, true) {
            notify(id, notice, actions);
        }
    }

    fn release_queries(
        &mut self,
        mut release: impl FnMut(&mut LivelinessQuery),
        actions: &mut Vec<Action>,
    ) {
        let mut waiting = Vec::new();
        for (id, query) in &mut self.token_listeners.queries {
            if !query.peers.is_empty() {
                release(query);
                waiting.push(*id);
            }
        }
        for id in waiting {
            self.end_if_delivered(id, actions);
        }
    }
}
