// SPDX-License-Identifier: MIT OR Apache-2.0

//! The replies to a query, collected up to a bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc::{self, UnboundedReceiver};
use zonda::cancellation::CancellationToken;
use zonda::handlers::{Callback, IntoHandler};
use zonda::query::Reply;

/// Bytes that a reply counts in addition to its payload.
const REPLY_BYTES: usize = 256;

/// Handler that keeps replies of at most `bytes_max` bytes, and ends the query at the bound.
pub(super) struct Collector {
    pub bytes_max: usize,
    pub token: CancellationToken,
}

/// The replies of a query. Dropping it ends the query.
pub(super) struct Replies {
    received: UnboundedReceiver<Reply>,
    bytes: Arc<AtomicUsize>,
    bytes_max: usize,
    token: CancellationToken,
}

impl IntoHandler<Reply> for Collector {
    type Handler = Replies;

    fn into_handler(self) -> (Callback<Reply>, Replies) {
        let Collector { bytes_max, token } = self;
        let (sender, received) = mpsc::unbounded_channel();
        let bytes = Arc::new(AtomicUsize::new(0));
        let (so_far, end) = (Arc::clone(&bytes), token.clone());
        let callback = Callback::from(move |reply: Reply| {
            let payload = match reply.result() {
                Ok(sample) => sample.payload().len(),
                Err(error) => error.payload().len(),
            };
            let added = payload + REPLY_BYTES;
            if so_far.fetch_add(added, Ordering::Relaxed) + added > bytes_max {
                // The call that still runs is this one.
                let _ = end.cancel();
            } else {
                // An error means that the client has gone.
                let _ = sender.send(reply);
            }
        });
        let replies = Replies {
            received,
            bytes,
            bytes_max,
            token,
        };
        (callback, replies)
    }
}

impl Replies {
    /// Waits for the end of the query, and returns its replies; `None` if they exceed the bound.
    pub async fn all(mut self) -> Option<Vec<Reply>> {
        let mut replies = Vec::new();
        while let Some(reply) = self.received.recv().await {
            replies.push(reply);
        }
        let is_whole = self.bytes.load(Ordering::Relaxed) <= self.bytes_max;
        is_whole.then_some(replies)
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        // A call that still runs finds no reader.
        let _ = self.token.cancel();
    }
}
