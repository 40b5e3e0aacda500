// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution of one task on one thread: the thread polls the task, and between polls waits for the
//! task's events.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::event::PollFd;

use super::core::Core;
use super::thread_waker::ThreadWaker;
use super::turn::{NextStep, PollGuard};

/// A thread with its bell, which runs one task after the other.
#[derive(Default)]
pub(super) struct TaskThread {
    /// The bell of the last task, if no other thread can ring it any more.
    bell: Option<Arc<ThreadWaker>>,
}

impl TaskThread {
    /// Runs `future` on the calling thread until it is ready, or the runtime stops.
    pub(super) fn run<F: Future>(&mut self, core: &Core, future: F) {
        let bell = self.bell.take().unwrap_or_else(|| {
            let bell = ThreadWaker::here();
            core.enrol(&bell);
            bell
        });
        drive(Some(core), &bell, future);
        if Arc::strong_count(&bell) == 1 {
            bell.was_rung();
            self.bell = Some(bell);
        }
    }
}

/// Runs `future` on the calling thread until it is ready; `None` when the runtime `core` stopped before.
pub(super) fn run<F: Future>(core: Option<&Core>, future: F) -> Option<F::Output> {
    let bell = ThreadWaker::here();
    if let Some(core) = core {
        core.enrol(&bell);
    }
    drive(core, &bell, future)
}

fn drive<F: Future>(core: Option<&Core>, bell: &Arc<ThreadWaker>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let (turn, waker) = PollGuard::single(bell);
    let mut context = Context::from_waker(&waker);
    while !core.is_some_and(Core::is_stopped) {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        if let NextStep::Wait(wants) = turn.next() {
            let mut sockets: Vec<_> = (wants.sockets.iter())
                .map(|(socket, flags)| PollFd::new(&**socket, *flags))
                .collect();
            bell.wait(&mut sockets, wants.deadline);
            drop(sockets);
            turn.recycle(wants);
        }
    }
    None
}
