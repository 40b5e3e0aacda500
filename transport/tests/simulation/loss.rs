// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that break while messages are under way.

use std::time::Duration;

use crate::driver::Ended;

use super::for_seeds;
use super::side::End;
use super::world::World;

#[test]
fn a_broken_link_ends_and_what_it_took_is_known() {
    for_seeds(300, |seed| {
        let mut world = World::new(seed);
        world.open();
        world.load(40, Duration::from_millis(50));
        let breaks_after = Duration::from_micros(world.rng.below(60_000));
        world.run_until(world.now + breaks_after);
        for index in 0..2 {
            world.pipe(index).break_down();
        }
        world.run_until(world.now + Duration::from_secs(30));
        for index in 0..2 {
            let (receiving, sending) = (&world.sides[index], &world.sides[1 - index]);
            let end = receiving.end().expect("it broke");
            let legal = matches!(
                end,
                End::Link(Ended::Io(_) | Ended::HungUp | Ended::Expired)
            );
            assert!(legal, "{end:?}");
            let outbox = sending.outbox.as_ref().expect("it was open");
            assert!(outbox.is_released(), "it holds nothing any more");
            let unsent = outbox.unsent().messages as usize;
            // The driver's current write counts as unsent as a whole: a runtime does not report how
            // far it came.
            let unsent = if sending.manner.direct { unsent } else { 0 };
            let arrived = receiving.recorder().notes.len();
            assert!(
                arrived + unsent <= sending.sent().len(),
                "{arrived}, {unsent}"
            );
            for channel in 0..16 {
                let (sent, got) = (sending.numbers_sent(channel), receiving.numbers(channel));
                assert_eq!(sent[..got.len()], got, "in order, and each once");
            }
        }
    });
}
