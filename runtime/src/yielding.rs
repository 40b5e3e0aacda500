// SPDX-License-Identifier: MIT OR Apache-2.0
//! Letting other tasks run, on executors that leave that to their tasks.

use std::future::poll_fn;
use std::task::Poll;

/// Lets the other tasks of the executor run once.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// How many operations in a row may end without waiting.
#[cfg(any(feature = "smol", feature = "async-std"))]
const OPERATIONS_PER_TURN: u32 = 32;

/// Counts operations that end at once, so that a peer that is always ready does not keep a thread for itself.
#[cfg(any(feature = "smol", feature = "async-std"))]
#[derive(Debug, Default)]
pub struct Turn {
    operations: u32,
}

#[cfg(any(feature = "smol", feature = "async-std"))]
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
