// SPDX-License-Identifier: MIT OR Apache-2.0

//! The section `limits`: how much of this node one neighbour, one address and all together may take.

use std::time::Duration;

use super::Config;

impl Config {
    /// The smallest batches, in bytes, that a neighbour may ask for. Default: 1024.
    pub fn batch_size_min(&self) -> u16 {
        self.count("limits/batch_bytes_min")
            .try_into()
            .unwrap_or(u16::MAX)
    }

    /// The longest lease that is taken over from a neighbour. Default: 60 s.
    pub fn lease_max(&self) -> Duration {
        self.millis("limits/lease_max_ms")
    }
}
