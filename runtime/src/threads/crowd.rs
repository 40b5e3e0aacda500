// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many small tasks on one thread that waits for all of them at once.
//!
//! For what comes in crowds and mostly waits, such as strangers at a listener: a thread for each would let anybody
//! start threads. None of these tasks ever waits inside of a call. The thread ends a while after the last task.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use rustix::event::PollFd;

use super::bell::Bell;
use super::core::{Core, PanicReport};
use super::turn::{Held, Wants};
use crate::guard::caught;

/// How long the thread stays without a task, since the next one may come soon.
const LINGER: Duration = Duration::from_secs(1);

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes a task on the thread that runs it.
pub(super) type Make = Box<dyn FnOnce() -> Task + Send>;

/// A thread that tasks share, started when it is needed.
#[derive(Default)]
pub(super) struct Crowd(Mutex<Door>);

#[derive(Default)]
struct Door {
    arrivals: Vec<(&'static str, Make)>,
    running: bool,
    /// The thread's, once it has one.
    bell: Option<Arc<Bell>>,
}

impl Crowd {
    fn door(&self) -> MutexGuard<'_, Door> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task, and starts the thread named `label` if it does not run.
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

    /// Runs all tasks until none is left for a while, or the runtime stops.
    fn serve(&self, core: &Core) {
        let bell = Bell::here();
        core.enrol(&bell);
        self.door().bell = Some(Arc::clone(&bell));
        let mut guests: Vec<Guest> = Vec::new();
        let mut idle_since = None;
        while !core.is_stopped() {
            let arrivals = mem::take(&mut self.door().arrivals);
            guests.extend(
                (arrivals.into_iter()).filter_map(|(name, make)| Guest::receive(name, make, &bell)),
            );
            let now = Instant::now();
            guests.retain_mut(|guest| !guest.is_due(now) || guest.poll());
            if !guests.is_empty() {
                idle_since = None;
                wait(&bell, &mut guests);
                continue;
            }
            let leave_at = *idle_since.get_or_insert(now) + LINGER;
            if now >= leave_at && self.leave() {
                return;
            }
            bell.wait(&mut Vec::new(), Some(leave_at));
        }
        let late = mem::take(&mut self.door().arrivals);
        drop(late);
    }

    /// Tells whether nobody came meanwhile; then the next one gets a new thread.
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

/// Waits until any guest is due, and notes which.
fn wait(bell: &Bell, guests: &mut [Guest]) {
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
    owners.retain({
        let mut ready = sockets.iter().map(|socket| !socket.revents().is_empty());
        move |_| ready.next().unwrap_or(false)
    });
    for index in owners {
        guests[index].knock.asked.store(true, Ordering::Release);
    }
}

/// The waker of one task of many.
struct Knock {
    asked: AtomicBool,
    bell: Arc<Bell>,
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.asked.swap(true, Ordering::SeqCst) {
            self.bell.ring();
        }
    }
}

/// One task of many.
struct Guest {
    name: &'static str,
    task: Task,
    knock: Arc<Knock>,
    waker: Waker,
    wants: Wants,
}

impl Guest {
    fn receive(name: &'static str, make: Make, bell: &Arc<Bell>) -> Option<Guest> {
        let knock = Arc::new(Knock {
            asked: AtomicBool::new(true),
            bell: Arc::clone(bell),
        });
        Some(Guest {
            name,
            task: guarded(name, make)?,
            waker: Waker::from(Arc::clone(&knock)),
            knock,
            wants: Wants::default(),
        })
    }

    fn is_due(&self, now: Instant) -> bool {
        self.knock.asked.load(Ordering::Acquire)
            || self.wants.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Polls the task. False: it is over.
    fn poll(&mut self) -> bool {
        self.knock.asked.swap(false, Ordering::SeqCst);
        self.wants.clear();
        let turn = Held::one_of_several(self.waker.clone());
        let mut context = Context::from_waker(&self.waker);
        let polled = guarded(self.name, || self.task.as_mut().poll(&mut context));
        self.wants = turn.wants();
        polled == Some(Poll::Pending)
    }
}

/// `None` when the call panicked.
fn guarded<T>(name: &'static str, call: impl FnOnce() -> T) -> Option<T> {
    // What a panic leaves half done belongs to a task that is dropped.
    caught(|| {
        let _report = PanicReport(name);
        call()
    })
    .ok()
}
