// SPDX-License-Identifier: MIT OR Apache-2.0
//! Senders, drivers and full sockets in every order that the seeds produce: while a task is in a
//! call of its socket other tasks run, like threads, and some senders block their threads until
//! there is room. After each event the world checks that no message waits while no thread has the
//! right to write it, or will be woken to get the right.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::for_seeds;
use super::world::World;

fn contended(seed: u64) -> World {
    let mut world = World::new(seed);
    for side in &mut world.sides {
        side.manner.direct = true;
        side.manner.beside = true;
        side.manner.blocks = seed.is_multiple_of(2);
        side.lend_for(Duration::from_secs(60));
    }
    world
}

#[test]
fn no_message_waits_while_nobody_may_write_it() {
    let (polls, begin) = (Cell::new(0), Instant::now());
    for_seeds(1500, |seed| {
        let mut world = contended(seed);
        world.open();
        let span = world.rng.pick(&[1, 100, 3_000, 50_000]);
        world.load(60, Duration::from_micros(span));
        for index in 0..2 {
            let window = world.rng.pick(&[1, 300, 2_000, 20_000]);
            world.pipe(index).carriage.window_bytes = window;
        }
        world.run_to_silence();
        assert_eq!(world.ends(), [None, None]);
        for index in 0..2 {
            let (receiving, sending) = (&world.sides[index], &world.sides[1 - index]);
            assert_eq!(sending.sent().len(), 60);
            for channel in 0..16 {
                assert_eq!(receiving.numbers(channel), sending.numbers_sent(channel));
            }
        }
        polls.set(polls.get() + world.polls());
    });
    println!("{} polls of tasks in {:?}", polls.get(), begin.elapsed());
}
