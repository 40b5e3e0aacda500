// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations of the nodes, and the paths of their messages.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use zonda_codec::key_expr::intersects;
use zonda_codec::{KeyExpr, NodeId, WhatAmI};
use zonda_table::{FaceId, Kind, Own, Route};

use crate::outcome::Delivery;
use crate::plan::Load;
use crate::topology::Graph;
use crate::world::{Node, World};

/// Bound on the hops of a message, longer than any path.
const HOPS_MAX: usize = 2000;

/// Maximum of publishers times nodes whose messages are followed; with more publishers, only every
/// second, third, .. is.
const FOLLOWED_MAX: usize = 4_000_000;

/// A declaration on a key of a node.
struct Declared {
    node: usize,
    id: u32,
    key: KeyExpr<'static>,
}

/// The declarations of all nodes.
pub(crate) struct Declarations {
    subscribers: Vec<Declared>,
    publishers: Vec<Declared>,
    messages: u64,
}

/// Makes the nodes declare the load.
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
        declare: impl Fn(&mut Node, u32, &KeyExpr<'static>, &mut Vec<zonda_table::Action>),
    ) -> Vec<Declared> {
        let mut declared = Vec::new();
        for key in keys {
            let text = key.replace("{node}", self.name);
            // The plan was checked with another name; with this one the text may be no key.
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

/// Follows each publication to all its subscribers.
pub(crate) fn publish(
    world: &mut World,
    declared: &Declarations,
    progress: &mut dyn FnMut(usize, usize),
) -> Delivery {
    // With many publishers, only every `step`th is followed.
    let all = declared.publishers.len();
    let step = (all * world.nodes.len()).div_ceil(FOLLOWED_MAX).max(1);
    let mut delivery = Delivery {
        of_publishers: all,
        ..Delivery::default()
    };
    // Publishers with the same subscribers share a cache of paths.
    let mut groups: BTreeMap<Vec<usize>, Vec<&Declared>> = BTreeMap::new();
    for publisher in declared.publishers.iter().step_by(step) {
        let wanted = declared.wanting(&publisher.key);
        groups.entry(wanted).or_default().push(publisher);
    }
    for (wanted, publishers) in groups {
        let mut ways = HashMap::new();
        for publisher in publishers {
            progress(delivery.publishers * step, all);
            let mut walk = Walk {
                world: &mut *world,
                ways: &mut ways,
                key: &publisher.key,
                messages: declared.messages,
                came: HashMap::new(),
                hops: 0,
            };
            walk.begin(publisher);
            let (came, hops) = (walk.came, walk.hops);
            // Each subscriber should have got the message once.
            for subscriber in wanted.iter().map(|at| &declared.subscribers[*at]) {
                let times = came.get(&(subscriber.node, subscriber.id)).copied();
                delivery.missing += declared.messages * u64::from(times.is_none());
                delivery.repeated += declared.messages * times.unwrap_or(1).saturating_sub(1);
            }
            debug_assert!(came.len() <= wanted.len());
            delivery.publishers += 1;
            delivery.published += declared.messages;
            delivery.delivered += declared.messages * came.values().sum::<u64>();
            delivery.hops += declared.messages * hops;
        }
    }
    delivery
}

impl Declarations {
    /// Returns the indices of the subscribers whose keys intersect a key.
    fn wanting(&self, key: &str) -> Vec<usize> {
        let all = self.subscribers.iter().enumerate();
        let meeting = all.filter(|(_, subscriber)| intersects(key, subscriber.key.as_str()));
        meeting.map(|(at, _)| at).collect()
    }
}

/// The position of a message: a node, and the face and node id by which it arrived.
type Place = (usize, FaceId, NodeId);

/// The next hops of a message from a position.
#[derive(Default)]
struct Way {
    /// The local subscribers.
    local: Vec<u32>,
    /// The links that it takes, and its positions behind them.
    on: Vec<(usize, Place)>,
}

/// A message on its path.
struct Walk<'a> {
    world: &'a mut World,
    /// Cache of the next hops of earlier messages with the same subscribers, on which the routes of
    /// routers and clients depend alone. A peer's routes also depend on its interests, so they are
    /// not cached.
    ways: &'a mut HashMap<Place, Rc<Way>>,
    key: &'a KeyExpr<'static>,
    /// Number of messages with this path.
    messages: u64,
    /// Number of arrivals by node and subscriber.
    came: HashMap<(usize, u32), u64>,
    hops: u64,
}

impl Walk<'_> {
    fn begin(&mut self, publisher: &Declared) {
        let node = &self.world.nodes[publisher.node];
        let route = node.table.route(node.local, self.key, Some(publisher.id));
        let way = self.resolve(publisher.node, route);
        self.take(publisher.node, &way, 1);
    }

    fn take(&mut self, node: usize, way: &Way, hops: usize) {
        for id in &way.local {
            *self.came.entry((node, *id)).or_default() += 1;
        }
        for &(link, place) in &way.on {
            self.world.links[link].counts.data += self.messages;
            self.hops += 1;
            if hops < HOPS_MAX {
                let way = self.way(place);
                self.take(place.0, &way, hops + 1);
            }
        }
    }

    fn way(&mut self, place: Place) -> Rc<Way> {
        if let Some(way) = self.ways.get(&place) {
            return Rc::clone(way);
        }
        let (at, from, node_id) = place;
        let node = &self.world.nodes[at];
        let route = node.table.route_from(from, node_id, self.key);
        // No route: the node id names an unknown router.
        let way = route.map_or_else(Way::default, |route| self.resolve(at, route));
        let way = Rc::new(way);
        if node.role != WhatAmI::Peer {
            self.ways.insert(place, Rc::clone(&way));
        }
        way
    }

    fn resolve(&self, node: usize, route: Route) -> Way {
        let on = route.hops.iter().filter_map(|hop| {
            let (link, side) = self.world.link_of(node, hop.face)?;
            let other = &self.world.links[link].sides[1 - side];
            Some((link, (other.node, other.face?, hop.node_id)))
        });
        Way {
            on: on.collect(),
            local: route.local,
        }
    }
}
