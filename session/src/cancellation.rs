// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`CancellationToken`]: ends gets early.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::callback_group::{CallbackGroup, Ended};

/// A token that ends every get that has it. Clones are the same token.
///
/// ```
/// use zonda::cancellation::CancellationToken;
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let token = CancellationToken::default();
/// let replies = session.get("demo/**").cancellation_token(token.clone()).wait()?;
/// token.cancel().wait()?;
/// assert!(replies.recv().is_err());
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CancellationToken(Arc<Mutex<OpenOperations>>);

#[derive(Default)]
struct OpenOperations {
    cancelled: bool,
    next: u64,
    /// The operations that have not ended, each with the function that ends it.
    open: HashMap<u64, Box<dyn FnOnce() + Send>>,
    /// The callbacks of all gets that have the token.
    callbacks: CallbackGroup,
}

impl CancellationToken {
    /// Ends the gets that have the token; a later get with it is refused.
    ///
    /// When this returns, no call of a handler begins any more. A call that runs on another thread
    /// may still be running; waiting for the returned [`Ended`] waits until that call has returned
    /// and the handler is dropped. Never fails; legal from inside callbacks, where the wait returns
    /// at once.
    pub fn cancel(&self) -> Ended {
        let mut state = self.0.lock();
        state.cancelled = true;
        let open = std::mem::take(&mut state.open);
        let callbacks = state.callbacks.clone();
        drop(state);
        for end in open.into_values() {
            end();
        }
        Ended::waiting(callbacks)
    }

    /// Returns the group of the callbacks of all operations that have the token.
    pub(crate) fn callbacks(&self) -> CallbackGroup {
        self.0.lock().callbacks.clone()
    }

    /// Returns true if the token was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().cancelled
    }

    /// Calls `end` when the token is cancelled, at once if it is already. The returned number
    /// removes the entry.
    pub(crate) fn on_cancel(&self, end: Box<dyn FnOnce() + Send>) -> Option<u64> {
        let mut state = self.0.lock();
        if state.cancelled {
            drop(state);
            end();
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.open.insert(number, end);
        Some(number)
    }

    /// Removes the operation with this number, which has ended.
    pub(crate) fn forget(&self, number: u64) {
        let forgotten = self.0.lock().open.remove(&number);
        drop(forgotten);
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.lock();
        f.debug_struct("CancellationToken")
            .field("cancelled", &state.cancelled)
            .field("open", &state.open.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_token_ends_everything_once_and_forgets_what_has_ended() {
        let (token, ends) = (CancellationToken::default(), Arc::new(AtomicUsize::new(0)));
        let end = || {
            let ends = ends.clone();
            Box::new(move || {
                ends.fetch_add(1, Ordering::Relaxed);
            })
        };
        let first = token.on_cancel(end()).unwrap();
        let _second = token.clone().on_cancel(end()).unwrap();
        token.forget(first);
        assert!(!token.is_cancelled());
        for _ in 0..2 {
            crate::Wait::wait(token.cancel()).unwrap();
        }
        assert_eq!(
            (token.is_cancelled(), ends.load(Ordering::Relaxed)),
            (true, 1)
        );
        assert_eq!(token.on_cancel(end()), None);
        assert_eq!(ends.load(Ordering::Relaxed), 2);
        assert_eq!(Arc::strong_count(&ends), 1);
    }
}
