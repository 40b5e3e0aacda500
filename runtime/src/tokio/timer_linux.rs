// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short waits on Linux: a kernel timer's descriptor, watched by tokio's poller. tokio's own timer counts milliseconds.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ::tokio::io::Interest;
use ::tokio::io::unix::AsyncFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::TokioRuntime;
use crate::yielding::yield_now;
use crate::{PreciseTimer, Runtime};

/// A timer for short waits, about 15 us late. Holds one descriptor; without one it is as coarse as
/// tokio's.
pub struct TokioTimer {
    runtime: TokioRuntime,
    descriptor: Option<AsyncFd<OwnedFd>>,
}

impl TokioTimer {
    /// Creates the timer. Must be called in the runtime's context.
    pub(super) fn new(runtime: TokioRuntime) -> Self {
        let descriptor = create()
            .inspect_err(|error| tracing::debug!("no precise timer: {error}"))
            .ok();
        TokioTimer {
            runtime,
            descriptor,
        }
    }
}

/// Creates the descriptor. tokio deprecates the safe constructor because a type may misreport its
/// descriptor; an `OwnedFd` cannot, and the new constructor would bring `unsafe` into a crate that
/// has none.
#[allow(deprecated)]
fn create() -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = timerfd_create(
        TimerfdClockId::Monotonic,
        TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
    )?;
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Arms the timer once and discards its previous count.
fn arm(descriptor: &OwnedFd, delay: Duration) -> io::Result<()> {
    let seconds = i64::try_from(delay.as_secs()).unwrap_or(i64::MAX);
    let spec = Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: Timespec {
            tv_sec: seconds,
            tv_nsec: delay.subsec_nanos().into(),
        },
    };
    timerfd_settime(descriptor, TimerfdTimerFlags::empty(), &spec)?;
    Ok(())
}

async fn expire(descriptor: &AsyncFd<OwnedFd>, delay: Duration) -> io::Result<()> {
    let deadline = crate::after(delay);
    arm(descriptor.get_ref(), delay)?;
    loop {
        // the clock distinguishes an expiration from one left over by a dropped wait, without a
        // read
        descriptor.readable().await?.clear_ready();
        if Instant::now() >= deadline {
            return Ok(());
        }
    }
}

impl PreciseTimer for TokioTimer {
    async fn wait(&mut self, delay: Duration) {
        if delay.is_zero() {
            return yield_now().await;
        }
        let deadline = crate::after(delay);
        if let Some(descriptor) = &self.descriptor
            && expire(descriptor, delay).await.is_ok()
        {
            return;
        }
        self.runtime.sleep_until(deadline).await;
    }
}
