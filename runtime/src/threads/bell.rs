// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a thread that waits is woken, whether it is parked or in poll(2).

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How often a thread looks whether it was woken while the system has no descriptor left to wake it by.
const BLIND: Duration = Duration::from_millis(5);

/// The wait after a poll(2) that the system refused, so as not to ask it in a circle.
const REFUSED: Duration = Duration::from_millis(1);

/// Wakes one thread. As a waker it belongs to the one task of that thread.
pub(super) struct Bell {
    thread: Thread,
    /// Rung, and the thread has not looked yet. It looks before it waits.
    rung: AtomicBool,
    /// The thread is in poll(2), or about to look at `rung` a last time before it is.
    polling: AtomicBool,
    /// What ends a poll(2); made when it is first needed.
    rope: OnceLock<Option<Rope>>,
}

/// Two ends of a connection that only this thread waits at.
struct Rope {
    pull: UnixStream,
    end: UnixStream,
}

impl Rope {
    fn new() -> Option<Rope> {
        let made = UnixStream::pair().and_then(|(pull, end)| {
            pull.set_nonblocking(true)?;
            end.set_nonblocking(true)?;
            Ok(Rope { pull, end })
        });
        made.inspect_err(|error| tracing::debug!("a thread waits in short steps: {error}"))
            .ok()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Bell {
    /// The bell of the calling thread.
    pub(super) fn here() -> Arc<Bell> {
        Arc::new(Bell {
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
            // When the rope takes nothing it has been pulled already.
            let _ = (&rope.pull).write(&[1]);
        }
    }

    /// Whether it was rung since this was last asked.
    pub(super) fn was_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Waits on the bell's own thread until it is rung, `deadline` has come, or one of `sockets` is ready. May return
    /// early.
    pub(super) fn wait<'a>(&'a self, sockets: &mut Vec<PollFd<'a>>, deadline: Option<Instant>) {
        if sockets.is_empty() {
            return self.park(deadline);
        }
        let rope = self.rope.get_or_init(Rope::new).as_ref();
        let mut left = left_until(deadline);
        match rope {
            Some(rope) => sockets.push(PollFd::new(&rope.end, PollFlags::IN)),
            None => left = Some(left.map_or(BLIND, |left| left.min(BLIND))),
        }
        self.polling.store(true, Ordering::SeqCst);
        // Rung already, it still looks at the sockets: a task that rings for itself must not keep others from theirs.
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
            // What is left in it only makes the next wait end early.
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
