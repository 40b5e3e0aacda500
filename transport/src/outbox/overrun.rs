// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds for messages that are queued beyond the limit of their lane.

use zonda_codec::Priority;

/// Factor by which receive bursts and control traffic may overshoot a lane's limit; a peer that is
/// that far behind is given up.
const OVERRUN_FACTOR: usize = 64;

/// Bounds of each lane of an outbox.
#[derive(Debug)]
pub(super) struct Overrun {
    /// Bytes of small messages beyond which the peer is given up.
    pub(super) bytes: usize,
    /// Bytes beyond which messages that pass through are dropped; `usize::MAX` where none are.
    pub(super) passing: usize,
}

impl Overrun {
    /// Returns the bounds of an outbox whose priorities have these limits.
    pub(super) fn of(queue_bytes_max: &dyn Fn(Priority) -> usize) -> Overrun {
        let limits = Priority::ALL
            .iter()
            .map(|&priority| queue_bytes_max(priority));
        Overrun {
            bytes: limits.max().unwrap_or(0).saturating_mul(OVERRUN_FACTOR),
            passing: usize::MAX,
        }
    }
}
