// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks of a network at rest.

use zonda_codec::WhatAmI::{Peer, Router};
use zonda_codec::key_expr::intersects;
use zonda_codec::{KeyExpr, NodeId};
use zonda_router::table::{FaceId, ForwardingTable, Route};

use crate::listening::Heard;
use crate::node::{Node, key_expr};
use crate::world::{KEYS, World};

/// Keys of publications in addition to the publishers' own ones.
const PUBLISHED: [&str; 7] = ["a/b", "a/b/c", "b/x", "b/yx", "b/y/z/x", "@v/a", "c"];

/// Bound on hops, longer than any path: a message that goes further loops.
const HOPS_MAX: usize = 8;

/// The nodes and subscribers that got a message.
type Delivered = Vec<(usize, u32)>;

pub fn check(world: &mut World, now: &str) {
    for node in 0..world.nodes.len() {
        for key in PUBLISHED {
            check_publication(world, node, (key, None), now);
        }
        let publishers = world.nodes[node].publishers.clone();
        for (id, key) in publishers {
            check_publication(world, node, (key, Some(id)), now);
        }
        check_listeners(world, node, now);
    }
    check_questions(world, now);
}

/// Checks that every listener has the true state.
fn check_listeners(world: &World, node: usize, now: &str) {
    let nodes = || world.nodes.iter();
    for listener in world.nodes[node].listeners.values() {
        let asked = listener.key;
        match &listener.heard {
            Heard::Tokens(alive) => {
                let tokens = nodes().flat_map(|node| node.tokens.values());
                let expected = tokens.filter(|token| intersects(token, asked));
                let expected = expected.map(|token| (*token).to_owned()).collect();
                assert_eq!(*alive, expected, "{now}: tokens on {asked} at node {node}");
            }
            Heard::Matching(matches) => {
                let mut subscribers = nodes().flat_map(|node| node.subscribers.values());
                let expected = subscribers.any(|subscriber| intersects(subscriber, asked));
                assert_eq!(
                    *matches, expected,
                    "{now}: subscribers to {asked} at {node}"
                );
            }
        }
    }
}

/// Checks that no query is open, and that a new one is answered once by each matching queryable.
fn check_questions(world: &mut World, now: &str) {
    let is_done = |node: &Node| {
        node.table.open_queries() == 0 && node.questions.values().all(|question| question.ended)
    };
    assert!(world.nodes.iter().all(is_done), "{now}: a question is open");
    for node in 0..world.nodes.len() {
        let key = KEYS[node % KEYS.len()];
        let rid = world.ask(node, key);
        world.rest();
        let question = &world.nodes[node].questions[&rid];
        assert!(question.ended, "{now}: {key} from node {node}");
        let mut answers = question.answers.clone();
        answers.sort_unstable();
        let mut expected = Vec::new();
        for (at, node) in world.nodes.iter().enumerate() {
            let queryables = node.queryables.iter();
            let matching = queryables.filter(|(_, answered)| intersects(answered, key));
            expected.extend(matching.map(|(id, _)| (at, *id)));
        }
        assert_eq!(answers, expected, "{now}: {key} from node {node}");
    }
    world
        .nodes
        .iter_mut()
        .for_each(|node| node.questions.clear());
}

fn check_publication(world: &mut World, node: usize, message: (&str, Option<u32>), now: &str) {
    let (text, publisher) = message;
    let key = key_expr(text).into_owned();
    let mut walk = Walk {
        world,
        key: &key,
        delivered: Vec::new(),
        in_vain: Vec::new(),
    };
    let local = walk.world.nodes[node].local;
    walk.go((node, local, NodeId::ITSELF), publisher, 0);
    let (mut delivered, in_vain) = (walk.delivered, walk.in_vain);
    delivered.sort_unstable();
    let mut expected = Delivered::new();
    for (at, node) in world.nodes.iter().enumerate() {
        let subscribers = node.subscribers.iter();
        let matching = subscribers.filter(|(_, subscribed)| intersects(subscribed, text));
        expected.extend(matching.map(|(id, _)| (at, *id)));
    }
    assert_eq!(delivered, expected, "{now}: {message:?} from node {node}");
    // A publisher has an interest in subscribers, and a node that is asked on behalf of other nodes
    // knows the answer, too. Of subscribers behind another gateway of a peer, the table cannot know
    // which are peers that this gateway delivers to.
    if publisher.is_some() && !has_shared_peers(world) {
        assert_eq!(in_vain, [0; 0], "{now}: {message:?} from node {node}");
    }
}

/// Returns true if a peer has several gateways.
fn has_shared_peers(world: &World) -> bool {
    let mut nodes = 0..world.nodes.len();
    nodes.any(|node| {
        let is_router = |other: &usize| world.nodes[*other].role == Router;
        world.nodes[node].role == Peer && world.linked(node).filter(is_router).count() > 1
    })
}

/// A message that is being forwarded.
struct Walk<'a> {
    world: &'a mut World,
    key: &'a KeyExpr<'static>,
    delivered: Delivered,
    /// Nodes that it reached without a subscriber there.
    in_vain: Vec<usize>,
}

impl Walk<'_> {
    fn go(&mut self, at: (usize, FaceId, NodeId), publisher: Option<u32>, hops: usize) {
        let (node, from, node_id) = at;
        assert!(hops < HOPS_MAX, "{} goes in circles", self.key);
        let found = &mut self.world.nodes[node];
        let route = match hops {
            0 => found.table.route(from, self.key, publisher),
            _ => route_from(&mut found.table, (from, node_id), self.key),
        };
        if hops > 0 && route.hops.is_empty() && route.local.is_empty() {
            self.in_vain.push(node);
        }
        let delivered = route.local.iter().map(|id| (node, *id));
        self.delivered.extend(delivered);
        for hop in route.hops {
            let (link, side) = self.world.link_of(node, hop.face).expect("a live link");
            let other = &self.world.links[link].sides[1 - side];
            let (next, face) = (other.node, other.face.expect("both sides of a live link"));
            let read = self.world.nodes[next]
                .table
                .push_key(face, &hop.wire_expr());
            assert_eq!(read.as_ref(), Some(self.key), "as node {next} reads it");
            self.go((next, face, hop.node_id), None, hops + 1);
        }
    }
}

/// Finds the route of a message of a neighbour.
pub fn route_from(
    table: &mut ForwardingTable,
    (from, node_id): (FaceId, NodeId),
    key: &KeyExpr<'static>,
) -> Route {
    let search = table.begin_route_from(from, node_id, key.clone());
    let mut search = search.expect("the neighbour has introduced the router");
    loop {
        if let Some(route) = table.search_route(&mut search) {
            return route;
        }
    }
}
