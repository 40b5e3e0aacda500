// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a socket or a deadline, on a thread of this backend or on any other.
//!
//! On a thread of this backend, that thread waits. Elsewhere the thread `zonda-wait` does, so that
//! no other executor is blocked.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{SockRef, Socket};

use super::core::{Core, WAIT, shut_down};
use super::turn;
use crate::oneshot;

/// The step of a sleep that falls back to blocking because the thread `zonda-wait` cannot be
/// started.
const STEP: Duration = Duration::from_millis(10);

/// The mode of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CallMode {
    /// Without blocking: [`io::ErrorKind::WouldBlock`] if the call would have to.
    AtOnce,
    /// Blocking inside the call.
    Waiting,
}

/// A wait that the thread `zonda-wait` does for a thread outside of this backend.
struct ForeignWait {
    done: oneshot::Receiver<()>,
    /// A sender whose drop ends the wait.
    _wanted: oneshot::Sender<()>,
}

/// The event that `zonda-wait` waits for.
enum WaitEvent {
    Ready(Arc<Socket>, PollFlags),
    Moment(Instant),
}

impl WaitEvent {
    /// Returns true if the goal may be reached after a wait; otherwise adds it to the wait set.
    fn poll(&self, context: &Context<'_>, waited: bool) -> bool {
        match self {
            WaitEvent::Ready(..) if waited => true,
            WaitEvent::Ready(socket, flags) => !turn::want(context, socket, *flags),
            WaitEvent::Moment(moment) => {
                Instant::now() >= *moment || !turn::want_until(context, *moment)
            }
        }
    }
}

impl ForeignWait {
    fn start(core: &Arc<Core>, goal: WaitEvent) -> ForeignWait {
        let (finish, done) = oneshot::channel();
        let (wanted, mut unwanted) = oneshot::channel::<()>();
        core.spawn_brief(WAIT, move || async move {
            let mut waited = false;
            poll_fn(|context| {
                let given_up = Pin::new(&mut unwanted).poll(context).is_ready();
                if given_up || goal.poll(context, waited) {
                    return Poll::Ready(());
                }
                waited = true;
                Poll::Pending
            })
            .await;
            // drop the socket first: the waiter may need sole ownership when it sees the end
            drop(goal);
            finish.send(());
        });
        ForeignWait {
            done,
            _wanted: wanted,
        }
    }

    /// Returns ready when the goal is reached; `None` if the wait was abandoned.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        Pin::new(&mut self.done).poll(context)
    }
}

/// A socket and the events to wait for.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) socket: &'a Arc<Socket>,
    pub(super) flags: PollFlags,
}

/// Makes a call on a socket like [`call`]; but where the call would block, it is first repeated
/// without blocking for the duration of the runtime's busy poll.
pub(super) async fn call_spinning<T>(
    core: &Arc<Core>,
    source: Source<'_>,
    mut make: impl FnMut(CallMode) -> io::Result<T>,
) -> io::Result<T> {
    let once = |how| {
        if how == CallMode::Waiting
            && let Some(spinning) = core.spin().start(Instant::now)
        {
            loop {
                match make(CallMode::AtOnce) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return result,
                }
                if core.is_stopped() || !spinning.goes_on(Instant::now()) {
                    break;
                }
                thread::yield_now();
            }
        }
        make(how)
    };
    call(core, source, false, once).await
}

/// Repeats a call on a socket until it returns something other than [`io::ErrorKind::WouldBlock`],
/// and waits for the socket's events in between. Only if `eager` is the first call made at once:
/// otherwise the socket is waited for first.
pub(super) async fn call<T>(
    core: &Arc<Core>,
    source: Source<'_>,
    eager: bool,
    mut call: impl FnMut(CallMode) -> io::Result<T>,
) -> io::Result<T> {
    let mut worth_trying = eager;
    let mut elsewhere: Option<ForeignWait> = None;
    poll_fn(|context| {
        let own = turn::is_own(context);
        // finish a wait that another thread does
        if let Some(wait) = &mut elsewhere {
            ready!(wait.poll(context)).ok_or_else(shut_down)?;
            elsewhere = None;
        }
        // block if permitted; try at once if the socket may be ready
        let mut how = match turn::may_block(context) {
            true => Some(CallMode::Waiting),
            false => (worth_trying || !own).then_some(CallMode::AtOnce),
        };
        worth_trying = true;
        while let Some(mode) = how {
            let result = call(mode);
            if core.is_stopped() {
                return Poll::Ready(Err(shut_down()));
            }
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if mode == CallMode::Waiting {
                        turn::did_not_block(context);
                    }
                    how = None;
                }
                result => return Poll::Ready(result),
            }
        }
        // not ready: wait on this thread, or have `zonda-wait` do it
        if own {
            turn::want(context, source.socket, source.flags);
            return Poll::Pending;
        }
        let goal = WaitEvent::Ready(Arc::clone(source.socket), source.flags);
        let wait = elsewhere.insert(ForeignWait::start(core, goal));
        ready!(wait.poll(context)).ok_or_else(shut_down)?;
        // The goal is reached already: the next poll makes the call.
        elsewhere = None;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Waits until `socket` takes bytes, is connected, or has failed.
pub(super) async fn writable(core: &Arc<Core>, socket: &Arc<Socket>) -> io::Result<()> {
    let ask = |how| {
        let limit = (how == CallMode::AtOnce).then(Timespec::default);
        let mut sockets = [PollFd::new(&**socket, PollFlags::OUT)];
        match poll(&mut sockets, limit.as_ref())? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    };
    let flags = PollFlags::OUT;
    call(core, Source { socket, flags }, false, ask).await
}

/// Completes at `deadline`, or when the runtime is shut down.
pub(super) async fn sleep_until(core: &Arc<Core>, deadline: Instant) {
    let mut elsewhere: Option<ForeignWait> = None;
    poll_fn(|context| {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        if turn::want_until(context, deadline) {
            return Poll::Pending;
        }
        // another executor polls: `zonda-wait` waits, or this thread in short steps
        let wait =
            elsewhere.get_or_insert_with(|| ForeignWait::start(core, WaitEvent::Moment(deadline)));
        if ready!(wait.poll(context)).is_some() || core.is_stopped() {
            return Poll::Ready(());
        }
        elsewhere = None;
        thread::sleep(left.min(STEP));
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Yields to the thread's other tasks, if there are any, and to other threads.
pub(super) async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        thread::yield_now();
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Connects an unconnected socket, and makes it non-blocking.
pub(super) async fn connect(
    core: &Arc<Core>,
    socket: Arc<Socket>,
    to: std::net::SocketAddr,
) -> io::Result<Arc<Socket>> {
    socket.set_nonblocking(true)?;
    match SockRef::from(&*socket).connect(&to.into()) {
        Ok(()) => return Ok(socket),
        Err(error) if is_under_way(&error) => {}
        Err(error) => return Err(error),
    }
    writable(core, &socket).await?;
    match socket.take_error()? {
        None => Ok(socket),
        Some(error) => Err(error),
    }
}

fn is_under_way(error: &io::Error) -> bool {
    let in_progress = rustix::io::Errno::INPROGRESS.raw_os_error();
    error.raw_os_error() == Some(in_progress)
        || matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
        )
}
