// SPDX-License-Identifier: MIT OR Apache-2.0
//! One io_uring and the operations under way in it. Lives and dies on one thread.
//!
//! What the kernel may still write to or read from is never freed: an operation that nobody waits for any more is
//! cancelled and kept until the kernel has confirmed it, and a ring whose operations do not end is leaked.

use std::io;
use std::mem;
use std::task::Waker;
use std::time::{Duration, Instant};

use compio::buf::BufResult;
use compio::driver::op::OpCodeFlag;
use compio::driver::{DriverType, Key, OpCode, Proactor, ProactorBuilder, PushEntry};

use crate::oneshot;

/// Submissions that the ring holds until they are given to the kernel; completions may be twice as many, and more wait
/// in the kernel.
const ENTRIES: u32 = 256;

/// How long the end of a ring waits for its operations to be confirmed as cancelled.
const SETTLE: Duration = Duration::from_secs(1);

/// Where the outcome of an operation goes that was handed to another thread.
pub(super) type Reply<T> = oneshot::Sender<(io::Result<usize>, T)>;

/// An operation that was given up: true when the kernel has let go of it.
type Abandoned = Box<dyn FnMut(&mut Proactor) -> bool>;

/// See the module.
pub(super) struct Ring {
    /// `None` only while it is being dropped.
    proactor: Option<Proactor>,
    /// Operations that the kernel has, or will get.
    under_way: usize,
    /// Entries since the last submission.
    unsubmitted: u32,
    abandoned: Vec<Abandoned>,
}

/// How the kernel hands completions over, the best way first.
#[derive(Clone, Copy)]
enum Delivery {
    /// When this thread asks for them (since Linux 6.1).
    Deferred,
    /// Whenever it likes, interrupting this thread.
    Immediate,
}

impl Ring {
    /// Makes a ring with all that this backend needs, on the thread that will use it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new() -> io::Result<Self> {
        let proactor = match build(Delivery::Deferred) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                build(Delivery::Immediate)?
            }
            result => result?,
        };
        // compio has a driver that polls, which another crate of the program may have compiled in.
        if proactor.driver_type() != DriverType::IoUring {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("compio chose its {:?} driver", proactor.driver_type()),
            ));
        }
        Ok(Ring {
            proactor: Some(proactor),
            under_way: 0,
            unsubmitted: 0,
            abandoned: Vec::new(),
        })
    }

    /// Interrupts [`Ring::poll`], from any thread.
    pub(super) fn waker(&self) -> Waker {
        self.proactor
            .as_ref()
            .map_or_else(|| Waker::noop().clone(), Proactor::waker)
    }

    /// Starts an operation; it is given to the kernel by the next [`Ring::poll`].
    pub(super) fn push<T: OpCode + 'static>(
        &mut self,
        op: T,
    ) -> PushEntry<Key<T>, BufResult<usize, T>> {
        let Some(proactor) = &mut self.proactor else {
            return PushEntry::Ready(BufResult(Err(io::ErrorKind::NotConnected.into()), op));
        };
        self.unsubmitted += 1;
        let pushed = proactor.push(op);
        if !pushed.is_ready() {
            self.under_way += 1;
        }
        pushed
    }

    /// Takes the result of an operation, or has `waker` woken when there is one.
    pub(super) fn pop<T: OpCode + 'static>(
        &mut self,
        key: Key<T>,
        waker: &Waker,
    ) -> PushEntry<Key<T>, BufResult<usize, T>> {
        let Some(proactor) = &mut self.proactor else {
            return PushEntry::Pending(key);
        };
        proactor.update_waker(&key, waker);
        let popped = proactor.pop(key);
        if popped.is_ready() {
            self.under_way -= 1;
        }
        popped
    }

    /// Cancels an operation that nobody waits for here. Its outcome goes to `reply`, if there is one.
    pub(super) fn abandon<T: OpCode + Send + 'static>(
        &mut self,
        key: Key<T>,
        mut reply: Option<Reply<T>>,
    ) {
        let Some(proactor) = &mut self.proactor else {
            return mem::forget(key);
        };
        if self.unsubmitted >= ENTRIES {
            // A cancellation that finds the ring full is lost. What wakes the thread is not: it looks at its inbox
            // before it waits.
            proactor.flush();
            self.unsubmitted = 0;
        }
        self.unsubmitted += 1;
        let token = proactor.register_cancel(&key);
        proactor.cancel_token(token);
        let mut key = Some(key);
        self.abandoned.push(Box::new(move |proactor| {
            let Some(waiting) = key.take() else {
                return true;
            };
            match proactor.pop(waiting) {
                PushEntry::Pending(waiting) => {
                    key = Some(waiting);
                    false
                }
                PushEntry::Ready(BufResult(result, op)) => {
                    if let Some(reply) = reply.take() {
                        reply.send((result, op));
                    }
                    true
                }
            }
        }));
    }

    /// Gives the kernel what was started and waits for completions, for an interruption, or until `timeout` is over.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let Some(proactor) = &mut self.proactor else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        self.unsubmitted = 0;
        let polled = proactor.poll(timeout);
        if !self.abandoned.is_empty() {
            let before = self.abandoned.len();
            self.abandoned.retain_mut(|op| !op(proactor));
            self.under_way -= before - self.abandoned.len();
        }
        match polled {
            Err(error) if is_idle(&error) => Ok(()),
            result => result,
        }
    }

    /// Waits for the operations that were abandoned, within bounds.
    pub(super) fn settle(&mut self) {
        let deadline = Instant::now() + SETTLE;
        while !self.abandoned.is_empty() && Instant::now() < deadline {
            if self.poll(Some(Duration::from_millis(1))).is_err() {
                return;
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.settle();
        if self.under_way > 0 {
            // The kernel may still use their buffers, also after the ring's descriptor is closed.
            tracing::warn!(
                "{} operations of an io_uring did not end: their memory is left behind",
                self.under_way
            );
            mem::forget(self.proactor.take());
            mem::forget(mem::take(&mut self.abandoned));
        }
    }
}

/// Nothing completed, or a signal came.
fn is_idle(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn build(delivery: Delivery) -> io::Result<Proactor> {
    let mut builder = ProactorBuilder::new();
    builder
        .capacity(ENTRIES)
        .driver_type(DriverType::IoUring)
        // For operations that the kernel lacks; there are none, see below.
        .thread_pool_limit(0);
    if let Delivery::Deferred = delivery {
        builder
            .single_issuer(true)
            .defer_taskrun(true)
            .taskrun_flag(true);
    }
    let plain = builder.clone();
    builder.detect_opcode_support(
        OpCodeFlag::Recv
            | OpCodeFlag::Send
            | OpCodeFlag::SendMsg
            | OpCodeFlag::Connect
            | OpCodeFlag::PollAdd
            | OpCodeFlag::AsyncCancel,
    );
    let built = builder.build();
    if let Err(error) = &built
        && error.kind() == io::ErrorKind::Unsupported
    {
        // Where no ring can be made, every operation seems to be missing: the ring itself tells the true reason.
        drop(plain.build()?);
    }
    built
}
