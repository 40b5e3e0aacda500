// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the nodes declare, and the ways of their messages.

use std::collections::HashMap;

use zonda_codec::KeyExpr;
use zonda_codec::key_expr::intersects;
use zonda_router::table::{FaceId, ForwardingTable, Kind, Own, Route};

use crate::outcome::Delivery;
use crate::plan::Load;
use crate::topology::Graph;
use crate::world::{Node, World};

/// More hops than any path has.
const HOPS_MAX: usize = 2000;

/// Publishers times nodes whose messages are followed; of more publishers every second, third, .. is.
const FOLLOWED_MAX: usize = 4_000_000;

/// A declaration on a key of a node.
struct Declared {
    node: usize,
    id: u32,
    key: KeyExpr<'static>,
}

/// What was declared.
pub(crate) struct Declarations {
    subscribers: Vec<Declared>,
    publishers: Vec<Declared>,
    messages: u64,
}

/// Has the nodes declare what the load says.
pub(crate) fn declare(world: &mut World, graph: &Graph, load: &Load) -> Declarations {
    let mut all = Declarations {
        subscribers: Vec::new(),
        publishers: Vec::new(),
        messages: load.messages,
    };
    for (node, name) in graph.names.iter().enumerate() {
        if graph.roles[node] == load.on.role() {
            let mut declaring = Declaring {
                world: &mut *world,
                node,
                name,
                id: 0,
            };
            declaring.own(&load.answer, Own::queryable(false));
            declaring.own(&load.live, Own::TOKEN);
            all.subscribers
                .extend(declaring.own(&load.subscribe, Own::SUBSCRIBER));
            all.publishers.extend(declaring.publishers(&load.publish));
        }
    }
    all
}

/// A node that declares.
struct Declaring<'a> {
    world: &'a mut World,
    node: usize,
    name: &'a str,
    id: u32,
}

impl Declaring<'_> {
    fn each(
        &mut self,
        keys: &[String],
        declare: impl Fn(&mut Node, u32, &KeyExpr<'static>, &mut Vec<zonda_router::table::Action>),
    ) -> Vec<Declared> {
        let mut declared = Vec::new();
        for key in keys {
            let text = key.replace("{node}", self.name);
            // The plan was checked with a name of its own; this one may not be part of a key.
            let Ok(key) = KeyExpr::new(text) else {
                continue;
            };
            self.id += 1;
            let (node, id) = (self.node, self.id);
            self.world
                .act(node, |node, actions| declare(node, id, &key, actions));
            declared.push(Declared { node, id, key });
        }
        declared
    }

    fn own(&mut self, keys: &[String], what: Own) -> Vec<Declared> {
        self.each(keys, |node, id, key, actions| {
            let own = node.local.own(id);
            node.table.local_declare(own, what, key, actions);
        })
    }

    fn publishers(&mut self, keys: &[String]) -> Vec<Declared> {
        self.each(keys, |node, id, key, actions| {
            let own = node.local.own(id);
            node.table.local_sender(own, Kind::Subscriber, key, actions);
        })
    }
}

/// Follows what is published to all who get it.
pub(crate) fn publish(
    world: &mut World,
    declared: &Declarations,
    progress: &mut dyn FnMut(usize, usize),
) -> Delivery {
    let all = declared.publishers.len();
    let step = (all * world.nodes.len()).div_ceil(FOLLOWED_MAX).max(1);
    let mut delivery = Delivery {
        of_publishers: all,
        ..Delivery::default()
    };
    for (at, publisher) in declared.publishers.iter().enumerate().step_by(step) {
        progress(at, all);
        let mut walk = Walk {
            world: &mut *world,
            key: &publisher.key,
            messages: declared.messages,
            came: HashMap::new(),
            hops: 0,
        };
        let local = walk.world.nodes[publisher.node].local;
        walk.go((publisher.node, local, 0), Some(publisher.id), 0);
        let (came, hops) = (walk.came, walk.hops);
        let text = publisher.key.as_str();
        let mut wanted = 0;
        for subscriber in &declared.subscribers {
            if intersects(text, subscriber.key.as_str()) {
                wanted += 1;
                let times = came.get(&(subscriber.node, subscriber.id)).copied();
                delivery.missing += declared.messages * u64::from(times.is_none());
                delivery.repeated += declared.messages * times.unwrap_or(1).saturating_sub(1);
            }
        }
        debug_assert!(came.len() <= wanted);
        delivery.publishers += 1;
        delivery.published += declared.messages;
        delivery.delivered += declared.messages * came.values().sum::<u64>();
        delivery.hops += declared.messages * hops;
    }
    delivery
}

/// A message on its way.
struct Walk<'a> {
    world: &'a mut World,
    key: &'a KeyExpr<'static>,
    /// How many go the same way.
    messages: u64,
    /// How often it came, by node and subscriber.
    came: HashMap<(usize, u32), u64>,
    hops: u64,
}

impl Walk<'_> {
    fn go(&mut self, at: (usize, FaceId, u16), publisher: Option<u32>, hops: usize) {
        let (node, from, node_id) = at;
        let table = &mut self.world.nodes[node].table;
        let route = match hops {
            0 => Some(table.route(from, self.key, publisher)),
            _ => route_from(table, from, node_id, self.key),
        };
        let Some(route) = route.filter(|_| hops < HOPS_MAX) else {
            return;
        };
        for id in &route.local {
            *self.came.entry((node, *id)).or_default() += 1;
        }
        for hop in route.hops {
            let Some((link, side)) = self.world.link_of(node, hop.face) else {
                continue;
            };
            let found = &mut self.world.links[link];
            found.counts.data += self.messages;
            self.hops += 1;
            let other = &found.sides[1 - side];
            if let (next, Some(face)) = (other.node, other.face) {
                self.go((next, face, hop.node_id), None, hops + 1);
            }
        }
    }
}

/// Where a message of a neighbour goes; `None` if it names a router that is not known.
fn route_from(
    table: &mut ForwardingTable,
    from: FaceId,
    node_id: u16,
    key: &KeyExpr<'static>,
) -> Option<Route> {
    let mut search = table.begin_route_from(from, node_id, key.clone())?;
    loop {
        if let Some(route) = table.search_route(&mut search) {
            return Some(route);
        }
    }
}
