// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many small tasks on one thread that waits for all of them at once.
//!
//! This is for tasks that are numerous and mostly wait, such as handshakes: a thread for each would
//! let any peer start threads. None of these tasks ever blocks inside a call. The thread ends some
//! time after the last task.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use rustix::event::PollFd;

use super::core::{Core, PanicReport};
use super::thread_waker::ThreadWaker;
use super::turn::{PollGuard, PollInterests};
use crate::guard::caught;

/// The time the thread stays without a task, because the next one may come soon.
const LINGER: Duration = Duration::from_secs(1);

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A closure that makes a task on the thread that runs it.
pub(super) type Make = Box<dyn FnOnce() -> Task + Send>;

/// A thread that tasks share, started on demand.
#[derive(Default)]
pub(super) struct SharedThread(Mutex<TaskInbox>);

#[derive(Default)]
struct TaskInbox {
    arrivals: Vec<(&'static str, Make)>,
    running: bool,
    /// The bell of the running thread.
    bell: Option<Arc<ThreadWaker>>,
}

impl SharedThread {
    fn door(&self) -> MutexGuard<'_, TaskInbox> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, and starts the thread named `label` if it is not running.
    pub(super) fn join(
        self: &Arc<Self>,
        core: &Arc<Core>,
        label: &'static str,
        task: &'static str,
        make: Make,
    ) {
        let bell = {
            let mut door = self.door();
            door.arrivals.push((task, make));
            // start the thread if none runs; its failure loses the queued tasks
            if !mem::replace(&mut door.running, true) {
                let (crowd, theirs) = (Arc::clone(self), Arc::clone(core));
                let started = core.start_thread(label.into(), move || crowd.serve(&theirs));
                if let Err(error) = started {
                    door.running = false;
                    let lost = mem::take(&mut door.arrivals);
                    drop(door);
                    tracing::error!("no thread {label} ({error}): {} task(s) lost", lost.len());
                    return;
                }
            }
            door.bell.clone()
        };
        if let Some(bell) = bell {
            bell.ring();
        }
    }

    /// Runs all tasks until none is left for `LINGER`, or the runtime stops.
    fn serve(&self, core: &Core) {
        let bell = ThreadWaker::here();
        core.enrol(&bell);
        self.door().bell = Some(Arc::clone(&bell));
        let mut guests: Vec<SharedTask> = Vec::new();
        let mut idle_since = None;
        while !core.is_stopped() {
            // admit new tasks and poll those that are due
            let arrivals = mem::take(&mut self.door().arrivals);
            guests.extend(
                (arrivals.into_iter())
                    .filter_map(|(name, make)| SharedTask::receive(name, make, &bell)),
            );
            let now = Instant::now();
            guests.retain_mut(|guest| !guest.is_due(now) || guest.poll());
            // with tasks left, wait for their sockets and deadlines
            if !guests.is_empty() {
                idle_since = None;
                wait(&bell, &mut guests);
                continue;
            }
            // without tasks, end after `LINGER`
            let leave_at = *idle_since.get_or_insert(now) + LINGER;
            if now >= leave_at && self.leave() {
                return;
            }
            bell.wait(&mut Vec::new(), Some(leave_at));
        }
        // dropped outside of the lock
        let late = mem::take(&mut self.door().arrivals);
        drop(late);
    }

    /// Marks the thread as ended; false if new tasks have arrived. The next task then starts a new
    /// thread.
    fn leave(&self) -> bool {
        let mut door = self.door();
        if !door.arrivals.is_empty() {
            return false;
        }
        door.running = false;
        door.bell = None;
        true
    }
}

/// Waits until any task is due, and marks the due ones.
fn wait(bell: &ThreadWaker, guests: &mut [SharedTask]) {
    // one poll for all sockets, up to the earliest deadline
    let deadline = guests.iter().filter_map(|guest| guest.wants.deadline).min();
    let mut owners = Vec::new();
    let mut sockets = Vec::new();
    for (index, guest) in guests.iter().enumerate() {
        for (socket, flags) in &guest.wants.sockets {
            owners.push(index);
            sockets.push(PollFd::new(&**socket, *flags));
        }
    }
    bell.wait(&mut sockets, deadline);
    // mark the tasks whose sockets are ready
    owners.retain({
        let mut ready = sockets.iter().map(|socket| !socket.revents().is_empty());
        move |_| ready.next().unwrap_or(false)
    });
    for index in owners {
        guests[index].knock.asked.store(true, Ordering::Release);
    }
}

/// The waker of one task among many.
struct TaskWaker {
    asked: AtomicBool,
    bell: Arc<ThreadWaker>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.asked.swap(true, Ordering::SeqCst) {
            self.bell.ring();
        }
    }
}

/// One task among many.
struct SharedTask {
    name: &'static str,
    task: Task,
    knock: Arc<TaskWaker>,
    waker: Waker,
    wants: PollInterests,
}

impl SharedTask {
    fn receive(name: &'static str, make: Make, bell: &Arc<ThreadWaker>) -> Option<SharedTask> {
        let knock = Arc::new(TaskWaker {
            asked: AtomicBool::new(true),
            bell: Arc::clone(bell),
        });
        Some(SharedTask {
            name,
            task: guarded(name, make)?,
            waker: Waker::from(Arc::clone(&knock)),
            knock,
            wants: PollInterests::default(),
        })
    }

    fn is_due(&self, now: Instant) -> bool {
        self.knock.asked.load(Ordering::Acquire)
            || self.wants.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Polls the task. Returns false if it has ended.
    fn poll(&mut self) -> bool {
        self.knock.asked.swap(false, Ordering::SeqCst);
        self.wants.clear();
        let turn = PollGuard::one_of_several(self.waker.clone());
        let mut context = Context::from_waker(&self.waker);
        let polled = guarded(self.name, || self.task.as_mut().poll(&mut context));
        self.wants = turn.wants();
        polled == Some(Poll::Pending)
    }
}

/// Calls `call`; `None` if it panicked.
fn guarded<T>(name: &'static str, call: impl FnOnce() -> T) -> Option<T> {
    // state left inconsistent by a panic belongs to a task that is then dropped
    caught(|| {
        let _report = PanicReport(name);
        call()
    })
    .ok()
}
