// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread of a shard: it runs the shard's tasks, and waits in the ring for completions,
//! deadlines and other threads.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::task::Waker;
use std::time::{Duration, Instant};

use compio::driver::{Key, OpCode};

use super::ring::{Reply, Ring};
use super::self_test;
use super::shard::Shard;
use super::task::{Progress, Task};
use crate::guard::caught;
use crate::placement::Placement;

/// Number of tasks that run before the ring is polled again.
const TASKS_PER_TURN: usize = 64;

/// Start parameters of each thread of a runtime.
#[derive(Clone)]
pub(super) struct Plan {
    /// The runtime's number in this process.
    pub(super) pool: usize,
    pub(super) placement: Placement,
}

/// State of the thread that only it uses.
struct Local {
    shard: Arc<Shard>,
    ring: RefCell<Ring>,
    ready: RefCell<VecDeque<Arc<Task>>>,
    /// Wakers of yielded tasks, woken after those that the ring's completions wake.
    yielded: RefCell<Vec<Waker>>,
    /// Tasks that have run and not ended, by address; kept so that the end of the thread drops them
    /// here.
    tasks: RefCell<HashMap<usize, Arc<Task>>>,
    /// Operations that could not be abandoned because the ring was in use.
    later: RefCell<Vec<Later>>,
    ending: Cell<bool>,
}

type Later = Box<dyn FnOnce(&mut Ring)>;

thread_local! {
    static LOCAL: RefCell<Option<Rc<Local>>> = const { RefCell::new(None) };
}

/// Returns the error of an operation on a runtime that has ended.
pub(super) fn shut_down() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the runtime is shut down")
}

fn with_local<R>(f: impl FnOnce(&Local) -> R) -> Option<R> {
    LOCAL
        .try_with(|local| {
            let local = local.try_borrow().ok()?;
            local.as_deref().map(f)
        })
        .ok()
        .flatten()
}

/// Calls `f` with the ring of the calling thread, if it is one of runtime `pool` and its ring is not in use.
pub(super) fn with_ring<R>(pool: usize, f: impl FnOnce(&Arc<Shard>, &mut Ring) -> R) -> Option<R> {
    with_local(|local| {
        let mut ring = local.ring.try_borrow_mut().ok()?;
        (local.shard.pool() == pool).then(|| f(&local.shard, &mut ring))
    })
    .flatten()
}

/// Cancels an operation of the calling thread's ring.
pub(super) fn abandon<T: OpCode + Send + 'static>(key: Key<T>, reply: Option<Reply<T>>) {
    let mut given = Some((key, reply));
    with_local(|local| {
        let Some((key, reply)) = given.take() else {
            return;
        };
        match local.ring.try_borrow_mut() {
            Ok(mut ring) => ring.abandon(key, reply),
            // dropped from within the ring, by a destructor
            Err(_) => local
                .later
                .borrow_mut()
                .push(Box::new(move |ring| ring.abandon(key, reply))),
        }
    });
    // After the end of the ring, which has counted this operation as missing and leaked itself.
    if let Some((key, _reply)) = given {
        mem::forget(key);
    }
}

/// Returns the calling thread's shard, if it belongs to runtime `pool`.
pub(super) fn here(pool: usize) -> Option<Arc<Shard>> {
    with_local(|local| (local.shard.pool() == pool).then(|| Arc::clone(&local.shard))).flatten()
}

/// Returns true if the calling thread is the thread of `shard`.
pub(super) fn is_here(shard: &Arc<Shard>) -> bool {
    with_local(|local| Arc::ptr_eq(&local.shard, shard)).unwrap_or(false)
}

/// Queues a task if the calling thread is the thread of its shard, else returns it.
pub(super) fn queue_here(shard: &Arc<Shard>, task: Arc<Task>) -> Option<Arc<Task>> {
    let mut task = Some(task);
    with_local(|local| {
        if Arc::ptr_eq(&local.shard, shard) && !local.ending.get() {
            local.ready.borrow_mut().extend(task.take());
        }
    });
    task
}

/// Wakes `waker` after the calling thread's ring has been polled. Returns false on a thread without
/// a ring.
pub(super) fn wake_behind_completions(waker: &Waker) -> bool {
    with_local(|local| {
        let has_turns = !local.ending.get();
        if has_turns {
            local.yielded.borrow_mut().push(waker.clone());
        }
        has_turns
    })
    .unwrap_or(false)
}

/// Runs a shard's thread, and sends the shard, or the error that prevented it, to `started`.
pub(super) fn run(plan: &Plan, started: mpsc::Sender<io::Result<Arc<Shard>>>) {
    plan.placement.apply();
    // the kernel ends waits late by the timer slack, usually 50 us; without the permission they
    // stay late
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let ring = Ring::new().and_then(|mut ring| self_test::run(&mut ring).map(|()| ring));
    let ring = match ring {
        Ok(ring) => ring,
        // the starting thread receives the error and reports it
        Err(error) => return drop(started.send(Err(error))),
    };
    // from here on tasks find their shard through the thread-local state
    let shard = Arc::new(Shard::new(plan.pool, ring.waker()));
    let local = Rc::new(Local {
        shard: Arc::clone(&shard),
        ring: RefCell::new(ring),
        ready: RefCell::default(),
        yielded: RefCell::default(),
        tasks: RefCell::default(),
        later: RefCell::default(),
        ending: Cell::new(false),
    });
    LOCAL.set(Some(Rc::clone(&local)));
    if started.send(Ok(shard)).is_ok() {
        drop(started);
        // a foreign waker may panic; the tasks must then end as if the thread was stopped
        if caught(|| local.serve()).is_err() {
            tracing::error!("an io_uring thread panicked and its tasks end");
        }
    }
    local.end();
    LOCAL.take();
}

impl Local {
    fn serve(&self) {
        while !self.shard.is_stopping() {
            self.shard.note_running();
            let timeout = self.turn();
            self.shard.note_waiting();
            let polled = self.ring.borrow_mut().poll(timeout);
            self.abandon_rest();
            self.wake_yielded();
            if let Err(error) = polled {
                tracing::error!("an io_uring failed and its tasks end: {error}");
                return;
            }
        }
    }

    /// Runs the tasks that are ready or due; returns the time that the ring may wait afterwards.
    fn turn(&self) -> Option<Duration> {
        self.shard.collect(&mut *self.ready.borrow_mut());
        self.shard.timers().fire(Instant::now);
        for _ in 0..TASKS_PER_TURN {
            let next = self.ready.borrow_mut().pop_front();
            let Some(task) = next else {
                let is_awaited = !self.yielded.borrow().is_empty();
                return is_awaited
                    .then_some(Duration::ZERO)
                    .or_else(|| self.shard.timers().left());
            };
            self.run(&task);
        }
        Some(Duration::ZERO)
    }

    fn run(&self, task: &Arc<Task>) {
        let address = Arc::as_ptr(task).addr();
        match task.run() {
            Progress::Waits if task.keep() => {
                self.tasks.borrow_mut().insert(address, Arc::clone(task));
            }
            Progress::Waits | Progress::Over => {}
            Progress::Ends => {
                self.shard.note_end();
                if task.is_kept() {
                    let kept = self.tasks.borrow_mut().remove(&address);
                    drop(kept);
                }
            }
        }
    }

    fn wake_yielded(&self) {
        let yielded = self.yielded.take();
        yielded.into_iter().for_each(Waker::wake);
    }

    fn abandon_rest(&self) {
        for abandon in self.later.take() {
            abandon(&mut self.ring.borrow_mut());
        }
    }

    /// Drops all tasks on this thread, and their operations in the ring.
    fn end(&self) {
        self.ending.set(true);
        let mut left = self.shard.close();
        left.extend(self.ready.take());
        left.extend(self.tasks.take().into_values());
        left.iter().for_each(|task| task.cancel());
        drop(left);
        self.shard.timers().close();
        self.wake_yielded();
        self.abandon_rest();
        self.ring.borrow_mut().settle();
        self.abandon_rest();
    }
}
