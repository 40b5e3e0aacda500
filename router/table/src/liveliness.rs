// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness for the node's own session: its listeners to tokens, and its queries for tokens that
//! are alive.
//!
//! A token is alive on a key as long as this node has a declaration of it: by the session itself,
//! by a node behind a live link, or by a gateway. The loss of a link ends the tokens known by it,
//! and its return declares them again. A listener is notified of the first declaration of a key and
//! of the end of the last one.
//!
//! Tokens that are alive already when a listener or a query begins are delivered in slices, as a
//! long list would hold the table's lock too long. The table may change between two slices; with
//! the changes that are delivered the result is exact.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::KeyExpr;

use crate::{
    entity::Change,
    face_id::{Action, FaceId, OwnRef},
    forwarding::ForwardingTable,
    key_tree::pattern::Pattern,
    kind::Kind,
    listeners::{Listener, LivelinessQuery, Topic, notify},
    notice::Notice,
    policy::Relation,
    search::{Listing, SLICE_LOOKS},
    upstream_interests::{UpstreamInterestKey, UpstreamInterestUser},
};

/// Time that a query waits for peers to declare what they had when they were connected.
const PEERS_LIMIT: Duration = Duration::from_secs(1);

impl ForwardingTable {
    /// Declares a listener of the session to tokens on keys that intersect `key`; with `history`,
    /// those that are alive are delivered first. The id is unique among the session's listeners of
    /// all kinds.
    ///
    /// A long delivery only begins here: [`deliver_on`](Self::deliver_on) continues it.
    pub fn local_token_listener(
        &mut self,
        own: OwnRef,
        key: &KeyExpr<'_>,
        history: bool,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(own.face, key) {
            return;
        }
        self.undeclare_local_listener(own, actions);
        let key: Arc<str> = Arc::from(key.clone());
        let user = UpstreamInterestUser::Listener(own);
        let what = UpstreamInterestKey::lasting(Kind::Token, Arc::clone(&key));
        self.ask_for(user, what, actions);
        // Gateways are asked for the tokens that are alive in any case, to know whose end to deliver.
        let quiet = match self.wants.of(user) {
            Some(want) if !history => self.open_answers(want),
            _ => Vec::new(),
        };
        self.add_listener(own, key, Topic::Tokens { quiet });
        if history {
            self.begin_delivery(own.id, actions);
        }
    }

    /// Queries the tokens that are alive on keys that intersect `key` for the session: each key is
    /// delivered once, then the end. Gateways are asked; a client without any waits for one. A link
    /// that ends while its answer is under way ends the query, except on a client, which asks its
    /// next gateway again. Peers are waited for, up to a second, until they have declared what they
    /// had when they were connected.
    ///
    /// A long delivery only begins here: [`deliver_on`](Self::deliver_on) continues it.
    pub fn local_liveliness_query(
        &mut self,
        own: OwnRef,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(own.face, key) {
            return;
        }
        let key: Arc<str> = Arc::from(key.clone());
        // Peers declare their tokens unasked; gateways need an interest.
        let peers = self.topology.north().iter().filter_map(|slot| {
            let peer = self.topology.at(*slot)?;
            (peer.relation == Relation::PeerToPeer && !peer.final_zero).then_some(peer.id)
        });
        let query = LivelinessQuery {
            delivered: HashSet::new(),
            held: self.topology.is_cut_off(),
            peers: peers.collect(),
            peers_until: None,
        };
        self.add_listener(own, Arc::clone(&key), Topic::Alive(query));
        // Gateways answer while this node delivers its own tokens.
        self.ask_current(own.face, own.id, Some(key), actions);
        self.begin_delivery(own.id, actions);
        self.end_if_delivered(own.id, actions);
    }

    pub(super) fn add_listener(&mut self, own: OwnRef, key: Arc<str>, topic: Topic) {
        let listener = Listener {
            face: own.face,
            key,
            topic,
            rest: None,
        };
        self.listeners.insert(own.id, listener);
    }

    /// Removes a listener of any kind. A query that is still open, after its timeout or its
    /// cancellation, is notified of its end; later answers of gateways are ignored.
    pub fn undeclare_local_listener(&mut self, own: OwnRef, actions: &mut Vec<Action>) {
        let OwnRef { face, id } = own;
        let known = self.listeners.get(id);
        if known.is_none_or(|known| known.face != face) {
            return;
        }
        let ended = self.listeners.remove(id);
        self.stop_asking(UpstreamInterestUser::Listener(own), actions);
        if ended.is_some_and(|ended| matches!(ended.topic, Topic::Alive(_))) {
            notify(id, Notice::End { complete: false }, actions);
        }
    }

    /// Ends the listeners that `is` returns true for, as no more notices follow.
    pub(super) fn end_listeners(
        &mut self,
        is: impl Fn(&Listener) -> bool,
        actions: &mut Vec<Action>,
    ) {
        for id in self.listeners.ids(is) {
            if self.listeners.query(id).is_none() {
                notify(id, Notice::End { complete: true }, actions);
            }
            if let Some(face) = self.listeners.get(id).map(|listener| listener.face) {
                self.undeclare_local_listener(face.own(id), actions);
            }
        }
    }

    /// Continues the delivery of tokens that were alive before, to a listener or a query; true if
    /// more are left.
    pub fn deliver_on(&mut self, id: u32, actions: &mut Vec<Action>) -> bool {
        let Some(listener) = self.listeners.get(id) else {
            return false;
        };
        let (key, Some(from)) = (Arc::clone(&listener.key), listener.rest) else {
            return false;
        };
        let pattern = Pattern::new(&key);
        let (mut looks, mut listing) = (SLICE_LOOKS, Listing::from(from));
        for _ in 0..self.limits.answer_slice_max.max(1) {
            let entities = self.entities(Kind::Token);
            match entities.next_listed(&mut listing, Some(&pattern), &mut looks) {
                Some(entity) => self.deliver_alive(id, entity, actions),
                None => break,
            }
        }
        let rest = listing.next_number(self.entities(Kind::Token));
        if let Some(listener) = self.listeners.get_mut(id) {
            listener.rest = rest;
        }
        self.end_if_delivered(id, actions);
        rest.is_some()
    }

    /// Delivers the tokens that are alive already, or schedules the delivery if they are many.
    fn begin_delivery(&mut self, id: u32, actions: &mut Vec<Action>) {
        let Some(listener) = self.listeners.get_mut(id) else {
            return;
        };
        let (tokens, mut looks) = (self.entities.of(Kind::Token), SLICE_LOOKS);
        match tokens.list(Some(&listener.key), None, &mut looks) {
            Listing::From { number, .. } => listener.rest = Some(number),
            Listing::These(these) => {
                for (entity, _) in these.into_iter().rev() {
                    self.deliver_alive(id, entity, actions);
                }
            }
        }
    }

    /// Delivers a token to a listener if it is alive.
    fn deliver_alive(&mut self, id: u32, entity: u32, actions: &mut Vec<Action>) {
        let entities = self.entities(Kind::Token);
        if entities.sources(entity).is_empty() {
            return;
        }
        if let Some(key) = entities.key(entity) {
            self.deliver(id, &key, true, actions);
        }
    }

    /// Delivers the beginning or end of a token; to a query each key once.
    fn deliver(&mut self, id: u32, key: &str, alive: bool, actions: &mut Vec<Action>) {
        if let Some(query) = self.listeners.query_mut(id)
            && !query.delivered.insert(key.into())
        {
            return;
        }
        // The keys of tokens were validated when they were declared.
        if let Ok(key) = KeyExpr::new(key.to_owned()) {
            let key = key.into_cloneable();
            notify(id, Notice::Token { key, alive }, actions);
        }
    }

    /// Delivers the beginning or end of a token to listeners and queries. A token that has ended is
    /// still in the tree.
    pub(super) fn token_changed(&mut self, entity: u32, change: Change, actions: &mut Vec<Action>) {
        let alive = change.after > 0;
        if !self.listeners.has_any(Kind::Token) || alive == (change.before > 0) {
            return;
        }
        let Some(key) = self.entities(Kind::Token).key(entity) else {
            return;
        };
        let face = self.topology.at(change.slot).map(|face| face.id);
        let answered = face.filter(|_| change.is_answer);
        let hears = |listener: &Listener| listener.hears_of(entity, alive, answered);
        for id in self.listeners.on(Kind::Token, &key, hears) {
            self.deliver(id, &key, alive, actions);
        }
    }

    /// Delivers a gateway's answer to a query of the session.
    pub(super) fn answer_query(
        &mut self,
        gateway: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        let Some(query) = self.listeners.query(id) else {
            return;
        };
        if query.delivered.len() < self.limits.tokens_max {
            self.deliver(id, key.as_str(), true, actions);
        } else if let Some(gateway) = self.face_mut(gateway) {
            gateway.counters.over_limit += 1;
        }
    }

    /// Ends a query if it waits for no node any more.
    pub(super) fn end_if_delivered(&mut self, id: u32, actions: &mut Vec<Action>) {
        let (Some(listener), Some(query)) = (self.listeners.get(id), self.listeners.query(id))
        else {
            return;
        };
        let waits = query.held || listener.rest.is_some() || !query.peers.is_empty();
        if !waits && !self.wants.is_relayed((listener.face, id)) {
            self.listeners.remove(id);
            notify(id, Notice::End { complete: true }, actions);
        }
    }

    /// Records that queries of a client wait for another gateway, as the last one is gone.
    pub(super) fn hold_queries(&mut self, unanswered: &[(FaceId, u32)]) {
        if !self.topology.is_cut_off() {
            return;
        }
        for (face, id) in unanswered {
            if self.is_local(*face)
                && let Some(query) = self.listeners.query_mut(*id)
            {
                query.held = true;
            }
        }
    }

    /// Sends the queries that waited for a gateway to a new one.
    pub(super) fn ask_held_queries(&mut self, actions: &mut Vec<Action>) {
        for id in self.listeners.of_tokens() {
            let query = self.listeners.query_mut(id);
            if query.is_some_and(|query| std::mem::take(&mut query.held))
                && let Some(listener) = self.listeners.get(id)
            {
                let key = Some(Arc::clone(&listener.key));
                self.ask_current(listener.face, id, key, actions);
            }
        }
    }

    /// Ends the wait of queries for a peer that has declared what it had, or is gone.
    pub(super) fn stop_waiting_for(&mut self, peer: FaceId, actions: &mut Vec<Action>) {
        self.release_queries(|query| query.peers.retain(|other| *other != peer), actions);
    }

    /// Ends the wait for peers of queries whose limit has passed.
    pub(super) fn expire_liveliness_queries(&mut self, now: Instant, actions: &mut Vec<Action>) {
        let expire = |query: &mut LivelinessQuery| {
            if *query.peers_until.get_or_insert(now + PEERS_LIMIT) <= now {
                query.peers.clear();
            }
        };
        self.release_queries(expire, actions);
    }

    /// Returns the times at which waits for peers end, query by query.
    pub(super) fn token_query_deadlines(&self) -> impl Iterator<Item = Option<Instant>> {
        let ids = self.listeners.of_tokens().into_iter();
        let queries = ids.filter_map(|id| self.listeners.query(id));
        let waiting = queries.filter(|query| !query.peers.is_empty());
        waiting.map(|query| query.peers_until)
    }

    /// Removes some of the peers that queries wait for.
    fn release_queries(
        &mut self,
        mut release: impl FnMut(&mut LivelinessQuery),
        actions: &mut Vec<Action>,
    ) {
        for id in self.listeners.of_tokens() {
            if let Some(query) = self.listeners.query_mut(id)
                && !query.peers.is_empty()
            {
                release(query);
                self.end_if_delivered(id, actions);
            }
        }
    }

    /// Returns true if a token on exactly this key is alive.
    pub(super) fn is_alive(&self, key: &str) -> bool {
        let tokens = self.entities(Kind::Token);
        let entity = tokens.on(key);
        entity.is_some_and(|entity| !tokens.sources(entity).is_empty())
    }
}
