// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of a link's lanes: a message that a thread queues after a more urgent one of its own
//! never leaves before it.
//!
//! The actors are those of `transport/src/outbox`, with the same steps; a lane counts its messages.

use loom::{
    model::Builder,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
    thread,
};

const URGENT: usize = 0;
const DATA: usize = 1;

#[derive(Default)]
struct Lanes {
    ready: AtomicU8,
    lanes: [Mutex<u32>; 2],
}

impl Lanes {
    /// Models `Outbox::enqueue_all`.
    fn push(&self, index: usize) {
        let mut lane = self.lanes[index].lock().expect("no panic");
        *lane += 1;
        if self.ready.load(Ordering::Relaxed) & 1 << index == 0 {
            self.ready.fetch_or(1 << index, Ordering::SeqCst);
        }
    }

    /// Models `Outbox::most_urgent`.
    fn most_urgent(&self) -> usize {
        self.ready.load(Ordering::SeqCst).trailing_zeros() as usize
    }

    /// Models `Outbox::collect`: appends the leaving messages to `wire`. If not `looks_again`, it
    /// keeps the lane that it chose before it took the lock.
    fn collect(&self, looks_again: bool, wire: &mut Vec<usize>) {
        loop {
            let index = self.most_urgent();
            let Some(lane) = self.lanes.get(index) else {
                return;
            };
            let mut lane = lane.lock().expect("no panic");
            if looks_again && self.most_urgent() < index {
                continue;
            }
            for _ in 0..std::mem::take(&mut *lane) {
                wire.push(index);
            }
            self.ready.fetch_and(!(1 << index), Ordering::SeqCst);
        }
    }
}

/// Races a writer of an earlier message against a thread that queues an urgent message and one
/// behind it.
fn races(looks_again: bool) {
    Builder::new().check(move || {
        let lanes = Arc::new(Lanes::default());
        lanes.push(DATA);
        let sender = thread::spawn({
            let lanes = Arc::clone(&lanes);
            move || {
                lanes.push(URGENT);
                lanes.push(DATA);
            }
        });
        let mut wire = Vec::new();
        lanes.collect(looks_again, &mut wire);
        sender.join().expect("no panic");
        lanes.collect(looks_again, &mut wire);
        let urgent = wire.iter().position(|lane| *lane == URGENT);
        let last = wire.iter().rposition(|lane| *lane == DATA);
        assert!(wire.len() == 3 && urgent < last, "left as {wire:?}");
    });
}

#[test]
fn what_follows_an_urgent_message_never_overtakes_it() {
    races(true);
}

#[test]
#[should_panic(expected = "left as [1, 1, 0]")]
fn a_lane_that_is_chosen_once_lets_it_overtake() {
    races(false);
}
