// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two connections against each other on a virtual clock: the outboxes, receivers and drivers of
//! the library, on a runtime and sockets that are simulated (`executor`, `link`), through pipes
//! that delay, lose, repeat, reorder and damage their bytes. A seed decides everything, including
//! the order of tasks and the point at which a write stops.
//!
//! A failing seed is printed with the command that runs it alone. `ZONDA_SEEDS=<factor>` runs that many times more.
//!
//! The simulation excludes steps of two threads within one call of the outbox, which `loom/`
//! covers, and the wait of a second sender for room, which blocks its thread for a part of a
//! second.

mod contents;
mod executor;
mod ledger;
mod link;
mod oracle;
mod pipe;
mod rng;
mod sender;
mod side;
mod traffic;
mod world;

mod bare;
mod damage;
mod delivery;
mod interleaving;
mod loss;
mod time;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// Runs `scenario` for the seeds from 0 on, or for the one that the environment names: in long runs
/// for `count` of them, otherwise for a third.
fn for_seeds(count: u64, scenario: impl Fn(u64)) {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seeds = match number("ZONDA_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let part = if std::env::var_os("ZONDA_LONG").is_some() {
                1
            } else {
                3
            };
            0..count.div_ceil(part) * number("ZONDA_SEEDS").unwrap_or(1)
        }
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| scenario(seed))) {
            let current = thread::current();
            // Tests that run one after the other are all in the main thread.
            let own = current.name().filter(|name| *name != "main");
            let test = own.unwrap_or("simulation");
            eprintln!(
                "seed {seed} failed; it alone: ZONDA_SEED={seed} cargo test -p zonda-transport --lib {test}"
            );
            resume_unwind(panic);
        }
    }
}
