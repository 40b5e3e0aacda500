// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sender, one of several at a time: it queues its messages in order, waits for room if there is
//! none, and uses all of the ways to write them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zonda_codec::ZSlice;
use zonda_codec::{CongestionControl, Qos};
use zonda_runtime::Runtime;

use crate::clock;
use crate::outbox::{Outbox, Overflow, Refused, Sent, Write};
use crate::protocol::tx::{Outgoing, Tail};

use super::executor::Executor;
use super::rng::Rng;
use super::traffic::{Channel, Note, PushHead, other};

/// Longest time for which a sender blocks its thread before it looks again.
const PATIENCE: Duration = Duration::from_millis(20);

pub struct Sender {
    pub outbox: Arc<Outbox>,
    pub executor: Executor,
    pub rng: Rng,
    pub notes: Vec<(Instant, Note)>,
    pub pending: Arc<AtomicUsize>,
    pub sent: Arc<Mutex<Vec<Note>>>,
    pub blocks: bool,
}

impl Sender {
    pub async fn run(mut self) {
        for (at, note) in std::mem::take(&mut self.notes) {
            self.executor.sleep_until(at).await;
            if !self.send(&note).await {
                return;
            }
            self.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Queues a message once there is room, and writes it; false if the link has ended.
    async fn send(&mut self, note: &Note) -> bool {
        let write = self.rng.pick(&[
            Write::Coalesced,
            Write::Coalesced,
            Write::Coalesced,
            Write::Now,
            Write::FullBatches,
            Write::Later,
        ]);
        loop {
            let room = self.outbox.listen_room();
            match enqueue(&self.outbox, note, write, &mut self.rng.fork()) {
                Ok(_) => break,
                Err(Refused::Full) if self.blocks && self.executor.depth() == 1 => {
                    drop(room);
                    let priority = note.channel().priority;
                    self.outbox.wait_room(priority, clock::now() + PATIENCE);
                }
                Err(Refused::Full) => room.await,
                Err(Refused::Closed) => return false,
                Err(Refused::TooLong) => unreachable!("every message has a wire form"),
            }
        }
        self.sent.lock().push(*note);
        if matches!(write, Write::Later | Write::FullBatches) {
            // Other tasks go first.
            self.executor.yield_now().await;
            self.outbox.flush();
        }
        true
    }
}

fn enqueue(outbox: &Outbox, note: &Note, write: Write, rng: &mut Rng) -> Result<Sent, Refused> {
    let Channel {
        priority,
        reliability,
    } = note.channel();
    if !note.is_push() {
        let message = Outgoing {
            reliability,
            head: &other(note),
            payload: Tail::NONE,
        };
        return outbox.enqueue(priority, Overflow::Refuse, write, &message);
    }
    let qos = Qos::new(priority, CongestionControl::Block, rng.per_mille(100));
    let head = PushHead {
        key: note.key(),
        qos,
        payload_bytes: note.size,
    };
    let shares = note.size >= 16 * 1024 && rng.per_mille(800);
    let shared = shares.then(|| ZSlice::from(note.payload().to_vec()));
    let message = Outgoing {
        reliability,
        head: &head,
        payload: match &shared {
            Some(payload) => Tail::Shared(payload),
            None => Tail::Copy(note.payload()),
        },
    };
    outbox.enqueue(priority, Overflow::Refuse, write, &message)
}
