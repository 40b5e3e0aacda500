// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wake-up of a waiting thread, parked or in poll(2).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Interval at which a thread checks for a wake-up while the system has no descriptor left for one.
const BLIND: Duration = Duration::from_millis(5);

/// The pause after a poll(2) that the system refused, to avoid a busy loop.
const REFUSED: Duration = Duration::from_millis(1);

/// The waker of one thread, and of the one task that the thread runs.
pub(super) struct ThreadWaker {
    thread: Thread,
    /// Set by a wake-up, cleared when the thread sees it. The thread checks it before it waits.
    rung: AtomicBool,
    /// Set while the thread is in poll(2), or about to check `rung` for the last time before it.
    polling: AtomicBool,
    /// The socket pair that ends a poll(2); created on first use.
    rope: OnceLock<Option<WakePair>>,
}

/// A socket pair that only this thread waits for.
struct WakePair {
    pull: UnixStream,
    end: UnixStream,
}

impl WakePair {
    fn new() -> Option<WakePair> {
        let made = UnixStream::pair().and_then(|(pull, end)| {
            pull.set_nonblocking(true)?;
            end.set_nonblocking(true)?;
            Ok(WakePair { pull, end })
        });
        made.inspect_err(|error| tracing::debug!("a thread waits in short steps: {error}"))
            .ok()
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl ThreadWaker {
    /// Creates the bell of the calling thread.
    pub(super) fn here() -> Arc<ThreadWaker> {
        Arc::new(ThreadWaker {
            thread: thread::current(),
            rung: AtomicBool::new(false),
            polling: AtomicBool::new(false),
            rope: OnceLock::new(),
        })
    }

    /// Ends the thread's wait, or its next one.
    pub(super) fn ring(&self) {
        if self.rung.swap(true, Ordering::SeqCst) {
            return;
        }
        if !self.polling.load(Ordering::SeqCst) {
            self.thread.unpark();
        } else if let Some(Some(rope)) = self.rope.get() {
            // a full socket pair will end the poll anyway
            let _ = (&rope.pull).write(&[1]);
        }
    }

    /// Returns true if a wake-up came since the last call.
    pub(super) fn was_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Waits on the bell's own thread until it is rung, `deadline` has passed, or one of `sockets`
    /// is ready. May return early.
    pub(super) fn wait<'a>(&'a self, sockets: &mut Vec<PollFd<'a>>, deadline: Option<Instant>) {
        if sockets.is_empty() {
            return self.park(deadline);
        }
        // the socket pair ends the poll; without one the thread polls in short steps
        let rope = self.rope.get_or_init(WakePair::new).as_ref();
        let mut left = left_until(deadline);
        match rope {
            Some(rope) => sockets.push(PollFd::new(&rope.end, PollFlags::IN)),
            None => left = Some(left.map_or(BLIND, |left| left.min(BLIND))),
        }
        self.polling.store(true, Ordering::SeqCst);
        // a pending wake-up does not skip the poll: a task that wakes itself must not starve the
        // other tasks' sockets
        let left = match self.rung.load(Ordering::SeqCst) {
            true => Some(Duration::ZERO),
            false => left,
        };
        let polled = poll(sockets, left.map(timespec).as_ref());
        self.polling.store(false, Ordering::SeqCst);
        self.rung.swap(false, Ordering::SeqCst);
        if polled.is_err_and(|error| error != Errno::INTR) {
            thread::sleep(REFUSED);
        }
        let pulled = rope.and_then(|rope| Some((rope, sockets.pop()?)));
        if let Some((rope, pulled)) = pulled
            && !pulled.revents().is_empty()
        {
            // bytes left in the pair only make the next wait end early
            let _ = (&rope.end).read(&mut [0; 64]);
        }
    }

    fn park(&self, deadline: Option<Instant>) {
        while !self.was_rung() {
            match left_until(deadline) {
                None => thread::park(),
                Some(Duration::ZERO) => return,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}

fn left_until(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}

fn timespec(left: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}
