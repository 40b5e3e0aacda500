// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of bare messages, which only their order and their lengths separate.

use std::time::Duration;

use super::for_seeds;
use super::pipe::Faults;
use super::world::World;

/// Opens the link; later messages have their own lengths.
fn open(seed: u64) -> World {
    let mut world = World::bare(seed);
    world.open();
    for side in &world.sides {
        let established = side.established.as_ref().expect("open");
        assert!(established.options.low_latency && !established.qos);
    }
    world
}

/// Gives both sides messages that fit.
fn load(world: &mut World, count: u64) {
    world.load(count, Duration::from_millis(200));
    for side in &mut world.sides {
        for (number, (_, note)) in (0..).zip(&mut side.outgoing) {
            // The one channel on which bare messages count as received.
            (note.channel, note.number) = (11, number);
            note.size = note.size.min(30_000);
        }
    }
}

#[test]
fn bare_messages_arrive_once_and_in_order() {
    for_seeds(300, |seed| {
        let mut world = open(seed);
        load(&mut world, 60);
        world.run_to_silence();
        assert_eq!(world.ends(), [None, None]);
        for index in 0..2 {
            let (receiving, sending) = (&world.sides[index], &world.sides[1 - index]);
            assert_eq!(sending.sent().len(), 60);
            assert_eq!(receiving.recorder().notes, sending.sent());
            assert_eq!(receiving.received().messages, 60);
        }
    });
}

#[test]
fn keep_alives_come_whatever_else_is_sent() {
    for_seeds(100, |seed| {
        let mut world = open(seed);
        load(&mut world, 200);
        let from = world.now;
        for index in 0..2 {
            world.pipe(index).carriage.latency = Duration::from_millis(1);
        }
        world.run_until(from + Duration::from_secs(60));
        assert_eq!(world.ends(), [None, None]);
    });
}

#[test]
fn damaged_bare_links_end_at_worst() {
    for_seeds(500, |seed| {
        let mut world = open(seed);
        let faults = Faults {
            truncation: world.rng.pick(&[0, 10, 100]),
            bit_flips: world.rng.pick(&[0, 10, 100]),
            garbage: world.rng.pick(&[0, 10, 100]),
            duplication: world.rng.pick(&[0, 50]),
            loss: world.rng.pick(&[0, 50]),
            ..Faults::default()
        };
        world.set_faults(faults);
        load(&mut world, 30);
        world.run_until(world.now + Duration::from_secs(20));
        for end in world.ends().into_iter().flatten() {
            assert!(end.is_of_damage(), "{end:?}");
        }
    });
}
