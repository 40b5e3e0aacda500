// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reuse of threads: a thread whose task has ended waits for the next task of the same label. Where
//! a task is a connection with one request, starting and ending a thread is most of the work, and
//! on a busy machine a new thread is scheduled behind all running ones.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::task::TaskThread;

/// The time a thread stays without a task.
const LINGER: Duration = Duration::from_secs(1);

/// The maximum number of idle threads per label.
const STAY_MAX: usize = 64;

/// The work of a thread for one task.
pub(super) type Job = Box<dyn FnOnce(&mut TaskThread) + Send>;

/// The slot in which a thread without a task waits.
#[derive(Default)]
struct IdleSlot {
    call: Mutex<IdleCommand>,
    called: Condvar,
}

/// The instruction for a waiting thread.
#[derive(Default)]
enum IdleCommand {
    #[default]
    Nothing,
    Task(Job),
    End,
}

impl IdleSlot {
    fn call(&self) -> MutexGuard<'_, IdleCommand> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, call: IdleCommand) {
        *self.call() = call;
        self.called.notify_one();
    }

    /// Waits for a call, at most until `deadline` if there is one.
    fn wait(&self, deadline: Option<Instant>) -> IdleCommand {
        let mut call = self.call();
        while matches!(*call, IdleCommand::Nothing) {
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

/// The idle threads of a runtime, by label; the last to become idle is called first.
#[derive(Default)]
pub(super) struct Idle(Mutex<IdleSlots>);

#[derive(Default)]
struct IdleSlots {
    free: HashMap<&'static str, Vec<Arc<IdleSlot>>>,
    closed: bool,
}

impl Idle {
    fn seats(&self) -> MutexGuard<'_, IdleSlots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the job to an idle thread; returns it if there is none.
    pub(super) fn call(&self, label: &'static str, job: Job) -> Option<Job> {
        let seat = self.seats().free.get_mut(label).and_then(Vec::pop);
        match seat {
            Some(seat) => {
                seat.give(IdleCommand::Task(job));
                None
            }
            None => Some(job),
        }
    }

    /// Waits on a thread of this label for its next job. `None`: the thread ends.
    pub(super) fn wait(&self, label: &'static str) -> Option<Job> {
        // register as idle, unless enough threads are
        let seat = {
            let mut seats = self.seats();
            let closed = seats.closed;
            let free = seats.free.entry(label).or_default();
            if closed || free.len() >= STAY_MAX {
                return None;
            }
            let seat = Arc::new(IdleSlot::default());
            free.push(Arc::clone(&seat));
            seat
        };
        // on a time-out the thread ends, if it is still in the list
        let mut call = seat.wait(Some(Instant::now() + LINGER));
        if matches!(call, IdleCommand::Nothing) && !self.leave(label, &seat) {
            // a caller has removed the seat from the list and is about to call
            call = seat.wait(None);
        }
        match call {
            IdleCommand::Task(job) => Some(job),
            IdleCommand::Nothing | IdleCommand::End => None,
        }
    }

    /// Removes the seat; returns true if it was still free.
    fn leave(&self, label: &'static str, seat: &Arc<IdleSlot>) -> bool {
        let mut seats = self.seats();
        let Some(free) = seats.free.get_mut(label) else {
            return false;
        };
        let before = free.len();
        free.retain(|other| !Arc::ptr_eq(other, seat));
        free.len() < before
    }

    /// Ends all waiting threads, and those that would wait from now on.
    pub(super) fn close(&self) {
        let free = {
            let mut seats = self.seats();
            seats.closed = true;
            std::mem::take(&mut seats.free)
        };
        for seat in free.into_values().flatten() {
            seat.give(IdleCommand::End);
        }
    }

    /// Returns the number of waiting threads of this label.
    #[cfg(test)]
    pub(super) fn count(&self, label: &'static str) -> usize {
        self.seats().free.get(label).map_or(0, Vec::len)
    }
}
