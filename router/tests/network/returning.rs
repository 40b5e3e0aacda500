// SPDX-License-Identifier: MIT OR Apache-2.0

//! A link between routers that drops and returns within a tenth of a second of another change: at
//! rest, both sides have exactly the declarations that exist.

use std::time::Duration;

use zonda_codec::WhatAmI::{Client, Router};

use crate::rng::Rng;
use crate::world::World;
use crate::{ALL_LINKED, Plan, RING, Replay, mesh_truth, seeds, truth};

const NEAR: Duration = Duration::from_millis(100);

const SEEDS: u64 = 150;

/// Number of changes before the first link drops.
const CHANGES: usize = 30;

/// Number of checks for each seed.
const ROUNDS: usize = 4;

/// Maximum number of links that drop in one round.
const DROPS: u64 = 3;

#[test]
fn a_link_returns_at_once_in_a_line() {
    returns((
        &[Router, Router, Router, Client, Client],
        &[(1, 0), (2, 1), (3, 0), (4, 2)],
    ));
}

#[test]
fn a_link_returns_at_once_in_a_ring() {
    returns(RING);
}

#[test]
fn a_link_returns_at_once_where_all_are_linked() {
    returns(ALL_LINKED);
}

fn returns(plan: Plan<'_>) {
    let (roles, links) = plan;
    let is_router = |node: usize| roles[node] == Router;
    let among: Vec<usize> = (0..links.len())
        .filter(|link| is_router(links[*link].0) && is_router(links[*link].1))
        .collect();
    let mut steps = 0;
    for seed in seeds(SEEDS) {
        let _replay = Replay(seed);
        let mut rng = Rng::new(seed ^ 0x5eed);
        let mut world = World::new(seed, plan);
        for _ in 0..CHANGES {
            world.change();
            pass(&mut world);
        }
        world.rest();
        for round in 0..ROUNDS {
            for _ in 0..=rng.below(DROPS) {
                drop_beside_a_change(&mut world, &mut rng, &among);
            }
            world.rest();
            let now = format!("seed {seed}, round {round}");
            truth::check(&mut world, &now);
            mesh_truth::check(&world, &now);
        }
        steps += world.steps;
    }
    println!("{steps} steps");
}

/// Combines the drop with another change: one of any kind, or another link between routers that
/// returns as soon.
fn drop_beside_a_change(world: &mut World, rng: &mut Rng, among: &[usize]) {
    let (first, second) = (rng.of(among), rng.of(among));
    let is_change_first = rng.below(2) == 0;
    if is_change_first {
        change(world, rng, second);
        pass(world);
    }
    if !world.links[first].is_cut {
        world.drop_and_return(first, NEAR);
    }
    pass(world);
    if !is_change_first {
        change(world, rng, second);
    }
    pass(world);
}

fn change(world: &mut World, rng: &mut Rng, link: usize) {
    match rng.below(2) == 0 && !world.links[link].is_cut {
        true => world.drop_and_return(link, NEAR),
        false => world.change(),
    }
}

fn pass(world: &mut World) {
    let pause = world.up_to(NEAR);
    world.run_until(world.now() + pause);
}
