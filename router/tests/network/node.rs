// SPDX-License-Identifier: MIT OR Apache-2.0

//! A node: its table, and the declarations of its session.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use zonda_codec::{KeyExpr, WhatAmI, ZenohId};
use zonda_router::table::{
    Action, Counterpart, FaceId, FaceInfo, FaceKind, ForwardingTable, Gossip, GossipOptions, Kind,
    Locality, Notice, Own, OwnRef,
};

use crate::listening::Listener;
use crate::question::Question;

pub struct Node {
    pub table: ForwardingTable,
    /// Link states that a peer sends to its gateways.
    pub gossip: Option<Gossip>,
    pub role: WhatAmI,
    pub zid: ZenohId,
    pub local: FaceId,
    /// The session's subscribers and publishers, by id.
    pub subscribers: BTreeMap<u32, &'static str>,
    pub publishers: BTreeMap<u32, &'static str>,
    pub queryables: BTreeMap<u32, &'static str>,
    pub tokens: BTreeMap<u32, &'static str>,
    /// Listeners to tokens and to matching, by id.
    pub listeners: BTreeMap<u32, Listener>,
    /// Queries of the session, by number.
    pub questions: BTreeMap<u32, Question>,
    /// Number of restarts.
    pub starts: u32,
    /// Time of its next clock event.
    pub look: Option<Instant>,
}

impl Node {
    pub fn new(number: u128, role: WhatAmI) -> Self {
        let zid = ZenohId::random_from(number);
        let mut table = ForwardingTable::new(zid, role);
        let info = FaceInfo {
            zid,
            whatami: role,
            kind: FaceKind::Local,
        };
        let local = table.add_face(info, &mut Vec::new());
        let is_peer = role == WhatAmI::Peer;
        let mut node = Node {
            table,
            gossip: is_peer.then(|| Gossip::new(zid, role, 1, GossipOptions::default())),
            role,
            zid,
            local,
            subscribers: BTreeMap::new(),
            publishers: BTreeMap::new(),
            queryables: BTreeMap::new(),
            tokens: BTreeMap::new(),
            listeners: BTreeMap::new(),
            questions: BTreeMap::new(),
            starts: 0,
            look: None,
        };
        node.begin_mesh();
        node
    }

    /// Starts the count of link-state changes, higher with each restart, as the clock does for real
    /// nodes.
    pub fn begin_mesh(&mut self) {
        let first_sn = u64::from(self.starts + 1) << 33;
        self.table.set_mesh(first_sn, HashMap::new());
    }

    pub fn subscribe(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.subscribers.insert(id, key);
        self.table
            .local_declare(self.local.own(id), Own::SUBSCRIBER, &key_expr(key), actions);
    }

    pub fn unsubscribe(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.subscribers.remove(&id);
        self.table
            .local_undeclare(self.local.own(id), Kind::Subscriber, actions);
    }

    /// Declares a publisher, with a matching listener of the same id.
    pub fn publish(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.publishers.insert(id, key);
        self.listeners.insert(id, Listener::to_matching(key));
        let expr = key_expr(key);
        self.table
            .local_sender(self.local.own(id), Kind::Subscriber, &expr, actions);
        let face = self.local;
        let audience = Counterpart::Subscribers.within(Locality::Any);
        self.table
            .local_matching(OwnRef { face, id }, id, &expr, audience, actions);
    }

    pub fn unpublish(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.publishers.remove(&id);
        self.table
            .undeclare_local_sender(self.local.own(id), actions);
        self.listeners.remove(&id);
    }

    pub fn answer(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.queryables.insert(id, key);
        self.table.local_declare(
            self.local.own(id),
            Own::queryable(false),
            &key_expr(key),
            actions,
        );
    }

    pub fn unanswer(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.queryables.remove(&id);
        self.table
            .local_undeclare(self.local.own(id), Kind::Queryable, actions);
    }

    pub fn live(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.tokens.insert(id, key);
        self.table
            .local_declare(self.local.own(id), Own::TOKEN, &key_expr(key), actions);
    }

    pub fn die(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.tokens.remove(&id);
        self.table
            .local_undeclare(self.local.own(id), Kind::Token, actions);
    }

    /// Declares a token listener with history.
    pub fn watch(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.listeners.insert(id, Listener::to_tokens(key));
        self.table
            .local_token_listener(self.local.own(id), &key_expr(key), true, actions);
        while self.table.deliver_on(id, actions) {}
    }

    /// Passes a notice to a listener of the session.
    pub fn told(&mut self, listener: u32, notice: &Notice) {
        if let Some(listener) = self.listeners.get_mut(&listener) {
            listener.told(notice);
        }
    }
}

pub fn key_expr(key: &str) -> KeyExpr<'_> {
    KeyExpr::new(key).expect("a key expression")
}
