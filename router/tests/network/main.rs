// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whole networks of tables on a virtual clock, with delays, cuts that each side notices at its own
//! time, and restarts. Every seed is a history of its own; a failure names its seed, and
//! `ZONDA_SEED` replays only that one:
//!
//! `ZONDA_SEED=17 cargo test -p zonda-router --test network routers_in_a_ring`
//!
//! Once all nodes are idle and the links are restored, every message reaches each of its
//! subscribers exactly once, under the key it was sent on, and is sent to no node without one;
//! every query has ended, and a new one is answered once by each matching queryable; listeners to
//! tokens or matching subscribers have the true state; and all routers of a mesh have computed the
//! same trees, and have the declarations of each other that a naive model has.

mod far;
mod flowing;
mod fuzzed;
mod hostile;
mod liar;
mod link;
mod listening;
mod mesh_truth;
mod node;
mod question;
mod returning;
mod rng;
mod truth;
mod world;

use std::ops::Range;

use zonda_codec::WhatAmI::{self, Client, Peer, Router};

use world::World;

/// Four routers in a ring, and one client each of two that are not neighbours.
const RING: Plan<'static> = (
    &[Router, Router, Router, Router, Client, Client],
    &[(0, 1), (1, 2), (2, 3), (3, 0), (4, 0), (5, 2)],
);

/// Four routers in a full mesh, and a client of one.
const ALL_LINKED: Plan<'static> = (
    &[Router, Router, Router, Router, Client],
    &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 3)],
);

const SEEDS: u64 = 70;

/// Number of seeds for meshes of routers, which take longer.
const MESH_SEEDS: u64 = 28;

/// Factor for the number of seeds in the long run.
const LONG: u64 = 10;

/// Number of rounds of changes per seed, each followed by a check.
const ROUNDS: usize = 3;

/// The roles of the nodes, and the pairs of linked nodes.
type Plan<'a> = (&'a [WhatAmI], &'a [(usize, usize)]);

#[test]
fn clients_and_peers_of_a_router() {
    run((
        &[Router, Client, Client, Client, Peer, Peer],
        &[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)],
    ));
}

#[test]
fn peers_among_themselves() {
    run((
        &[Peer, Peer, Peer, Peer],
        &[(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)],
    ));
}

#[test]
fn peers_that_serve_clients() {
    run((
        &[Peer, Peer, Client, Client, Client],
        &[(1, 0), (2, 0), (3, 1), (4, 1)],
    ));
}

#[test]
fn clients_of_a_peer_that_has_a_router() {
    run((
        &[Router, Peer, Client, Client, Client],
        &[(1, 0), (2, 1), (3, 1), (4, 0)],
    ));
}

#[test]
fn routers_in_a_line() {
    run((
        &[Router, Router, Router, Client, Client, Peer],
        &[(1, 0), (2, 1), (3, 0), (4, 2), (5, 1)],
    ));
}

#[test]
fn routers_in_a_ring() {
    run(RING);
}

#[test]
fn routers_that_are_all_linked() {
    run(ALL_LINKED);
}

#[test]
fn peers_with_two_gateways() {
    run((
        &[Router, Router, Peer, Peer, Client, Client],
        &[
            (0, 1),
            (2, 0),
            (2, 1),
            (3, 0),
            (3, 1),
            (3, 2),
            (4, 0),
            (5, 1),
        ],
    ));
}

/// The gateways are linked by routers that are no gateways of the peers; one of these has clients.
#[test]
fn peers_with_gateways_far_from_each_other() {
    run((
        &[Router, Router, Router, Router, Peer, Peer, Client, Client],
        &[
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 0),
            (4, 0),
            (4, 2),
            (5, 0),
            (5, 2),
            (6, 3),
            (7, 4),
        ],
    ));
}

/// Peers without links to each other, each two of which share a gateway.
#[test]
fn peers_that_share_some_of_their_gateways() {
    run((
        &[Router, Router, Router, Peer, Peer, Peer, Client],
        &[
            (0, 1),
            (1, 2),
            (3, 0),
            (3, 1),
            (4, 1),
            (4, 2),
            (5, 2),
            (5, 0),
            (6, 1),
        ],
    ));
}

fn run(plan: Plan<'_>) {
    let (roles, _) = plan;
    let is_mesh = roles.iter().filter(|role| **role == Router).count() > 1;
    let seeds = if is_mesh { MESH_SEEDS } else { SEEDS };
    let mut steps = 0;
    for seed in self::seeds(seeds) {
        let _replay = Replay(seed);
        let mut world = World::new(seed, plan);
        for round in 0..ROUNDS {
            world.disturb();
            world.rest();
            let now = format!("seed {seed}, round {round}");
            truth::check(&mut world, &now);
            mesh_truth::check(&world, &now);
        }
        steps += world.steps;
    }
    println!("{steps} steps");
}

/// Returns the seeds of a test: `count`, more in the long run, or only the one to replay.
fn seeds(count: u64) -> Range<u64> {
    let count = match std::env::var_os("ZONDA_LONG") {
        Some(_) => LONG * count,
        None => count,
    };
    let replayed = std::env::var("ZONDA_SEED").ok();
    let replayed: Option<u64> = replayed.map(|seed| seed.parse().expect("a seed"));
    replayed.map_or(0..count, |seed| seed..seed + 1)
}

/// Prints how to replay the seed if the test fails.
struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let thread = std::thread::current();
            let (seed, test) = (self.0, thread.name().unwrap_or_default());
            println!(
                "once more: ZONDA_SEED={seed} cargo test -p zonda-router --test network {test}"
            );
        }
    }
}
