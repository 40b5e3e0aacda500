// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fine timer for tokio where the kernel lends none: tokio's own for what is well above its grain of a
//! millisecond, and other tasks' turns for the rest.

use std::io;
use std::time::Duration;

use crate::rtt::native::Clock;

/// tokio's timer may take this much longer.
const GRAIN: Duration = Duration::from_millis(2);

/// tokio's own timer, used with care.
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
