// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fine timer for tokio: a kernel timer that the runtime polls like a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::rtt::native::Clock;

/// A kernel timer.
pub struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    async fn wait(&mut self, duration: Duration) -> io::Result<()> {
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: duration.subsec_nanos().into(),
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            match rustix::io::read(ready.get_inner(), &mut [0; 8]) {
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                other => return Ok(other.map(|_| ())?),
            }
        }
    }
}

impl Clock for Timer {
    // the call is deprecated for shared descriptors; this one is owned
    #[allow(deprecated)]
    fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Timer(AsyncFd::new(timer)?))
    }

    async fn sleep(&mut self, duration: Duration) {
        // zero would disarm the timer
        if !duration.is_zero() && self.wait(duration).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
