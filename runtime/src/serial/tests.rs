// SPDX-License-Identifier: MIT OR Apache-2.0
//! Invariants of the queue under any interleaving. With `--cfg loom` every order of the threads'
//! steps is tried: `loom/run`; otherwise each test is one run on real threads.

#[cfg(loom)]
use loom::{
    model,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
#[cfg(not(loom))]
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use std::collections::VecDeque;

use super::{DrainTurn, SerialQueue};

#[cfg(not(loom))]
fn model(check: impl Fn() + Sync + Send + 'static) {
    check();
}

/// The values of the calls, in their order.
type Calls = Vec<usize>;

/// A queue whose seat records the calls, and flags that detect two calls at a time.
struct Scene {
    queue: SerialQueue<VecDeque<usize>, Calls>,
    is_busy: AtomicBool,
    called: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Scene> {
        Arc::new(Scene {
            queue: SerialQueue::default(),
            is_busy: AtomicBool::new(false),
            called: AtomicUsize::new(0),
        })
    }

    fn drain(&self, turn: DrainTurn<Calls>) {
        let call = |calls: &mut Calls, item| {
            assert!(!self.is_busy.swap(true, SeqCst), "one call at a time");
            calls.push(item);
            self.called.fetch_add(1, SeqCst);
            self.is_busy.store(false, SeqCst);
        };
        self.queue
            .drain(turn, call, |_, panic| std::panic::resume_unwind(panic));
    }

    /// Inserts a value, and drains if the turn is free.
    fn hand_in(&self, item: usize) {
        let mut queue = self.queue.lock();
        queue.push_back(item);
        let turn = queue.take_turn();
        drop(queue);
        if let Some(turn) = turn {
            self.drain(turn);
        }
    }

    /// Inserts a value, and returns after the call with it.
    fn hand_in_and_wait(&self, item: usize) {
        let mut queue = self.queue.lock();
        queue.push_back(item);
        let turn = queue.wait_turn().expect("no call further out");
        self.drain(turn);
    }

    fn calls(&self) -> Calls {
        let mut turn = self.queue.lock().take_turn().expect("it was given back");
        let calls = std::mem::take(turn.seat());
        self.queue.give_back(turn);
        calls
    }
}

#[test]
fn everything_is_called_with_once_in_the_order_of_each_thread() {
    model(|| {
        let scene = Scene::new();
        let elsewhere = Arc::clone(&scene);
        let other = thread::spawn(move || {
            elsewhere.hand_in(1);
            elsewhere.hand_in(2);
        });
        scene.hand_in(10);
        other.join().unwrap();
        let calls = scene.calls();
        let of_other: Calls = calls.iter().copied().filter(|item| *item < 10).collect();
        assert_eq!((calls.len(), of_other), (3, vec![1, 2]));
    });
}

#[test]
fn a_thread_that_waits_goes_on_when_its_call_was_made() {
    model(|| {
        let scene = Scene::new();
        let others: Vec<_> = (0..2)
            .map(|item| {
                let scene = Arc::clone(&scene);
                thread::spawn(move || {
                    scene.hand_in_and_wait(item);
                    assert!(scene.called.load(SeqCst) >= 1);
                })
            })
            .collect();
        scene.hand_in(2);
        for other in others {
            other.join().unwrap();
        }
        let mut calls = scene.calls();
        calls.sort_unstable();
        assert_eq!(calls, [0, 1, 2]);
    });
}

#[test]
fn a_turn_that_goes_to_another_thread_serves_what_comes_behind() {
    model(|| {
        let scene = Scene::new();
        let mut queue = scene.queue.lock();
        queue.push_back(1);
        let turn = queue.take_turn().expect("nobody has it");
        drop(queue);
        let elsewhere = Arc::clone(&scene);
        let other = thread::spawn(move || elsewhere.drain(turn));
        scene.hand_in(2);
        other.join().unwrap();
        assert_eq!(scene.calls(), [1, 2]);
    });
}

#[test]
fn a_call_that_hands_in_more_does_not_wait_for_itself() {
    model(|| {
        let queue: SerialQueue<VecDeque<usize>, Calls> = SerialQueue::default();
        let mut locked = queue.lock();
        locked.push_back(2);
        let turn = locked.take_turn().expect("nobody has it");
        drop(locked);
        let call = |calls: &mut Calls, item: usize| {
            if item > 0 {
                let mut inner = queue.lock();
                assert!(inner.is_mine() && inner.take_turn().is_none());
                inner.push_back(item - 1);
                assert!(inner.wait_turn().is_none());
            }
            calls.push(item);
        };
        queue.drain(turn, call, |_, panic| std::panic::resume_unwind(panic));
        let mut turn = queue.lock().take_turn().expect("it was given back");
        assert_eq!(turn.seat(), &[2, 1, 0]);
    });
}

#[cfg(not(loom))]
#[test]
fn a_call_that_panics_costs_that_call() {
    let queue: SerialQueue<VecDeque<usize>, usize> = SerialQueue::default();
    queue.lock().extend([1, 2, 3]);
    let turn = queue.lock().take_turn().expect("nobody has it");
    let mut panics = 0;
    let call = |sum: &mut usize, item: usize| {
        assert!(item != 2, "on purpose");
        *sum += item;
    };
    queue.drain(turn, call, |_, _| panics += 1);
    let mut turn = queue.lock().take_turn().expect("it was given back");
    assert_eq!((panics, *turn.seat()), (1, 4));
}
