// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two pacings. `seed` sleeps after each round trip with the runtime's own timer, as the
//! published studies did; the coarseness of that timer becomes part of the result, for example
//! tokio's, which turns a sleep of zero into a millisecond. `exact` keeps an absolute schedule and
//! does not sleep when back to back, so that only the path through the sockets is measured.

use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use super::native::{Clock, Native};
use crate::scenario::raw::Pacing;
use crate::schedule::{Schedule, WaitMethod};

/// The waits between messages.
pub struct Pacer<N: Native> {
    pacing: Pacing,
    interval: Duration,
    schedule: Schedule,
    clock: N::Clock,
}

impl<N: Native> Pacer<N> {
    /// Creates a pacer whose first message is due now.
    pub fn new(pacing: Pacing, interval: Duration) -> io::Result<Self> {
        Ok(Pacer {
            pacing,
            interval,
            schedule: Schedule::new(Instant::now(), interval),
            clock: N::Clock::new()?,
        })
    }

    /// Restarts the schedule now.
    pub fn restart(&mut self) {
        self.schedule = Schedule::new(Instant::now(), self.interval);
    }

    /// Waits until the next message is due. The wait of `exact`.
    pub async fn before(&mut self) {
        if self.pacing == Pacing::Seed || self.interval.is_zero() {
            return;
        }
        let due = self.schedule.due();
        loop {
            match Schedule::rest(Instant::now(), due) {
                WaitMethod::Go => return,
                WaitMethod::Yield => N::yield_now().await,
                WaitMethod::Sleep(duration) => self.clock.sleep(duration).await,
            }
        }
    }

    /// Waits after a round trip. The wait of `seed`.
    pub async fn after(&mut self) {
        if self.pacing == Pacing::Seed {
            N::sleep(self.interval).await;
        }
    }
}

/// The finest timer of a runtime whose usual timer is fine enough.
pub struct Usual<N>(PhantomData<N>);

impl<N: Native> Clock for Usual<N> {
    fn new() -> io::Result<Self> {
        Ok(Usual(PhantomData))
    }

    async fn sleep(&mut self, duration: Duration) {
        N::sleep(duration).await;
    }
}
