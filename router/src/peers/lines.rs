// SPDX-License-Identifier: MIT OR Apache-2.0

//! The number of lines of the log about neighbours that come and go.

use std::time::Duration;

use zonda_transport::log_limit::LogQuota;

/// Lines about neighbours that come and go at once, and half as many about losses.
pub(crate) const LINES_MAX: u32 = 20;

/// The pause that earns one more line about neighbours that come and go. One about a loss takes twice as long.
const PAUSE: Duration = Duration::from_secs(30);

/// Bounds the lines of a node.
#[derive(Debug)]
pub(crate) struct Lines {
    /// About neighbours that come and go.
    pub(crate) usual: LogQuota,
    /// About losses.
    pub(crate) losses: LogQuota,
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            usual: LogQuota::new(LINES_MAX, PAUSE),
            losses: LogQuota::new(LINES_MAX / 2, PAUSE * 2),
        }
    }
}
