// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two pacings. `seed` sleeps after each round trip with the runtime's own timer, as the published
//! studies did; what that timer cannot do becomes part of the result, beginning with tokio's, which
//! turns no sleep at all into a millisecond. `exact` keeps an absolute schedule and does not sleep when
//! back to back, so that what is measured is the way through the sockets.

use std::io;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use super::native::{Clock, Native};
use crate::scenario::raw::Pacing;
use crate::schedule::{Rest, Schedule};

/// Waits between messages.
pub struct Pacer<N: Native> {
    pacing: Pacing,
    interval: Duration,
    schedule: Schedule,
    clock: N::Clock,
}

impl<N: Native> Pacer<N> {
    /// The first message is due now.
    pub fn new(pacing: Pacing, interval: Duration) -> io::Result<Self> {
        Ok(Pacer {
            pacing,
            interval,
            schedule: Schedule::new(Instant::now(), interval),
            clock: N::Clock::new()?,
        })
    }

    /// Starts the schedule afresh.
    pub fn restart(&mut self) {
        self.schedule = Schedule::new(Instant::now(), self.interval);
    }

    /// Waits until the next message is due. `exact` does its waiting here.
    pub async fn before(&mut self) {
        if self.pacing == Pacing::Seed || self.interval.is_zero() {
            return;
        }
        let due = self.schedule.due();
        loop {
            match Schedule::rest(Instant::now(), due) {
                Rest::Go => return,
                Rest::Yield => N::yield_now().await,
                Rest::Sleep(duration) => self.clock.sleep(duration).await,
            }
        }
    }

    /// Waits after a round trip. `seed` does its waiting here.
    pub async fn after(&mut self) {
        if self.pacing == Pacing::Seed {
            N::sleep(self.interval).await;
        }
    }
}

/// The finest timer of a runtime whose usual one is already fine.
pub struct Usual<N>(PhantomData<N>);

impl<N: Native> Clock for Usual<N> {
    fn new() -> io::Result<Self> {
        Ok(Usual(PhantomData))
    }

    async fn sleep(&mut self, duration: Duration) {
        N::sleep(duration).await;
    }
}
