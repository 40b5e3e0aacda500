// SPDX-License-Identifier: MIT OR Apache-2.0

//! A node: its table, and what its session declared.

use std::collections::BTreeMap;

use zonda_codec::{KeyExpr, WhatAmI, ZenohId};
use zonda_router::forwarding::{Action, FaceId, FaceInfo, FaceKind, ForwardingTable};

pub struct Node {
    pub table: ForwardingTable,
    pub role: WhatAmI,
    pub zid: ZenohId,
    pub local: FaceId,
    /// The session's subscribers and publishers, by id.
    pub subscribers: BTreeMap<u32, &'static str>,
    pub publishers: BTreeMap<u32, &'static str>,
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
        Node {
            table,
            role,
            zid,
            local,
            subscribers: BTreeMap::new(),
            publishers: BTreeMap::new(),
        }
    }

    pub fn subscribe(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.subscribers.insert(id, key);
        self.table
            .local_subscriber(self.local, id, &key_expr(key), actions);
    }

    pub fn unsubscribe(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.subscribers.remove(&id);
        self.table
            .undeclare_local_subscriber(self.local, id, actions);
    }

    pub fn publish(&mut self, id: u32, key: &'static str, actions: &mut Vec<Action>) {
        self.publishers.insert(id, key);
        self.table
            .local_publisher(self.local, id, &key_expr(key), actions);
    }

    pub fn unpublish(&mut self, id: u32, actions: &mut Vec<Action>) {
        self.publishers.remove(&id);
        self.table
            .undeclare_local_publisher(self.local, id, actions);
    }
}

pub fn key_expr(key: &str) -> KeyExpr<'_> {
    KeyExpr::new(key).expect("a key expression")
}
