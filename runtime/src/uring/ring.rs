// SPDX-License-Identifier: MIT OR Apache-2.0
//! One io_uring and its operations in progress. Lives and dies on one thread.
//!
//! Memory that the kernel may still access is never freed: an abandoned operation is cancelled and
//! kept until the kernel has confirmed it, and a ring whose operations do not end is leaked.

use std::io;
use std::mem;
use std::task::Waker;
use std::time::{Duration, Instant};

use compio::buf::BufResult;
use compio::driver::op::OpCodeFlag;
use compio::driver::{DriverType, Key, OpCode, Proactor, ProactorBuilder, PushEntry};

use crate::oneshot;

/// Submissions that the ring holds until they are passed to the kernel; there is room for twice as
/// many completions, and more wait in the kernel.
const ENTRIES: u32 = 256;

/// The limit of a ring's wait at its end for the confirmation of cancelled operations.
const SETTLE: Duration = Duration::from_secs(1);

/// The sender of the outcome of an operation that was handed to another thread.
pub(super) type Reply<T> = oneshot::Sender<(io::Result<usize>, T)>;

/// A cancelled operation: returns true when the kernel has released it.
type Abandoned = Box<dyn FnMut(&mut Proactor) -> bool>;

/// A ring and its operations; see the [module](self).
pub(super) struct Ring {
    /// The driver; `None` only during the drop.
    proactor: Option<Proactor>,
    /// Number of operations that the kernel has, or will get.
    under_way: usize,
    /// Number of entries since the last submission.
    unsubmitted: u32,
    abandoned: Vec<Abandoned>,
}

/// The kernel's mode of delivering completions, the best one first.
#[derive(Clone, Copy)]
enum Delivery {
    /// Deferred until this thread polls for them (since Linux 6.1).
    Deferred,
    /// At any time, interrupting this thread.
    Immediate,
}

impl Ring {
    /// Creates a ring with all operations that this backend needs, on the thread that will use it.
    ///
    /// # Errors
    /// Returns the system's error.
    pub(super) fn new() -> io::Result<Self> {
        let proactor = match build(Delivery::Deferred) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                build(Delivery::Immediate)?
            }
            result => result?,
        };
        // compio has a polling driver, which another crate of the program may have compiled in
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

    /// Returns a waker that interrupts [`Ring::poll`], from any thread.
    pub(super) fn waker(&self) -> Waker {
        self.proactor
            .as_ref()
            .map_or_else(|| Waker::noop().clone(), Proactor::waker)
    }

    /// Starts an operation; the next [`Ring::poll`] passes it to the kernel.
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

    /// Takes the result of an operation, or registers `waker` for it.
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

    /// Cancels an operation that its owner has abandoned. The outcome goes to `reply`, if there is
    /// one.
    pub(super) fn abandon<T: OpCode + Send + 'static>(
        &mut self,
        key: Key<T>,
        mut reply: Option<Reply<T>>,
    ) {
        let Some(proactor) = &mut self.proactor else {
            return mem::forget(key);
        };
        if self.unsubmitted >= ENTRIES {
            // A cancellation is lost if the ring is full, so make room. A lost thread wake-up is
            // harmless: the thread checks its inbox before it waits.
            proactor.flush();
            self.unsubmitted = 0;
        }
        self.unsubmitted += 1;
        let token = proactor.register_cancel(&key);
        proactor.cancel_token(token);
        // keep the operation until the kernel has completed or cancelled it
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

    /// Submits the started operations and waits for completions, an interruption, or the end of
    /// `timeout`.
    ///
    /// # Errors
    /// Returns the system's error.
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

    /// Waits for the abandoned operations, at most `SETTLE`.
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
            // The kernel may still use their buffers, even after the ring's descriptor is closed.
            tracing::warn!(
                "{} operations of an io_uring did not end: their memory is leaked",
                self.under_way
            );
            mem::forget(self.proactor.take());
            mem::forget(mem::take(&mut self.abandoned));
        }
    }
}

/// Returns true if nothing completed, or a signal came.
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
        // for operations that the kernel lacks; the check below excludes any
        .thread_pool_limit(0);
    if let Delivery::Deferred = delivery {
        builder
            .single_issuer(true)
            .defer_taskrun(true)
            .taskrun_flag(true);
    }
    let plain = builder.clone();
    // every operation that the backend uses must be supported
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
        // If no ring can be created, every operation seems unsupported: a plain ring returns the
        // real error.
        drop(plain.build()?);
    }
    built
}
