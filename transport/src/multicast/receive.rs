// SPDX-License-Identifier: MIT OR Apache-2.0
//! Task that receives from a group: one socket, datagram by datagram.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use zonda_codec::{ZSlice, ZenohId};
use zonda_runtime::Runtime;

use super::members::Members;
use super::{GroupHandler, Place};
use crate::ended::Ended;
use crate::outbox::Outbox;

/// Maximum size of a datagram.
const DATAGRAM_BYTES_MAX: usize = 65_536;

/// Datagrams in a row before the task yields to other tasks.
const TURN: u32 = 32;

/// Time between two checks for members that have come or expired.
pub const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Longest delay of such a check while the socket always has datagrams.
const FLOOD_MAX: Duration = Duration::from_secs(5);

/// Pause after an error of the receiving socket.
const PAUSE: Duration = Duration::from_millis(50);

/// State of the receiving task.
pub(super) struct Receiving<R, H> {
    pub(super) runtime: R,
    pub(super) outbox: Arc<Outbox>,
    pub(super) members: Members,
    pub(super) handler: H,
    /// Count of members that had come at the last check.
    pub(super) came: u64,
}

/// Event that ended a wait.
enum Event {
    Datagram(usize, SocketAddr),
    Failed,
    Due,
    Over,
}

/// Receiving socket.
struct ReceivingSocket<L> {
    listener: L,
    /// Another handle of the same socket.
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl<L> ReceivingSocket<L> {
    /// Waits for the next datagram, at most until `due` or `over` is ready.
    async fn next<R: Runtime<Listener = L>>(
        &mut self,
        runtime: &R,
        mut over: Pin<&mut impl Future<Output = ()>>,
        mut due: Pin<&mut impl Future<Output = ()>>,
    ) -> Event {
        let take = || self.socket.recv_from(&mut self.buffer);
        let mut taking = pin!(runtime.take_from(&mut self.listener, take));
        poll_fn(|context| {
            if over.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Over);
            }
            if let Poll::Ready(taken) = taking.as_mut().poll(context) {
                return Poll::Ready(match taken {
                    Ok((length, from)) => Event::Datagram(length, from),
                    Err(_) => Event::Failed,
                });
            }
            due.as_mut().poll(context).map(|()| Event::Due)
        })
        .await
    }
}

impl<R: Runtime, H: GroupHandler> Receiving<R, H> {
    /// Receives until the group is left. `writing` is the other half of the socket that sends, or
    /// the error of opening it.
    pub(super) async fn run<W>(mut self, place: Place, writing: io::Result<W>) {
        let ended = match writing {
            Ok(_writing) => match self.hear_all(place).await {
                Ok(ended) => ended,
                Err(error) => Ended::Io(error.kind()),
            },
            Err(error) => Ended::Io(error.kind()),
        };
        self.outbox.end(ended.clone());
        self.handler.closed(ended);
        self.outbox.abort();
    }

    async fn hear_all(&mut self, place: Place) -> io::Result<Ended> {
        let mut ear = ReceivingSocket {
            socket: place.receiving.try_clone()?.into(),
            listener: self.runtime.listen(place.receiving)?,
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        };
        let (runtime, outbox) = (self.runtime.clone(), Arc::clone(&self.outbox));
        let mut over = pin!(outbox.over());
        let mut in_a_row = 0;
        loop {
            let look = Instant::now() + LOOK_AFTER;
            let mut due = pin!(runtime.sleep_until(look));
            // Receives until the next check of the members.
            loop {
                if outbox.is_closing() {
                    over.await;
                    return Ok(self.why_closed());
                }
                match ear.next(&runtime, over.as_mut(), due.as_mut()).await {
                    Event::Over => return Ok(self.why_closed()),
                    // The socket is empty: no unread datagram could show that a member is alive.
                    Event::Due => {
                        self.look();
                        break;
                    }
                    Event::Failed => runtime.sleep_until(Instant::now() + PAUSE).await,
                    Event::Datagram(length, from) if !is_same(from, place.own) => {
                        self.hear(from, &ear.buffer[..length]).await;
                    }
                    Event::Datagram(..) => {}
                }
                in_a_row += 1;
                if in_a_row >= TURN {
                    in_a_row = 0;
                    runtime.yield_now().await;
                    // A flood does not postpone the expiry of a silent member.
                    if Instant::now() > look + FLOOD_MAX {
                        self.look();
                        break;
                    }
                }
            }
        }
    }

    fn why_closed(&self) -> Ended {
        self.outbox.ended().cloned().unwrap_or(Ended::Local)
    }

    /// Removes expired members, and notifies the handler of newcomers.
    fn look(&mut self) {
        let before = self.members.changes();
        self.members.expire(Instant::now());
        self.tell_since(before);
        let came = self.members.came();
        if std::mem::replace(&mut self.came, came) != came {
            self.handler.members_came();
        }
    }

    /// Notifies the handler of the current members, if they have changed since `before`.
    fn tell_since(&mut self, before: u64) {
        if self.members.changes() != before {
            let members = self.members.list();
            self.handler.members_changed(&members);
        }
    }

    /// Processes one datagram of another node.
    async fn hear(&mut self, from: SocketAddr, datagram: &[u8]) {
        let before = self.members.changes();
        let handler = &self.handler;
        let is_linked = |zid: &ZenohId| handler.hears_otherwise(zid);
        if self.members.hear(from, datagram, Instant::now(), is_linked) {
            // The datagram is copied: a subscriber that keeps a part of it keeps no more than was
            // sent.
            self.deliver(from, &ZSlice::from(datagram.to_vec())).await;
        }
        self.tell_since(before);
    }

    async fn deliver(&mut self, from: SocketAddr, datagram: &ZSlice) {
        let mut pause = None;
        loop {
            let handler = &mut self.handler;
            pause = self.members.deliver(from, datagram, pause, handler);
            self.outbox.note_arrived(self.members.arrived());
            self.handler.burst_end().await;
            if pause.is_none() || self.outbox.is_closed() {
                return;
            }
            self.runtime.yield_now().await;
        }
    }
}

/// Returns true if two addresses are equal but for the interface.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip(), one.port()) == (other.ip(), other.port())
}
