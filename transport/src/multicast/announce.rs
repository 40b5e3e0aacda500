// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task that announces this node to a group periodically: a JOIN is the only sign of life there.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use zonda_codec::{Encode, Join, NextSn, PROTOCOL_VERSION, Priority, Writer};
use zonda_runtime::{Runtime, Socket};

use super::{Group, Presence, of_priority};
use crate::outbox::Outbox;
use crate::protocol::parameters::PATCH;

/// Minimum time between two JOINs, however many nodes join the group.
const GAP: Duration = Duration::from_millis(100);

/// Maximum number of queued frames when a JOIN is sent: it announces their numbers, not those
/// behind them.
const WAITING: u32 = 16;

/// Upper bound of a JOIN's length: a header, an id, a lease, and sequence numbers of eight
/// priorities.
const JOIN_BYTES_MAX: usize = 256;

/// State of the announcing task.
pub(super) struct Announcer<R> {
    pub(super) runtime: R,
    /// Socket that sends to the group.
    pub(super) socket: Socket,
    pub(super) group: Arc<Group>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) presence: Presence,
    pub(super) batch_size: u16,
}

impl<R: Runtime> Announcer<R> {
    /// Sends JOINs until the group is left: after each interval, and soon after a node has joined,
    /// so that the newcomer need not wait.
    pub(super) async fn run(self) {
        loop {
            let news = self.group.news.listen();
            if self.is_over() {
                return;
            }
            self.introduce();
            let said = Instant::now();
            let due = self.wait(said + self.presence.join_interval);
            first(first(news, due), self.outbox.over()).await;
            if !self.is_over() {
                first(self.wait(said + GAP), self.outbox.over()).await;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.outbox.is_closed() || self.outbox.is_closing()
    }

    fn wait(&self, until: Instant) -> impl Future<Output = ()> + Send {
        self.runtime.sleep_until(until)
    }

    /// Sends a JOIN, unless this router is silent because of another one.
    pub(super) fn introduce(&self) {
        if !self.group.quiet.lock().may_speak(Instant::now()) {
            return;
        }
        let mut buffer = [0; JOIN_BYTES_MAX];
        let mut writer = Writer::new(&mut buffer);
        let written = self.join().encode(&mut writer).map(|()| writer.position());
        let sent = written.map(|length| self.socket.send(&buffer[..length]));
        match sent {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!("cannot send to a group: {error}"),
            Err(error) => tracing::debug!("cannot encode the JOIN of a group: {error}"),
        }
    }

    fn join(&self) -> Join<'static> {
        let local = &self.presence.local;
        let mask = local.resolution.frame_sn_mask();
        // Frames may wait in queues: announce earlier numbers than the next ones.
        let earlier = |sn: u32| sn.wrapping_sub(WAITING) & mask;
        let lanes: Vec<NextSn> = self.outbox.next_sns();
        let next = |priority| {
            let NextSn {
                reliable,
                best_effort,
            } = of_priority(&lanes, priority).unwrap_or_default();
            NextSn {
                reliable: earlier(reliable),
                best_effort: earlier(best_effort),
            }
        };
        // The parameters of this node.
        Join {
            version: PROTOCOL_VERSION,
            whatami: local.whatami,
            zid: local.zid,
            resolution: local.resolution,
            batch_size: self.batch_size,
            lease: local.lease,
            next_sn: next(Priority::Data),
            qos: local.qos.then(|| Priority::ALL.map(next)),
            shm: None,
            patch: PATCH,
        }
    }
}

/// Waits for the first of two futures.
async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(context),
    })
    .await;
}
