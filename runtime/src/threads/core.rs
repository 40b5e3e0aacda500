// SPDX-License-Identifier: MIT OR Apache-2.0
//! State shared by the threads of one runtime: their start, their names and their stop.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use socket2::Socket;

use super::idle::{Idle, Job};
use super::shared_thread::SharedThread;
use super::task::TaskThread;
use super::thread_waker::ThreadWaker;
use crate::placement::Placement;
use crate::spin::Spin;

/// The longest name of a thread that Linux keeps, in bytes.
const NAME_BYTES_MAX: usize = 15;

/// Label of the thread that waits for tasks which poll this backend's futures elsewhere, and runs
/// tasks that could get no thread.
pub(super) const WAIT: &str = "zonda-wait";

/// State shared by all threads of a runtime.
pub(super) struct Core {
    placement: Placement,
    spin: Spin,
    stopped: AtomicBool,
    registry: Mutex<Registry>,
    idle: Idle,
}

/// The bells and sockets to notify when the runtime stops, and the names in use.
#[derive(Default)]
struct Registry {
    bells: WeakList<ThreadWaker>,
    /// Adopted sockets: a thread may be blocked in a call on one.
    sockets: WeakList<AdoptedSocket>,
    /// Threads that many tasks share, by label.
    crowds: HashMap<&'static str, Arc<SharedThread>>,
    /// Number of threads started, by label.
    started: HashMap<&'static str, usize>,
}

/// An adopted socket, for as long as halves of a stream hold it. Other owners may hold the socket
/// itself longer, for example after a release.
pub(super) struct AdoptedSocket(pub(super) Arc<Socket>);

/// A list of weak references.
struct WeakList<T> {
    entries: Vec<Weak<T>>,
    /// The length at which dead entries are removed.
    review_at: usize,
}

impl<T> Default for WeakList<T> {
    fn default() -> Self {
        WeakList {
            entries: Vec::new(),
            review_at: 16,
        }
    }
}

impl<T> WeakList<T> {
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

/// Returns the error of an operation on a runtime that was dropped.
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

    /// Locks the registry. The lock is held for a few moves; code under it cannot panic and takes
    /// no other lock.
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the duration for which a read polls its socket before it blocks.
    pub(super) fn spin(&self) -> Spin {
        self.spin
    }

    /// Returns true if all tasks are to end.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Signals all tasks to end, without waiting for them.
    pub(super) fn stop(&self) {
        let (bells, sockets, crowds) = {
            let mut registry = self.registry();
            self.stopped.store(true, Ordering::Release);
            let crowds = std::mem::take(&mut registry.crowds);
            (registry.bells.take(), registry.sockets.take(), crowds)
        };
        for socket in sockets {
            // the socket may never have been connected, or be disconnected by now
            let _ = socket.0.shutdown(Shutdown::Both);
        }
        for bell in bells {
            bell.ring();
        }
        self.idle.close();
        drop(crowds);
    }

    /// Registers a bell to be rung when the runtime stops.
    pub(super) fn enrol(&self, bell: &Arc<ThreadWaker>) {
        self.registry().bells.add(bell);
    }

    /// Registers a socket to be shut down when the runtime stops, unless the returned handle was
    /// dropped before.
    pub(super) fn adopt(&self, socket: Arc<Socket>) -> io::Result<Arc<AdoptedSocket>> {
        let mut registry = self.registry();
        if self.is_stopped() {
            return Err(shut_down());
        }
        let adopted = Arc::new(AdoptedSocket(socket));
        registry.sockets.add(&adopted);
        Ok(adopted)
    }

    /// Starts a task on a thread of its own: an idle one of its label, or a new one.
    pub(super) fn spawn<M, F>(self: &Arc<Self>, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        if self.is_stopped() {
            return;
        }
        // a failed thread start drops its closure, so the closure gets only a share of `make`
        let make = Arc::new(Mutex::new(Some(make)));
        let take = |make: &Mutex<Option<M>>| {
            let mut make = make.lock().unwrap_or_else(PoisonError::into_inner);
            make.take()
        };
        let (core, theirs) = (Arc::clone(self), Arc::clone(&make));
        let job: Job = Box::new(move |place: &mut TaskThread| {
            if let Some(make) = take(&theirs) {
                place.run(&core, async move { make().await });
            }
        });
        // an idle thread of this label, else a new one
        let Some(job) = self.idle.call(task, job) else {
            return;
        };
        let core = Arc::clone(self);
        let started = self.start_thread(self.name(task), move || core.work(task, job));
        // without a new thread the task shares one
        if let Err(error) = started
            && let Some(make) = take(&make)
        {
            tracing::warn!("no thread for {task} ({error}): it shares {WAIT}");
            self.join_crowd(WAIT, task, make);
        }
    }

    /// Runs the tasks of one label on a thread until it has been idle for too long.
    fn work(&self, task: &'static str, first: Job) {
        let _report = PanicReport(task);
        let mut place = TaskThread::default();
        let mut next = Some(first);
        while let Some(job) = next {
            job(&mut place);
            next = self.idle.wait(task);
        }
    }

    /// Returns the number of idle threads of this label.
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

    /// Returns the name of the next thread of this label, cut to the length that the system keeps.
    fn name(&self, label: &'static str) -> String {
        let mut registry = self.registry();
        let number = registry.started.entry(label).or_default();
        let suffix = format!("-{number}");
        *number += 1;
        let room = NAME_BYTES_MAX.saturating_sub(suffix.len());
        label.chars().take(room).chain(suffix.chars()).collect()
    }
}

/// Sets the timer slack of the calling thread to 1 ns; by default Linux ends waits up to 50 us
/// late.
#[cfg(target_os = "linux")]
fn make_timers_exact() {
    // if the system refuses it, waits end somewhat later
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(not(target_os = "linux"))]
fn make_timers_exact() {}

/// A drop guard that logs a panic of its task. Only the task's thread ends with it.
pub(super) struct PanicReport(pub(super) &'static str);

impl Drop for PanicReport {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!("task {} panicked and ended; all others continue", self.0);
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
        let mut roll = WeakList::default();
        let here = Arc::new(1);
        roll.add(&here);
        for _ in 0..100 {
            roll.add(&Arc::new(2));
        }
        assert!(roll.entries.len() <= 16);
        assert_eq!(roll.take().count(), 1);
    }
}
