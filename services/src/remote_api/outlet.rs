// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages that wait for a client, bounded in bytes. Callbacks of the session queue them and never
//! wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::body::Bytes;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::codec::Writer;

/// Bytes that a waiting message counts in addition to its own.
const MESSAGE_BYTES: usize = 64;

struct Shared {
    queue: UnboundedSender<Bytes>,
    waiting: AtomicUsize,
    bytes_max: usize,
    is_over: AtomicBool,
    over: Notify,
}

/// End of the queue where messages are put in. Clones share it.
#[derive(Clone)]
pub(super) struct Outlet(Arc<Shared>);

/// End of the queue where the connection takes messages out.
pub(super) struct Waiting {
    queue: UnboundedReceiver<Bytes>,
    outlet: Outlet,
}

/// Creates a queue in which `bytes_max` bytes may wait.
pub(super) fn queue(bytes_max: usize) -> (Outlet, Waiting) {
    let (sender, queue) = unbounded_channel();
    let outlet = Outlet(Arc::new(Shared {
        queue: sender,
        waiting: AtomicUsize::new(0),
        bytes_max,
        is_over: AtomicBool::new(false),
        over: Notify::new(),
    }));
    let waiting = Waiting {
        queue,
        outlet: outlet.clone(),
    };
    (outlet, waiting)
}

impl Outlet {
    /// Queues a message. The client is dropped if it is too far behind; a message that finds the
    /// queue empty is queued whatever its size.
    pub fn send(&self, message: Writer) {
        let shared = &self.0;
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        let message = message.finish();
        let weight = message.len() + MESSAGE_BYTES;
        let before = shared.waiting.fetch_add(weight, Ordering::Relaxed);
        if before > 0 && before + weight > shared.bytes_max {
            shared.is_over.store(true, Ordering::Relaxed);
            shared.over.notify_one();
            return;
        }
        // An error means that the connection has ended.
        let _ = shared.queue.send(message);
    }

    /// Waits until the client is too far behind.
    pub async fn is_over(&self) {
        self.0.over.notified().await;
    }
}

impl Waiting {
    /// Waits for the next message.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.queue.recv().await
    }

    /// Returns the next message if it waits already.
    pub fn try_next(&mut self) -> Option<Bytes> {
        self.queue.try_recv().ok()
    }

    /// Subtracts messages that the socket has taken.
    pub fn sent(&self, message_bytes: usize) {
        let waiting = &self.outlet.0.waiting;
        waiting.fetch_sub(message_bytes + MESSAGE_BYTES, Ordering::Relaxed);
    }
}
