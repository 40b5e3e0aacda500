// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publications on their way through a network, link by link, while it changes.

use zonda_codec::key_expr::intersects;
use zonda_router::table::{FaceId, Route};

use crate::link::Message;
use crate::node::key_expr;
use crate::truth;
use crate::world::World;

/// What somebody published.
pub struct Publication {
    pub key: &'static str,
    /// Who got it: node and subscriber, as often as it came.
    pub delivered: Vec<(usize, u32)>,
    /// Who had subscribed when it was published.
    pub expected: Vec<(usize, u32)>,
    /// Over how many links it went.
    pub carried: usize,
}

impl World {
    /// The session of a node publishes.
    pub fn publish(&mut self, node: usize, key: &'static str) {
        let subscribed = (self.nodes.iter().enumerate()).flat_map(|(at, node)| {
            let subscribers = node.subscribers.iter();
            let matching = subscribers.filter(|(_, subscribed)| intersects(subscribed, key));
            matching.map(move |(id, _)| (at, *id))
        });
        let number = self.published.len();
        self.published.push(Publication {
            key,
            delivered: Vec::new(),
            expected: subscribed.collect(),
            carried: 0,
        });
        let found = &self.nodes[node];
        let route = found.table.route(found.local, &key_expr(key), None);
        self.follow(node, route, number);
    }

    /// One came to a node.
    pub fn carry(&mut self, node: usize, (face, node_id): (FaceId, u16), number: usize) {
        let key = key_expr(self.published[number].key).into_owned();
        let table = &mut self.nodes[node].table;
        if table.source_of(face, node_id).is_some() {
            let route = truth::route_from(table, (face, node_id), &key);
            self.follow(node, route, number);
        }
    }

    fn follow(&mut self, node: usize, route: Route, number: usize) {
        let publication = &mut self.published[number];
        let delivered = route.local.iter().map(|id| (node, *id));
        publication.delivered.extend(delivered);
        publication.carried += route.hops.len();
        for hop in route.hops {
            let node_id = hop.node_id;
            self.post(node, hop.face, Message::Data { number, node_id });
        }
        self.plan_look(node);
    }
}
