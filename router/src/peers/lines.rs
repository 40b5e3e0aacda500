// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limits of the log lines about neighbours that come and go.

use std::time::Duration;

use zonda_transport::log_limit::LogQuota;

/// Most lines at once about neighbours that come and go; lines about losses get half as many.
pub(crate) const LINES_MAX: u32 = 20;

/// Pause after which one more line about neighbours that come and go is allowed. A line about a
/// loss needs twice as long.
const PAUSE: Duration = Duration::from_secs(30);

/// Limits of a node's log lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Limit of lines about neighbours that come and go.
    pub(super) usual: LogQuota,
    /// Limit of lines about losses.
    pub(super) losses: LogQuota,
    /// Limit of lines about the loss and the return of configured endpoints, which strangers that
    /// come and go do not use up.
    pub(super) configured: LogQuota,
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            usual: LogQuota::new(LINES_MAX, PAUSE),
            losses: LogQuota::new(LINES_MAX / 2, PAUSE * 2),
            configured: LogQuota::new(LINES_MAX, PAUSE),
        }
    }
}
