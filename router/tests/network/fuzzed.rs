// SPDX-License-Identifier: MIT OR Apache-2.0

//! The corpus of the fuzz target `mesh`, and random inputs.

use zonda_testkit::mesh::mesh;
use zonda_testkit::replay;

use crate::rng::Rng;

/// Number of random inputs: a hundred times as many in the long run.
const INPUTS: u64 = 1000;

#[test]
fn the_corpus_of_meshes() {
    assert!(replay("mesh", mesh) > 4);
}

#[test]
fn hostile_routers_by_chance() {
    let times = match std::env::var_os("ZONDA_LONG") {
        Some(_) => 100,
        None => 1,
    };
    for seed in 0..INPUTS * times {
        let mut rng = Rng::new(seed);
        let length = rng.below(800);
        let data: Vec<u8> = (0..length).map(|_| rng.below(256) as u8).collect();
        println!("seed {seed}");
        mesh(&data);
    }
}
