// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delivered messages, and their order.

use std::cell::RefCell;
use std::time::Duration;

use crate::driver::Ended;
use crate::protocol::rx::Received;

use super::for_seeds;
use super::pipe::Faults;
use super::side::End;
use super::traffic::Note;
use super::world::World;

/// Compares the messages that each side recorded with the oracle's, and its counters with the
/// oracle's.
fn check_against_oracle(world: &World) {
    for side in &world.sides {
        let oracle = side.oracle.as_ref().expect("an oracle");
        let chance = oracle.delivered - oracle.expected.len() as u64;
        assert_eq!(side.recorder().damaged, chance, "byte-identical");
        assert!(chance == 0 || oracle.patch == 0, "without marks only");
        assert_eq!(
            side.recorder().notes,
            oracle.expected,
            "exactly what the rules allow"
        );
        let received = side.received();
        assert_eq!(received.messages, oracle.delivered);
        assert_eq!(received.frames_dropped, oracle.frames_dropped);
        assert_eq!(received.fragments_dropped, oracle.fragments_dropped);
        assert_eq!(received.ignored, 0);
    }
}

/// Checks that the sent messages are those delivered plus those of sequence numbers that were lost
/// or rejected.
fn check_the_books(world: &World, receiving: usize) {
    let (to, from) = (&world.sides[receiving], &world.sides[1 - receiving]);
    let oracle = to.oracle.as_ref().expect("an oracle");
    let received = to.received();
    assert_eq!(from.ledger.sent(), from.sent().len() as u64);
    if from.ledger.wrapped {
        return;
    }
    let complete = from.ledger.complete(&oracle.accepted);
    match oracle.patch {
        // Without flags the rest of a torn message may swallow the beginning of the next.
        0 => assert!(oracle.expected.len() as u64 <= complete),
        _ => assert_eq!(received.messages, complete),
    }
    let known = oracle.accepted.len() as u64 + received.sequence_numbers_skipped;
    assert!(known <= from.ledger.numbers(), "no number is counted twice");
    let lost = world.pipe(1 - receiving).lost_batches;
    let unseen = from.ledger.numbers() - known;
    assert!(unseen == 0 || lost > 0 || received.frames_dropped + received.fragments_dropped > 0);
}

/// Totals over all seeds, to be sure that the test covers the cases.
#[derive(Default)]
struct Tally(RefCell<(Received, u64)>);

impl Tally {
    fn add(&self, received: &Received) {
        let all = &mut self.0.borrow_mut().0;
        all.messages += received.messages;
        all.frames_dropped += received.frames_dropped;
        all.fragments_dropped += received.fragments_dropped;
        all.fragments_discarded += received.fragments_discarded;
        all.messages_discarded += received.messages_discarded;
        all.messages_undecodable += received.messages_undecodable;
        all.sequence_numbers_skipped += received.sequence_numbers_skipped;
    }

    fn expire(&self) {
        self.0.borrow_mut().1 += 1;
    }

    fn check(&self) {
        let (all, expired) = *self.0.borrow();
        println!("{all:?}, {expired} runs ended by a lease");
        if std::env::var_os("ZONDA_SEED").is_none() {
            let rarest = [
                all.frames_dropped,
                all.fragments_dropped,
                all.fragments_discarded,
                all.messages_discarded,
                all.messages_undecodable,
                all.sequence_numbers_skipped,
            ];
            assert!(rarest.into_iter().all(|count| count >= 50), "{all:?}");
            assert!(expired < 100, "{expired} runs ended early");
        }
    }
}

#[test]
fn a_clean_pipe_delivers_everything_once_and_in_order() {
    for_seeds(1500, |seed| {
        let mut world = World::new(seed);
        world.open();
        world.load(40, Duration::from_millis(200));
        world.run_to_silence();
        assert_eq!(world.ends(), [None, None]);
        check_against_oracle(&world);
        for index in 0..2 {
            let (receiving, sending) = (&world.sides[index], &world.sides[1 - index]);
            assert_eq!(sending.sent().len(), 40);
            for channel in 0..16 {
                let sent = sending.numbers_sent(channel);
                assert_eq!(receiving.numbers(channel), sent, "channel {channel}");
            }
            let received = receiving.received();
            assert_eq!(received.sequence_numbers_skipped, 0);
            assert_eq!(
                (received.messages_discarded, received.fragments_discarded),
                (0, 0)
            );
            assert_eq!(receiving.recorder().buffered_bytes, 0);
        }
    });
}

#[test]
fn a_lossy_pipe_delivers_a_subsequence_and_counts_the_rest() {
    let tally = Tally::default();
    for_seeds(1500, |seed| {
        let mut world = World::new(seed);
        world.open();
        let faults = Faults {
            loss: world.rng.pick(&[0, 20, 200]),
            duplication: world.rng.pick(&[0, 20, 200]),
            reordering: world.rng.pick(&[0, 20, 200]),
            ..Faults::default()
        };
        // A stream cannot reorder its bytes, but whole batches of it may be lost or repeated.
        let stream = world.pipe(0).carriage.stream;
        world.set_faults(Faults {
            reordering: if stream { 0 } else { faults.reordering },
            ..faults
        });
        world.load(40, Duration::from_millis(200));
        world.run_to_silence();
        if world.ends() != [None, None] {
            return tally.expire(); // so much was lost that a lease ran out
        }
        check_against_oracle(&world);
        for index in 0..2 {
            let (receiving, sending) = (&world.sides[index], &world.sides[1 - index]);
            for channel in 0..16 {
                let sent = sending.sent();
                let mut sent = sent.iter().filter(|note| note.channel == channel);
                let recorder = receiving.recorder();
                let of_channel = |note: &&Note| note.channel == channel;
                for got in recorder.notes.iter().filter(of_channel) {
                    assert!(
                        sent.any(|note| note == got),
                        "{got:?} is repeated or out of order"
                    );
                }
            }
            check_the_books(&world, index);
            let received = receiving.received();
            tally.add(&received);
        }
    });
    tally.check();
}

#[test]
fn slow_and_stalled_peers_lose_nothing() {
    for_seeds(300, |seed| {
        let mut world = World::new(seed);
        world.open();
        world.load(40, Duration::from_millis(50));
        for index in 0..2 {
            let lease = world.sides[1 - index]
                .established
                .as_ref()
                .expect("open")
                .remote_lease;
            let stall = lease.mul_f64(world.rng.below(70) as f64 / 100.0);
            let mut pipe = world.pipe(index);
            pipe.stalled_until = Some(world.now + stall);
            pipe.carriage.window_bytes = 500;
        }
        world.run_to_silence();
        assert_eq!(world.ends(), [None, None]);
        check_against_oracle(&world);
        for index in 0..2 {
            let got = world.sides[index].recorder().notes.len();
            assert_eq!(got, world.sides[1 - index].sent().len());
        }
    });
}

#[test]
fn messages_above_the_receivers_limit_are_dropped_alone() {
    for_seeds(200, |seed| {
        let mut world = World::new(seed);
        for side in &mut world.sides {
            side.limit_messages(200);
        }
        world.open();
        world.load(40, Duration::from_millis(50));
        world.run_to_silence();
        assert_eq!(world.ends(), [None, None]);
        check_against_oracle(&world);
    });
}

#[test]
fn a_close_ends_the_peer_after_everything_before_it() {
    for_seeds(200, |seed| {
        let mut world = World::new(seed);
        world.open();
        world.load(20, Duration::from_millis(50));
        world.sides[1].outgoing.clear();
        world.sides[0].closes = true;
        world.run_until(world.now + Duration::from_secs(30));
        let ends = [Ended::Local, Ended::Remote(0)];
        assert_eq!(world.ends(), ends.map(|ended| Some(End::Link(ended))));
        assert_eq!(world.sides[1].recorder().notes.len(), 20);
        let outbox = world.sides[0].outbox.as_ref().expect("it was open");
        assert!(outbox.unsent().is_nothing(), "{:?}", outbox.unsent());
    });
}
