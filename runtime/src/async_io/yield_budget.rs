// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cooperative yielding of a stream, for executors that do not preempt their tasks.

use crate::yielding::yield_now;

/// Operations in a row that may complete without waiting.
const OPERATIONS_PER_TURN: u32 = 32;

/// Counts operations that complete at once, so that a peer that is always ready does not monopolise
/// a thread.
#[derive(Debug, Default)]
pub struct YieldBudget {
    operations: u32,
}

impl YieldBudget {
    /// Counts one operation, before it is made; yields to other tasks when the turn is over.
    pub async fn take(&mut self) {
        self.operations += 1;
        if self.operations >= OPERATIONS_PER_TURN {
            self.operations = 0;
            yield_now().await;
        }
    }

    /// Restarts the count after a wait, in which other tasks have run.
    pub fn waited(&mut self) {
        self.operations = 0;
    }
}
