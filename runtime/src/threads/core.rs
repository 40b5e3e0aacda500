// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the threads of one runtime share: how they are started and named, and how all of them are stopped.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use socket2::Socket;

use super::bell::Bell;
use super::crowd::Crowd;
use super::idle::{Idle, Job};
use super::task::Place;
use crate::placement::Placement;
use crate::spin::Spin;

/// The longest name of a thread that Linux keeps, in bytes.
const NAME_BYTES_MAX: usize = 15;

/// The label of the thread that waits in place of tasks that poll this backend's futures elsewhere, or could get no thread.
pub(super) const WAIT: &str = "zonda-wait";

/// What all threads of a runtime share.
pub(super) struct Core {
    placement: Placement,
    spin: Spin,
    stopped: AtomicBool,
    registry: Mutex<Registry>,
    idle: Idle,
}

/// What to notify when the runtime stops, and the names given out.
#[derive(Default)]
struct Registry {
    bells: Roll<Bell>,
    /// Adopted sockets: a thread may be waiting inside of a call on one.
    sockets: Roll<Adopted>,
    /// The threads that many tasks share, by label.
    crowds: HashMap<&'static str, Arc<Crowd>>,
    /// How many threads were started of each label.
    started: HashMap<&'static str, usize>,
}

/// A socket that halves of a stream have, while they have it: others may have it longer, as one that was released.
pub(super) struct Adopted(pub(super) Arc<Socket>);

/// Things that may be gone by now.
struct Roll<T> {
    entries: Vec<Weak<T>>,
    /// At this length those that are gone are struck off.
    review_at: usize,
}

impl<T> Default for Roll<T> {
    fn default() -> Self {
        Roll {
            entries: Vec::new(),
            review_at: 16,
        }
    }
}

impl<T> Roll<T> {
    fn add(&mut self, entry: &Arc<T>) {
        if self.entries.len() >= self.review_at {
            self.entries.retain(|entry| entry.strong_count() > 0);
            self.review_at = 16.max(self.entries.len() * 2);
        }
        self.entries.push(Arc::downgrade(entry));
    }

    fn take(&mut self) -> impl Iterator<Item = Arc<T>> + use<T> {
        let entries = std::mem::take(&mut self.entries);
        entries.into_iter().filter_map(|entry| entry.upgrade())
    }
}

/// What is said when something is asked of a runtime that was dropped.
pub(super) fn shut_down() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the runtime is shut down")
}

impl Core {
    pub(super) fn new(placement: Placement, spin: Spin) -> Core {
        Core {
            placement,
            spin,
            stopped: AtomicBool::new(false),
            registry: Mutex::default(),
            idle: Idle::default(),
        }
    }

    /// The lock is held for a few moves; nothing that can panic, or that locks anything else, runs under it.
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a read asks its socket before it waits for it.
    pub(super) fn spin(&self) -> Spin {
        self.spin
    }

    /// Whether all tasks are to end.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends all tasks, without waiting for it.
    pub(super) fn stop(&self) {
        let (bells, sockets, crowds) = {
            let mut registry = self.registry();
            self.stopped.store(true, Ordering::Release);
            let crowds = std::mem::take(&mut registry.crowds);
            (registry.bells.take(), registry.sockets.take(), crowds)
        };
        for socket in sockets {
            // It may never have been connected, or not be any more.
            let _ = socket.0.shutdown(Shutdown::Both);
        }
        for bell in bells {
            bell.ring();
        }
        self.idle.close();
        drop(crowds);
    }

    /// Has this bell rung when the runtime stops.
    pub(super) fn enrol(&self, bell: &Arc<Bell>) {
        self.registry().bells.add(bell);
    }

    /// Has this socket shut down when the runtime stops, unless what this gives is gone by then.
    pub(super) fn adopt(&self, socket: Arc<Socket>) -> io::Result<Arc<Adopted>> {
        let mut registry = self.registry();
        if self.is_stopped() {
            return Err(shut_down());
        }
        let adopted = Arc::new(Adopted(socket));
        registry.sockets.add(&adopted);
        Ok(adopted)
    }

    /// Starts a task on a thread of its own: one that has ended its task, or a new one.
    pub(super) fn spawn<M, F>(self: &Arc<Self>, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        if self.is_stopped() {
            return;
        }
        // A thread that cannot be started takes what it was given along, so it is given a share only.
        let make = Arc::new(Mutex::new(Some(make)));
        let take = |make: &Mutex<Option<M>>| {
            let mut make = make.lock().unwrap_or_else(PoisonError::into_inner);
            make.take()
        };
        let (core, theirs) = (Arc::clone(self), Arc::clone(&make));
        let job: Job = Box::new(move |place: &mut Place| {
            if let Some(make) = take(&theirs) {
                place.run(&core, async move { make().await });
            }
        });
        let Some(job) = self.idle.call(task, job) else {
            return;
        };
        let core = Arc::clone(self);
        let started = self.start_thread(self.name(task), move || core.work(task, job));
        if let Err(error) = started
            && let Some(make) = take(&make)
        {
            tracing::warn!("no thread for {task} ({error}): it shares {WAIT}");
            self.join_crowd(WAIT, task, make);
        }
    }

    /// The whole life of a thread for tasks of this label.
    fn work(&self, task: &'static str, first: Job) {
        let _report = PanicReport(task);
        let mut place = Place::default();
        let mut next = Some(first);
        while let Some(job) = next {
            job(&mut place);
            next = self.idle.wait(task);
        }
    }

    /// How many threads of this label wait for a task.
    #[cfg(test)]
    pub(super) fn idle(&self, label: &'static str) -> usize {
        self.idle.count(label)
    }

    /// Starts a task on the thread that all tasks of this label share.
    pub(super) fn spawn_brief<M, F>(self: &Arc<Self>, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.join_crowd(task, task, make);
    }

    fn join_crowd<M, F>(self: &Arc<Self>, label: &'static str, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let crowd = {
            let mut registry = self.registry();
            if self.is_stopped() {
                return;
            }
            Arc::clone(registry.crowds.entry(label).or_default())
        };
        crowd.join(self, label, task, Box::new(move || Box::pin(make())));
    }

    /// Starts a thread with the options of this runtime.
    pub(super) fn start_thread(
        self: &Arc<Self>,
        name: String,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let core = Arc::clone(self);
        let thread = thread::Builder::new().name(name).spawn(move || {
            core.placement.apply();
            make_timers_exact();
            drop(core);
            run();
        });
        thread.map(drop)
    }

    /// The name of the next thread of this label, cut to what the system keeps.
    fn name(&self, label: &'static str) -> String {
        let mut registry = self.registry();
        let number = registry.started.entry(label).or_default();
        let suffix = format!("-{number}");
        *number += 1;
        let room = NAME_BYTES_MAX.saturating_sub(suffix.len());
        label.chars().take(room).chain(suffix.chars()).collect()
    }
}

/// By default Linux lets the end of a thread's wait slip by 50 us.
#[cfg(target_os = "linux")]
fn make_timers_exact() {
    // Where it is refused, waits end somewhat later.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn make_timers_exact() {}

/// Logs which task panicked. Its thread ends with it, and nothing else does.
pub(super) struct PanicReport(pub(super) &'static str);

impl Drop for PanicReport {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!("task {} panicked and ended; the others go on", self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RuntimeOptions;

    #[test]
    fn names_are_numbered_and_fit() {
        let placement = Placement::check(&RuntimeOptions::default()).expect("nothing asked");
        let core = Core::new(placement, Spin::default());
        assert_eq!(core.name("zonda-rx"), "zonda-rx-0");
        assert_eq!(core.name("zonda-rx"), "zonda-rx-1");
        assert_eq!(core.name("zonda-something-long"), "zonda-somethi-0");
    }

    #[test]
    fn a_roll_forgets_who_is_gone() {
        let mut roll = Roll::default();
        let here = Arc::new(1);
        roll.add(&here);
        for _ in 0..100 {
            roll.add(&Arc::new(2));
        }
        assert!(roll.entries.len() <= 16);
        assert_eq!(roll.take().count(), 1);
    }
}
