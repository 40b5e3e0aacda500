// SPDX-License-Identifier: MIT OR Apache-2.0
//! A stream's fair share of a thread, on executors that leave fairness to their tasks.

use crate::yielding::yield_now;

/// How many operations in a row may end without waiting.
const OPERATIONS_PER_TURN: u32 = 32;

/// Counts operations that end at once, so that a peer that is always ready does not keep a thread for itself.
#[derive(Debug, Default)]
pub struct Turn {
    operations: u32,
}

impl Turn {
    /// To be called before each operation: lets others run when the turn is over.
    pub async fn take(&mut self) {
        self.operations += 1;
        if self.operations >= OPERATIONS_PER_TURN {
            self.operations = 0;
            yield_now().await;
        }
    }

    /// To be called after a wait: others have had their turn.
    pub fn waited(&mut self) {
        self.operations = 0;
    }
}
