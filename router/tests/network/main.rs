// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whole networks of tables on a virtual clock, with delays, cuts that each side notices at its own time, and restarts.
//! Every seed is a history of its own; a failure names its seed, and the seed replays.
//!
//! Once nobody does anything any more and the links are restored, every message reaches everybody concerned exactly
//! once, under the key it was sent on, and nothing is sent to where nobody wants it; every question has ended, a new one is
//! answered by everybody concerned once; and whoever listens to tokens or to matching subscribers knows what is true.

mod link;
mod listening;
mod node;
mod question;
mod rng;
mod truth;
mod world;

use zonda_codec::WhatAmI::{self, Client, Peer, Router};

use world::World;

const SEEDS: u64 = 150;

/// The same for meshes of routers, which take longer.
const MESH_SEEDS: u64 = 40;

/// Rounds of changes per seed, each followed by a look at what it left.
const ROUNDS: usize = 3;

/// Who there is, and who is linked to whom.
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
    run((
        &[Router, Router, Router, Router, Client, Client],
        &[(0, 1), (1, 2), (2, 3), (3, 0), (4, 0), (5, 2)],
    ));
}

#[test]
fn routers_that_are_all_linked() {
    run((
        &[Router, Router, Router, Router, Client],
        &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 3)],
    ));
}

fn run(plan: Plan<'_>) {
    let (roles, _) = plan;
    let is_mesh = roles.iter().filter(|role| **role == Router).count() > 1;
    let is_short = is_mesh && std::env::var_os("ZONDA_LONG").is_none();
    let seeds = if is_short { MESH_SEEDS } else { SEEDS };
    for seed in 0..seeds {
        let mut world = World::new(seed, plan);
        for round in 0..ROUNDS {
            world.disturb();
            world.rest();
            truth::check(&mut world, &format!("seed {seed}, round {round}"));
        }
    }
}
