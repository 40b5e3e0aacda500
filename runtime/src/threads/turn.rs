// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wait set of the task that is being polled on this thread, for the thread that polls it.
//!
//! A future of this backend that is not ready leaves its socket or its deadline here, and the
//! thread waits for all of them at once. A call that is the only thing the task waits for may block
//! by itself: the task is polled again with permission to block.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{Context, Waker};
use std::time::Instant;

use rustix::event::PollFlags;
use socket2::Socket;

use super::thread_waker::ThreadWaker;

/// The events that a task waits for, in addition to its waker.
#[derive(Default)]
pub(super) struct PollInterests {
    /// Sockets, each with the events to wait for.
    pub(super) sockets: Vec<(Arc<Socket>, PollFlags)>,
    /// The earliest deadline.
    pub(super) deadline: Option<Instant>,
}

impl PollInterests {
    pub(super) fn clear(&mut self) {
        self.sockets.clear();
        self.deadline = None;
    }
}

/// Permission of a call to block.
#[derive(Clone, Copy, PartialEq)]
enum Permission {
    No,
    Granted,
}

/// The polls of one task, or of several one after the other.
struct PollScope {
    waker: Waker,
    wants: PollInterests,
    permission: Permission,
    /// The bell behind the waker, and its reference count while no owner outside of this thread
    /// holds it. `None`: never alone.
    alone: Option<(Arc<ThreadWaker>, usize)>,
}

impl PollScope {
    /// Returns true if no other thread can wake the task, nor has done so.
    fn is_alone(&self) -> bool {
        let Some((bell, holders)) = &self.alone else {
            return false;
        };
        if Arc::strong_count(bell) != *holders {
            return false;
        }
        // the thread that released the bell did so after ringing it
        fence(Ordering::Acquire);
        true
    }
}

thread_local! {
    /// One entry per wait in progress on this thread: a callback may start another one.
    static TURNS: RefCell<Vec<PollScope>> = const { RefCell::new(Vec::new()) };
}

/// A guard that owns the topmost turn until it is dropped.
pub(super) struct PollGuard(());

impl Drop for PollGuard {
    fn drop(&mut self) {
        // wakers may run code when they are dropped, so they are dropped after the borrow
        drop(TURNS.try_with(|turns| turns.borrow_mut().pop()));
    }
}

/// The next step for a task that is not ready.
pub(super) enum NextStep {
    /// Poll the task again: an event has come, or the task now blocks by itself.
    Poll,
    /// Wait for these events first.
    Wait(PollInterests),
}

impl PollGuard {
    /// Begins to poll the only task of this thread. The returned waker is the one to poll it with;
    /// `bell` is behind it, and must not be shared yet.
    pub(super) fn single(bell: &Arc<ThreadWaker>) -> (PollGuard, Waker) {
        let waker = Waker::from(Arc::clone(bell));
        let held = PollGuard::push(waker.clone(), Some((Arc::clone(bell), 0)));
        held.with(|turn| {
            if let Some((bell, holders)) = &mut turn.alone {
                *holders = Arc::strong_count(bell);
            }
        });
        (held, waker)
    }

    /// Begins to poll one task of several.
    pub(super) fn one_of_several(waker: Waker) -> PollGuard {
        PollGuard::push(waker, None)
    }

    fn push(waker: Waker, alone: Option<(Arc<ThreadWaker>, usize)>) -> PollGuard {
        let turn = PollScope {
            waker,
            wants: PollInterests::default(),
            permission: Permission::No,
            alone,
        };
        TURNS.with_borrow_mut(|turns| turns.push(turn));
        PollGuard(())
    }

    fn with<T>(&self, look: impl FnOnce(&mut PollScope) -> T) -> T {
        TURNS.with_borrow_mut(|turns| look(turns.last_mut().expect("this one is on top")))
    }

    /// Takes the polled task's wait set, and leaves it empty.
    pub(super) fn wants(&self) -> PollInterests {
        self.with(|turn| std::mem::take(&mut turn.wants))
    }

    /// Returns the storage of a wait set for reuse.
    pub(super) fn recycle(&self, mut wants: PollInterests) {
        wants.clear();
        self.with(|turn| turn.wants = wants);
    }

    /// Decides the next step after a poll of the only task of this thread that was not ready.
    pub(super) fn next(&self) -> NextStep {
        self.with(|turn| {
            let declined = turn.permission == Permission::Granted;
            turn.permission = Permission::No;
            let one_call = turn.wants.sockets.len() == 1 && turn.wants.deadline.is_none();
            let alone = one_call && !declined && turn.is_alone();
            let rung = (turn.alone.as_ref()).is_some_and(|(bell, _)| bell.was_rung());
            if !alone && !rung {
                return NextStep::Wait(std::mem::take(&mut turn.wants));
            }
            turn.wants.clear();
            if !rung {
                turn.permission = Permission::Granted;
            }
            NextStep::Poll
        })
    }
}

/// Calls `look` with the turn of the task that `context` wakes, if it belongs to this thread.
fn own<T>(context: &Context<'_>, look: impl FnOnce(&mut PollScope) -> T) -> Option<T> {
    let found = TURNS.try_with(|turns| {
        let mut turns = turns.borrow_mut();
        let turn = turns.last_mut()?;
        turn.waker.will_wake(context.waker()).then(|| look(turn))
    });
    found.ok().flatten()
}

/// Returns true if a thread of this backend polls the task, and does its waiting.
pub(super) fn is_own(context: &Context<'_>) -> bool {
    own(context, |_| ()).is_some()
}

/// Adds a socket to the wait set. Returns false if this thread does not wait for the task.
pub(super) fn want(context: &Context<'_>, socket: &Arc<Socket>, flags: PollFlags) -> bool {
    let leave = |turn: &mut PollScope| turn.wants.sockets.push((Arc::clone(socket), flags));
    own(context, leave).is_some()
}

/// Adds a deadline to the wait set. Returns false if this thread does not wait for the task.
pub(super) fn want_until(context: &Context<'_>, moment: Instant) -> bool {
    let leave = |turn: &mut PollScope| {
        let earliest = turn.wants.deadline.map_or(moment, |old| old.min(moment));
        turn.wants.deadline = Some(earliest);
    };
    own(context, leave).is_some()
}

/// Takes the permission to block inside a call, if there is one.
pub(super) fn may_block(context: &Context<'_>) -> bool {
    let take = |turn: &mut PollScope| {
        let granted = turn.permission == Permission::Granted
            && turn.wants.sockets.is_empty()
            && turn.wants.deadline.is_none()
            && turn.is_alone();
        if granted {
            turn.permission = Permission::No;
        }
        granted
    };
    own(context, take).unwrap_or(false)
}

/// Reports that the permitted call did not block, so that the thread waits instead.
pub(super) fn did_not_block(context: &Context<'_>) {
    own(context, |turn| turn.permission = Permission::Granted);
}
