// SPDX-License-Identifier: MIT OR Apache-2.0

//! The bounded queue in front of a storage.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use zonda::query::Query;
use zonda::sample::Sample;

use crate::answers::{Rest, STOPPED, refuse};
use crate::replica::Message;

/// Limits of what waits for a storage.
pub const JOBS_MAX: usize = 4096;
pub const BYTES_MAX: usize = 32 << 20;

/// Bytes of a job beside its payload.
const JOB_BYTES: usize = 256;

/// A piece of work for a storage.
pub enum Job {
    Sample(Sample),
    Query(Query),
    /// The next part of a long answer.
    Rest(Rest),
    /// A message of another replica.
    Align(Message),
}

impl Job {
    fn bytes(&self) -> usize {
        let payload = match self {
            Job::Sample(sample) => sample.payload().len(),
            Job::Query(query) => query.payload().map_or(0, |payload| payload.len()),
            Job::Rest(_) => 0,
            Job::Align(message) => message.len(),
        };
        payload + JOB_BYTES
    }

    /// Tells the asker of a query that it is not answered.
    pub fn refuse(self, reason: &str) {
        match self {
            Job::Query(query) => refuse(&query, reason),
            Job::Rest(rest) => refuse(&rest.active.query, reason),
            Job::Align(Message::Question(query)) => refuse(&query, reason),
            Job::Align(_) | Job::Sample(_) => {}
        }
    }
}

/// Jobs that were taken from a queue. Those that are left when this is dropped are refused.
#[derive(Default)]
pub struct Jobs(VecDeque<Job>);

impl Jobs {
    pub fn pop(&mut self) -> Option<Job> {
        self.0.pop_front()
    }

    pub fn refuse(&mut self, reason: &str) {
        self.0.drain(..).for_each(|job| job.refuse(reason));
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.refuse(STOPPED);
    }
}

/// Fate of a job that was given to a queue.
pub enum Pushed {
    Taken,
    Full(Job),
    Closed(Job),
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    bytes: usize,
    is_closed: bool,
}

impl State {
    fn has_room(&self, bytes: usize) -> bool {
        // A job that is larger than the limit is taken alone.
        self.jobs.is_empty() || (self.jobs.len() < JOBS_MAX && self.bytes + bytes <= BYTES_MAX)
    }
}

/// The work that waits for a storage, in order of arrival.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

impl Queue {
    /// Adds a job.
    ///
    /// # Blocking
    /// While it is full, if `waits`.
    pub fn push(&self, job: Job, waits: bool) -> Pushed {
        let bytes = job.bytes();
        let mut state = self.state.lock();
        while !state.is_closed && !state.has_room(bytes) {
            if !waits {
                return Pushed::Full(job);
            }
            self.emptied.wait(&mut state);
        }
        self.add(state, job, bytes)
    }

    /// Adds the rest of an answer beyond the limits: there is one for each query at most. The asker
    /// of a storage that is closed gets an error after the replies so far.
    pub fn push_rest(&self, rest: Rest) {
        let pushed = self.add(self.state.lock(), Job::Rest(rest), JOB_BYTES);
        if let Pushed::Closed(job) = pushed {
            job.refuse(STOPPED);
        }
    }

    fn add(&self, mut state: parking_lot::MutexGuard<'_, State>, job: Job, bytes: usize) -> Pushed {
        if state.is_closed {
            return Pushed::Closed(job);
        }
        state.bytes += bytes;
        state.jobs.push_back(job);
        if state.jobs.len() == 1 {
            self.filled.notify_one();
        }
        Pushed::Taken
    }

    /// Takes all jobs into `jobs`, which is empty; waits for one until then. Returns false once the queue is closed
    /// and empty.
    pub fn take(&self, jobs: &mut Jobs, until: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while state.jobs.is_empty() && !state.is_closed {
            match until {
                None => self.filled.wait(&mut state),
                Some(until) => {
                    if self.filled.wait_until(&mut state, until).timed_out() {
                        break;
                    }
                }
            }
        }
        std::mem::swap(&mut state.jobs, &mut jobs.0);
        state.bytes = 0;
        self.emptied.notify_all();
        !(jobs.0.is_empty() && state.is_closed)
    }

    /// Closes it, and gives what waits in it to another one, beyond the limits of that one.
    pub fn hand_over(&self, to: &Queue) {
        let jobs = {
            let mut state = self.state.lock();
            state.is_closed = true;
            std::mem::take(&mut state.jobs)
        };
        self.emptied.notify_all();
        for job in jobs {
            let bytes = job.bytes();
            if let Pushed::Closed(job) = to.add(to.state.lock(), job, bytes) {
                job.refuse(STOPPED);
            }
        }
    }

    /// Refuses all further jobs, and wakes everything that waits.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}
