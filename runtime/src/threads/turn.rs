// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the task that is being polled on this thread waits for, as a note to the thread that polls it.
//!
//! A future of this backend that is not ready leaves its socket or its deadline here, and the thread waits for all of
//! that at once. A call that is the only thing the task waits for may do the waiting itself: the task is polled again
//! with the permission for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{Context, Waker};
use std::time::Instant;

use rustix::event::PollFlags;
use socket2::Socket;

use super::bell::Bell;

/// What a task waits for, beside its waker.
#[derive(Default)]
pub(super) struct Wants {
    /// Each until it is ready for what the flags say.
    pub(super) sockets: Vec<(Arc<Socket>, PollFlags)>,
    /// The earliest of all deadlines.
    pub(super) deadline: Option<Instant>,
}

impl Wants {
    pub(super) fn clear(&mut self) {
        self.sockets.clear();
        self.deadline = None;
    }
}

/// Whether a call may wait by itself.
#[derive(Clone, Copy, PartialEq)]
enum Permission {
    No,
    Granted,
}

/// The polls of one task, or of one after the other.
struct Turn {
    waker: Waker,
    wants: Wants,
    permission: Permission,
    /// The bell behind the waker and how many hold it while nobody outside of this thread does. `None`: never alone.
    alone: Option<(Arc<Bell>, usize)>,
}

impl Turn {
    /// Whether nobody can wake the task, nor has.
    fn is_alone(&self) -> bool {
        let Some((bell, holders)) = &self.alone else {
            return false;
        };
        if Arc::strong_count(bell) != *holders {
            return false;
        }
        // The thread that let go of the bell did so after ringing it.
        fence(Ordering::Acquire);
        true
    }
}

thread_local! {
    /// One per wait that is under way on this thread: a callback may start another.
    static TURNS: RefCell<Vec<Turn>> = const { RefCell::new(Vec::new()) };
}

/// The turn on top belongs to this until it is dropped.
pub(super) struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        // Wakers may run code when they go, so they go after the borrow.
        drop(TURNS.try_with(|turns| turns.borrow_mut().pop()));
    }
}

/// What is to be done with a task that is not ready.
pub(super) enum Next {
    /// Poll it again: something has changed, or it waits by itself now.
    Poll,
    /// Wait for this first.
    Wait(Wants),
}

impl Held {
    /// Begins to poll the one task of this thread. The waker is the one to poll it with; `bell` is behind it, and must
    /// not be shared with anybody yet.
    pub(super) fn single(bell: &Arc<Bell>) -> (Held, Waker) {
        let waker = Waker::from(Arc::clone(bell));
        let held = Held::push(waker.clone(), Some((Arc::clone(bell), 0)));
        held.with(|turn| {
            if let Some((bell, holders)) = &mut turn.alone {
                *holders = Arc::strong_count(bell);
            }
        });
        (held, waker)
    }

    /// Begins to poll one task of several.
    pub(super) fn one_of_several(waker: Waker) -> Held {
        Held::push(waker, None)
    }

    fn push(waker: Waker, alone: Option<(Arc<Bell>, usize)>) -> Held {
        let turn = Turn {
            waker,
            wants: Wants::default(),
            permission: Permission::No,
            alone,
        };
        TURNS.with_borrow_mut(|turns| turns.push(turn));
        Held(())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Turn) -> T) -> T {
        TURNS.with_borrow_mut(|turns| look(turns.last_mut().expect("this one is on top")))
    }

    /// What the polled task waits for. Empty from now on.
    pub(super) fn wants(&self) -> Wants {
        self.with(|turn| std::mem::take(&mut turn.wants))
    }

    /// Gives the storage of what was waited for back.
    pub(super) fn recycle(&self, mut wants: Wants) {
        wants.clear();
        self.with(|turn| turn.wants = wants);
    }

    /// What to do after a poll of the one task of this thread, which was not ready.
    pub(super) fn next(&self) -> Next {
        self.with(|turn| {
            let declined = turn.permission == Permission::Granted;
            turn.permission = Permission::No;
            let one_call = turn.wants.sockets.len() == 1 && turn.wants.deadline.is_none();
            let alone = one_call && !declined && turn.is_alone();
            let rung = (turn.alone.as_ref()).is_some_and(|(bell, _)| bell.was_rung());
            if !alone && !rung {
                return Next::Wait(std::mem::take(&mut turn.wants));
            }
            turn.wants.clear();
            if !rung {
                turn.permission = Permission::Granted;
            }
            Next::Poll
        })
    }
}

/// Calls `look` with the turn of the task that `context` wakes, if it is this thread's.
fn own<T>(context: &Context<'_>, look: impl FnOnce(&mut Turn) -> T) -> Option<T> {
    let found = TURNS.try_with(|turns| {
        let mut turns = turns.borrow_mut();
        let turn = turns.last_mut()?;
        turn.waker.will_wake(context.waker()).then(|| look(turn))
    });
    found.ok().flatten()
}

/// Whether a thread of this backend polls the task, and itself waits for what it wants.
pub(super) fn is_own(context: &Context<'_>) -> bool {
    own(context, |_| ()).is_some()
}

/// Leaves a socket to wait for. False: this thread would not.
pub(super) fn want(context: &Context<'_>, socket: &Arc<Socket>, flags: PollFlags) -> bool {
    let leave = |turn: &mut Turn| turn.wants.sockets.push((Arc::clone(socket), flags));
    own(context, leave).is_some()
}

/// Leaves a moment to wait for. False: this thread would not.
pub(super) fn want_until(context: &Context<'_>, moment: Instant) -> bool {
    let leave = |turn: &mut Turn| {
        let earliest = turn.wants.deadline.map_or(moment, |old| old.min(moment));
        turn.wants.deadline = Some(earliest);
    };
    own(context, leave).is_some()
}

/// Takes the permission to wait inside of a call, if there is one.
pub(super) fn may_block(context: &Context<'_>) -> bool {
    let take = |turn: &mut Turn| {
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

/// Says that the call did not wait although it might have, so that the thread waits in its place.
pub(super) fn did_not_block(context: &Context<'_>) {
    own(context, |turn| turn.permission = Permission::Granted);
}
