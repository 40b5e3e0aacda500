// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two connections driven against each other on a virtual clock, through pipes that delay, lose,
//! repeat, reorder and damage what they carry. A seed decides everything; a failing one is printed,
//! and `ZONDA_SEED=<seed>` runs that one alone. `ZONDA_SEEDS=<factor>` runs that many times more.

mod contents;
mod ledger;
mod oracle;
mod pipe;
mod rng;
mod side;
mod traffic;
mod world;

mod bare;
mod damage;
mod delivery;
mod time;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `scenario` for the seeds from 0 to `count`, or for the one that the environment names.
fn for_seeds(count: u64, scenario: impl Fn(u64)) {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seeds = match number("ZONDA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..count * number("ZONDA_SEEDS").unwrap_or(1),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| scenario(seed))) {
            eprintln!("seed {seed} failed; replay it with ZONDA_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
