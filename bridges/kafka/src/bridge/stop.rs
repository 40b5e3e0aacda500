// SPDX-License-Identifier: MIT OR Apache-2.0
//! End of a bridge, which all of its threads poll: it begins once, and has a deadline.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time beyond that for the broker, in which failed deliveries are reported.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// Deadline of the bridge's end; unset until the end begins.
#[derive(Default)]
pub(super) struct Stop(OnceLock<Instant>);

impl Stop {
    /// Begins the end and gives the broker `limit` from now on, unless the end has begun already.
    pub(super) fn begin(&self, limit: Duration) {
        self.0.get_or_init(|| zonda_runtime::after(limit));
    }

    /// Returns true once the end has begun: no message is accepted any more.
    pub(super) fn has_begun(&self) -> bool {
        self.0.get().is_some()
    }

    /// Returns true if the time for the broker has passed.
    pub(super) fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Returns the time that the broker has left, or `None` while the bridge is not ending.
    pub(super) fn left(&self) -> Option<Duration> {
        let deadline = self.0.get()?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the time left including the grace time for reports of failed deliveries.
    pub(super) fn left_to_say(&self) -> Option<Duration> {
        let deadline = *self.0.get()? + GRACE;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}
