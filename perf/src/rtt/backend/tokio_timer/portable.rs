// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fine timer for tokio on systems without a kernel timer: tokio's own for waits well above its
//! resolution of a millisecond, and yields for shorter ones.

use std::io;
use std::time::Duration;

use crate::rtt::native::Clock;

/// The delay that tokio's timer may add.
const GRAIN: Duration = Duration::from_millis(2);

/// tokio's timer, used for long waits only.
pub struct Timer;

impl Clock for Timer {
    fn new() -> io::Result<Self> {
        Ok(Timer)
    }

    async fn sleep(&mut self, duration: Duration) {
        match duration.checked_sub(GRAIN) {
            Some(rest) if !rest.is_zero() => tokio::time::sleep(rest).await,
            _ => tokio::task::yield_now().await,
        }
    }
}
