// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publications that travel through a network hop by hop while it changes.

use std::time::Duration;

use zonda_codec::NodeId;
use zonda_codec::key_expr::intersects;
use zonda_router::table::{FaceId, Route};

use crate::link::Message;
use crate::node::key_expr;
use crate::world::World;
use crate::{ALL_LINKED, Plan, RING, Replay, seeds, truth};

const SEEDS: u64 = 100;

/// Number of publications for each change of the network.
const PUBLISHED: usize = 60;

/// A message published by a session.
pub struct Publication {
    pub key: &'static str,
    /// The nodes and subscribers that got it, once for each copy.
    pub delivered: Vec<(usize, u32)>,
    /// The nodes and subscribers that had subscribed when it was published.
    pub expected: Vec<(usize, u32)>,
    /// Number of links that it passed.
    pub carried: usize,
}

impl World {
    /// Publishes at the session of a node.
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

    /// Forwards a publication that arrived at a node.
    pub fn carry(&mut self, node: usize, (face, node_id): (FaceId, NodeId), number: usize) {
        let key = key_expr(self.published[number].key).into_owned();
        let table = &mut self.nodes[node].table;
        if table.source_of(face, node_id.router()).is_some() {
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

#[test]
fn publications_while_the_links_of_a_ring_drop() {
    flows(RING);
}

#[test]
fn publications_while_links_drop_where_all_are_linked() {
    flows(ALL_LINKED);
}

#[test]
fn no_publication_is_lost_or_doubled_when_a_ring_closes() {
    closes(RING, 1).assert_whole();
}

#[test]
fn no_publication_is_lost_or_doubled_when_all_become_linked() {
    closes(ALL_LINKED, 1).assert_whole();
}

/// Two links come up within less than the time that routers take to hear of one: a message may be
/// ahead of all that a router has heard.
#[test]
fn publications_while_several_links_come_up() {
    let deliveries = closes(ALL_LINKED, 2);
    assert!(
        deliveries.lost * 20_000 < deliveries.expected,
        "{deliveries:?}"
    );
    assert_eq!(deliveries.doubled, 0, "{deliveries:?}");
}

/// Deliveries while links came up or dropped.
#[derive(Debug, Default)]
struct Deliveries {
    expected: usize,
    lost: usize,
    doubled: usize,
}

impl Deliveries {
    fn add(&mut self, publication: &Publication) {
        let mut got = publication.delivered.clone();
        got.sort_unstable();
        let all = got.len();
        got.dedup();
        self.expected += publication.expected.len();
        self.lost += publication.expected.len() - got.len();
        self.doubled += all - got.len();
    }

    fn assert_whole(&self) {
        assert_eq!((self.lost, self.doubled), (0, 0), "{self:?}");
    }
}

/// Returns a network at rest with a subscriber at each node.
fn subscribed(seed: u64, plan: Plan<'_>) -> World {
    let mut world = World::new(seed, plan);
    world.rest();
    for node in 0..world.nodes.len() {
        let id = 1000 + node as u32;
        world.act(node, |node, actions| node.subscribe(id, "a/**", actions));
    }
    world.rest();
    world
}

/// Publishes at nodes by chance, with pauses, and lets all of it arrive.
fn publish_some(world: &mut World, count: usize) {
    for _ in 0..count {
        let node = world.rng.index(world.nodes.len());
        world.publish(node, "a/b");
        let pause = world.up_to(Duration::from_millis(60));
        world.run_until(world.now() + pause);
    }
    world.rest();
}

/// Links come up while messages are under way, and the trees change. No link is lost, so no message
/// should be.
fn closes(plan: Plan<'_>, links: usize) -> Deliveries {
    let mut deliveries = Deliveries::default();
    for seed in seeds(SEEDS) {
        let _replay = Replay(seed);
        let mut world = subscribed(seed, plan);
        // The other links still connect all routers.
        let first = world.rng.index(4);
        let opened: Vec<usize> = (first..first + links).map(|link| link % 4).collect();
        for link in &opened {
            world.break_now(*link);
            world.run_until(world.now());
            world.links[*link].restored = None;
        }
        world.rest();
        for link in &opened {
            let restored = world.now() + world.up_to(Duration::from_millis(400));
            world.links[*link].restored = Some(restored);
        }
        publish_some(&mut world, 4 * PUBLISHED);
        world
            .published
            .iter()
            .for_each(|publication| deliveries.add(publication));
    }
    println!("{deliveries:?}");
    deliveries
}

/// A link drops and returns while messages are under way. Messages on it are lost; no message
/// passes many more links than there are, and none arrives twice.
fn flows(plan: Plan<'_>) {
    let mut deliveries = Deliveries::default();
    for seed in seeds(SEEDS) {
        let _replay = Replay(seed);
        let mut world = subscribed(seed, plan);
        for _ in 0..3 {
            let link = world.rng.index(4);
            world.drop_and_return(link, Duration::from_millis(800));
            publish_some(&mut world, PUBLISHED);
        }
        let most = 4 * world.links.len();
        for publication in &world.published {
            deliveries.add(publication);
            assert!(
                publication.carried <= most,
                "{} copies",
                publication.carried
            );
        }
    }
    println!("{deliveries:?}");
    assert_eq!(deliveries.doubled, 0);
}
