// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads whose task has ended stay for a while, since the next task of the same label may come soon: where a task is a
//! connection with one request, starting and ending a thread for it is most of the work, and on a busy machine a thread
//! that is new waits for its first turn behind all others.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::task::Place;

/// How long a thread stays without a task.
const LINGER: Duration = Duration::from_secs(1);

/// How many threads of one label stay at most.
const STAY_MAX: usize = 64;

/// What a thread does for one task.
pub(super) type Job = Box<dyn FnOnce(&mut Place) + Send>;

/// Where a thread without a task waits.
#[derive(Default)]
struct Seat {
    call: Mutex<Call>,
    called: Condvar,
}

/// What a waiting thread is called for.
#[derive(Default)]
enum Call {
    #[default]
    Nothing,
    Task(Job),
    End,
}

impl Seat {
    fn call(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, call: Call) {
        *self.call() = call;
        self.called.notify_one();
    }

    /// Waits to be called, at most until `deadline` if there is one.
    fn wait(&self, deadline: Option<Instant>) -> Call {
        let mut call = self.call();
        while matches!(*call, Call::Nothing) {
            call = match deadline {
                None => (self.called.wait(call)).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let woken = self.called.wait_timeout(call, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        std::mem::take(&mut *call)
    }
}

/// The threads of a runtime that have no task, by label; the one that came last is called first.
#[derive(Default)]
pub(super) struct Idle(Mutex<Seats>);

#[derive(Default)]
struct Seats {
    free: HashMap<&'static str, Vec<Arc<Seat>>>,
    closed: bool,
}

impl Idle {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread that waits do this; gives it back if there is none.
    pub(super) fn call(&self, label: &'static str, job: Job) -> Option<Job> {
        let seat = self.seats().free.get_mut(label).and_then(Vec::pop);
        match seat {
            Some(seat) => {
                seat.give(Call::Task(job));
                None
            }
            None => Some(job),
        }
    }

    /// Waits on a thread of this label for what is to be done next. `None`: the thread ends.
    pub(super) fn wait(&self, label: &'static str) -> Option<Job> {
        let seat = {
            let mut seats = self.seats();
            let closed = seats.closed;
            let free = seats.free.entry(label).or_default();
            if closed || free.len() >= STAY_MAX {
                return None;
            }
            let seat = Arc::new(Seat::default());
            free.push(Arc::clone(&seat));
            seat
        };
        let mut call = seat.wait(Some(Instant::now() + LINGER));
        if matches!(call, Call::Nothing) && !self.leave(label, &seat) {
            // Somebody has taken the seat off the list, and is about to call.
            call = seat.wait(None);
        }
        match call {
            Call::Task(job) => Some(job),
            Call::Nothing | Call::End => None,
        }
    }

    /// Whether the seat was still free.
    fn leave(&self, label: &'static str, seat: &Arc<Seat>) -> bool {
        let mut seats = self.seats();
        let Some(free) = seats.free.get_mut(label) else {
            return false;
        };
        let before = free.len();
        free.retain(|other| !Arc::ptr_eq(other, seat));
        free.len() < before
    }

    /// Ends those who wait, and those who would.
    pub(super) fn close(&self) {
        let free = {
            let mut seats = self.seats();
            seats.closed = true;
            std::mem::take(&mut seats.free)
        };
        for seat in free.into_values().flatten() {
            seat.give(Call::End);
        }
    }

    /// How many threads of this label wait.
    #[cfg(test)]
    pub(super) fn count(&self, label: &'static str) -> usize {
        self.seats().free.get(label).map_or(0, Vec::len)
    }
}
