// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks of a mesh of routers at rest: they know each other, have computed the same trees, and
//! have exactly the declarations of each other that the naive model has.

use std::collections::BTreeSet;

use zonda_codec::{WhatAmI, ZenohId};
use zonda_router::table::Kind;

use crate::node::Node;
use crate::world::World;

pub fn check(world: &World, now: &str) {
    let routers: Vec<usize> = (0..world.nodes.len())
        .filter(|node| is_router(world, *node))
        .collect();
    for &node in &routers {
        let others = routers.iter().filter(|other| **other != node);
        let others: BTreeSet<ZenohId> = others.map(|other| world.nodes[*other].zid).collect();
        let known: BTreeSet<ZenohId> = world.nodes[node].table.routers().collect();
        assert_eq!(known, others, "{now}: routers that node {node} knows");
        for &root in &routers {
            check_tree(world, (root, node), now);
            if root != node {
                check_keys(world, (root, node), now);
            }
        }
    }
}

fn is_router(world: &World, node: usize) -> bool {
    world.nodes[node].role == WhatAmI::Router
}

/// Checks that a router is a child of its parent in a tree, and that the path of parents ends at
/// the root.
fn check_tree(world: &World, (root, node): (usize, usize), now: &str) {
    let named = |zid: &ZenohId| {
        let mut nodes = world.nodes.iter();
        nodes.position(|node| node.zid == *zid).expect("it exists")
    };
    let place = |node: usize| {
        world.nodes[node]
            .table
            .place_in_tree(&world.nodes[root].zid)
    };
    for child in place(node).children {
        let parent = place(named(&child)).parent;
        assert_eq!(
            parent,
            Some(world.nodes[node].zid),
            "{now}: tree of {root} at {node}"
        );
    }
    let (mut at, mut hops) = (node, 0);
    while let Some(parent) = place(at).parent {
        let above = named(&parent);
        let children = place(above).children;
        assert!(
            children.contains(&world.nodes[at].zid),
            "{now}: tree of {root}: {above} does not know that {at} is below it"
        );
        (at, hops) = (above, hops + 1);
        assert!(hops <= world.nodes.len(), "{now}: tree of {root} is none");
    }
    assert_eq!(at, root, "{now}: tree of {root} at {node}");
}

/// Checks that a router has the keys of another one's session and of the nodes behind it.
fn check_keys(world: &World, (root, node): (usize, usize), now: &str) {
    let known = |kind| {
        let table = &world.nodes[node].table;
        table.keys_of_router(&world.nodes[root].zid, kind)
    };
    let side = side(world, root);
    let keys = |of: fn(&Node) -> Vec<&'static str>| {
        let keys = side.iter().flat_map(|node| of(&world.nodes[*node]));
        let keys: BTreeSet<String> = keys.map(str::to_owned).collect();
        keys
    };
    let subscribers = keys(|node| node.subscribers.values().copied().collect());
    let mut queryables = keys(|node| node.queryables.values().copied().collect());
    queryables.insert(format!("@/{}/router/**", world.nodes[root].zid));
    let tokens = keys(|node| node.tokens.values().copied().collect());
    let what = format!("{now}: what {node} knows of {root}");
    let expected = [subscribers, queryables, tokens].map(Vec::from_iter);
    let kinds = [Kind::Subscriber, Kind::Queryable, Kind::Token];
    assert_eq!(kinds.map(known), expected, "{what}");
}

/// Returns a router and all nodes whose home it is.
fn side(world: &World, root: usize) -> BTreeSet<usize> {
    let nodes = 0..world.nodes.len();
    nodes
        .filter(|node| home(world, *node) == Some(root))
        .collect()
}

/// Returns the router that announces a node's declarations: of a peer's routers the one with the
/// greatest id, and for a client the home of the node that serves it.
fn home(world: &World, node: usize) -> Option<usize> {
    let mut linked = world.linked(node);
    match world.nodes[node].role {
        WhatAmI::Router => Some(node),
        WhatAmI::Peer => {
            let routers = linked.filter(|other| is_router(world, *other));
            routers.max_by_key(|router| world.nodes[*router].zid)
        }
        WhatAmI::Client => linked.find_map(|gateway| home(world, gateway)),
    }
}
