// SPDX-License-Identifier: MIT OR Apache-2.0
//! Short waits on systems where tokio's own timer is the best one: late by up to two milliseconds.

use std::time::Duration;

use super::TokioRuntime;
use crate::yielding::yield_now;
use crate::{PreciseTimer, Runtime};

/// A timer for short waits, as coarse as tokio's on this platform.
pub struct TokioTimer {
    runtime: TokioRuntime,
}

impl TokioTimer {
    pub(super) fn new(runtime: TokioRuntime) -> Self {
        TokioTimer { runtime }
    }
}

impl PreciseTimer for TokioTimer {
    async fn wait(&mut self, delay: Duration) {
        if delay.is_zero() {
            return yield_now().await;
        }
        self.runtime.sleep_until(crate::after(delay)).await;
    }
}
