// SPDX-License-Identifier: MIT OR Apache-2.0
//! The task that receives from a group: one socket, datagram by datagram.

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

/// Room for any datagram.
const DATAGRAM_BYTES_MAX: usize = 65_536;

/// Datagrams in a row before other tasks have their turn.
const TURN: u32 = 32;

/// The time between two looks at who has come and who is gone.
pub const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The longest delay of such a look, while there is always something to read.
const FLOOD_MAX: Duration = Duration::from_secs(5);

/// The pause after the system has failed to give a datagram.
const PAUSE: Duration = Duration::from_millis(50);

/// State of the task.
pub(super) struct Receiving<R, H> {
    pub(super) runtime: R,
    pub(super) outbox: Arc<Outbox>,
    pub(super) members: Members,
    pub(super) handler: H,
    /// The number that had come at the last look.
    pub(super) came: u64,
}

/// The event that ended a wait.
enum Event {
    Datagram(usize, SocketAddr),
    Failed,
    Due,
    Over,
}

/// The means to receive.
struct Ear<L> {
    listener: L,
    /// Another handle of its socket.
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl<L> Ear<L> {
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
    /// Receives until the group is left. `writing` is the other half of the socket that sends, or why there is none.
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
        let mut ear = Ear {
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
            // Until it is time to look at the members.
            loop {
                if outbox.is_closing() {
                    over.await;
                    return Ok(self.why_closed());
                }
                match ear.next(&runtime, over.as_mut(), due.as_mut()).await {
                    Event::Over => return Ok(self.why_closed()),
                    // Nothing waits to be read that could show that a member lives.
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
                    // A flood keeps no silent member alive.
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

    /// Removes members that were silent for too long, and has newcomers greeted.
    fn look(&mut self) {
        let before = self.members.changes();
        self.members.expire(Instant::now());
        self.tell_since(before);
        let came = self.members.came();
        if std::mem::replace(&mut self.came, came) != came {
            self.handler.members_came();
        }
    }

    /// Tells the handler who is there, if that is not the same as before so many changes.
    fn tell_since(&mut self, before: u64) {
        if self.members.changes() != before {
            let members = self.members.list();
            self.handler.members_changed(&members);
        }
    }

    /// Deals with one datagram of another node.
    async fn hear(&mut self, from: SocketAddr, datagram: &[u8]) {
        let before = self.members.changes();
        let handler = &self.handler;
        let is_linked = |zid: &ZenohId| handler.hears_otherwise(zid);
        if self.members.hear(from, datagram, Instant::now(), is_linked) {
            // Memory of its own: what subscribers keep of it is as large as what was sent.
            self.deliver(from, &ZSlice::from(datagram.to_vec())).await;
        }
        self.tell_since(before);
    }

    async fn deliver(&mut self, from: SocketAddr, datagram: &ZSlice) {
        let mut pause = None;
        loop {
            let handler = &mut self.handler;
            pause = self.members.deliver(from, datagram, pause, handler);
            self.handler.burst_end().await;
            if pause.is_none() || self.outbox.is_closed() {
                return;
            }
            self.runtime.yield_now().await;
        }
    }
}

/// Tells if two addresses are the same but for the interface.
fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip(), one.port()) == (other.ip(), other.port())
}
