// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clients that load a router. Each is a separate connection that speaks the protocol as a
//! client does, but without a session or a forwarding table above it, so that the router is
//! measured and not the client.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use zonda_codec::transport::reason;
use zonda_codec::{
    Declaration, Declare, Encode, Endpoint, Priority, Query, Reliability, Request, WhatAmI,
    WireExpr, ZenohId,
};
use zonda_program::{Failure, Interrupt};
use zonda_runtime::{AnyRuntime, Runtime, RuntimeKind, RuntimeOptions, with_runtime};
use zonda_transport::dial::open_link;
use zonda_transport::driver::{self, Drive};
use zonda_transport::outbox::{CLOSE_GRACE, DirectSocket, Outbox, Overflow, Refused, Write};
use zonda_transport::protocol::parameters::LocalParameters;
use zonda_transport::protocol::rx::Receiver;
use zonda_transport::protocol::timers::Timers;
use zonda_transport::protocol::tx::{Outgoing, Tail};

use super::watch::{ReceivedCounts, Watch};
use crate::process::late;

/// Number of clients that connect at the same time.
const ABREAST: usize = 16;
/// The time limit for one client to connect.
const INTRODUCTION: Duration = Duration::from_secs(30);
/// The lease: the time that the router waits for a client that does not get its processor.
const LEASE: Duration = Duration::from_secs(60);
/// Bytes queued for the router in each priority before a client stalls.
const QUEUE_BYTES_MAX: usize = 256 * 1024;
/// The polling interval of waits.
const LOOK: Duration = Duration::from_millis(1);
/// A key without any queryable.
const NOWHERE: &str = "zonda/perf/nowhere";

/// The runtime of all clients: one thread, if the runtime for that is compiled in.
pub struct Clients {
    runtime: AnyRuntime,
    /// The origin of the time stamps in messages.
    epoch: Instant,
    /// The user's interrupt.
    pub interrupt: Interrupt,
}

/// A connected client. Dropping it cuts the connection.
pub struct Client {
    outbox: Arc<Outbox>,
    /// The record of what it received.
    pub seen: Arc<ReceivedCounts>,
    requests: AtomicU32,
}

impl Clients {
    /// Starts the runtime, without any client.
    pub fn gather(interrupt: &Interrupt) -> Result<Clients, Failure> {
        let mut kinds = RuntimeKind::available();
        let kind = kinds
            .find(|kind| *kind == RuntimeKind::TokioCurrent)
            .unwrap_or_default();
        let runtime = AnyRuntime::start(kind, &RuntimeOptions::default());
        Ok(Clients {
            runtime: runtime.map_err(|error| Failure::doing("starting the clients", error))?,
            epoch: Instant::now(),
            interrupt: interrupt.clone(),
        })
    }

    /// Returns the origin of the time stamps in messages.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// Connects `count` clients; the router has answered each when this returns.
    pub fn connect(&self, address: &str, count: usize) -> Result<Vec<Client>, Failure> {
        let endpoint: Endpoint = address
            .parse()
            .map_err(|error| Failure::doing("the router's address", error))?;
        // several tasks connect a share each
        let (tell, told) = channel();
        for lane in 0..ABREAST.min(count) {
            let share = (count - lane).div_ceil(ABREAST);
            let (tell, endpoint, epoch) = (tell.clone(), endpoint.clone(), self.epoch);
            with_runtime!(&self.runtime, runtime => {
                introduce_some(runtime, share, tell, endpoint, epoch);
            });
        }
        drop(tell);
        // collect the clients
        let mut clients = Vec::with_capacity(count);
        while clients.len() < count {
            self.interrupt.check()?;
            match told.recv_timeout(LOOK * 50) {
                Ok(client) => clients.push(client?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::doing("connecting clients", "the runtime is gone"));
                }
            }
        }
        // each client is served once it has an answer
        for client in &clients {
            client.ask()?;
        }
        self.all_answered(&clients, INTRODUCTION)?;
        Ok(clients)
    }

    /// Starts to declare subscribers of `keys` for a client, with ids from 1; its last message is a
    /// query whose reply shows that the router has processed all declarations.
    pub fn declare(&self, client: &Client, keys: impl Iterator<Item = String> + Send + 'static) {
        let (outbox, seen) = (Arc::clone(&client.outbox), Arc::clone(&client.seen));
        let rid = client.next_request();
        self.runtime.spawn("perf-declare", move || async move {
            for (id, key) in (1..).zip(keys) {
                let subscriber = Declaration::Subscriber {
                    id,
                    wire_expr: WireExpr::full(&key),
                };
                let declare = Declare::new(subscriber);
                if let Err(refused) = send(&outbox, Priority::Control, &declare).await {
                    return seen.end(&refused.to_string());
                }
            }
            if let Err(refused) = send(&outbox, Priority::Data, &question(rid)).await {
                seen.end(&refused.to_string());
            }
            outbox.flush();
        });
    }

    /// Sends a query for a client, and returns when the router has replied: it has then processed
    /// all earlier messages.
    pub fn asked(&self, client: &Client, patience: Duration) -> Result<(), Failure> {
        client.ask()?;
        self.all_answered(std::slice::from_ref(client), patience)
    }

    /// Returns when all clients have replies to their queries.
    pub fn all_answered(&self, clients: &[Client], patience: Duration) -> Result<(), Failure> {
        let mut waiting = clients.iter();
        let Some(mut client) = waiting.next() else {
            return Ok(());
        };
        self.until("answer its clients", patience, || {
            while client.is_answered()? {
                match waiting.next() {
                    Some(next) => client = next,
                    None => return Ok(true),
                }
            }
            Ok(false)
        })
    }

    /// Polls until `holds` returns true.
    pub fn until(
        &self,
        what: &'static str,
        patience: Duration,
        mut holds: impl FnMut() -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + patience;
        while !holds()? {
            self.interrupt.check()?;
            if Instant::now() > deadline {
                return Err(late("the router", what, patience));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Client {
    /// Sends a declaration at once.
    pub fn say(&self, body: Declaration<'_>) -> Result<(), Failure> {
        self.push(Priority::Control, &Declare::new(body))
    }

    /// Sends a message at once, even if the router does not keep up.
    pub fn push(&self, priority: Priority, message: &impl Encode) -> Result<(), Failure> {
        let message = outgoing(message);
        let queued = self
            .outbox
            .enqueue(priority, Overflow::Keep, Write::Now, &message);
        queued
            .map(drop)
            .map_err(|refused| Failure::doing("sending to the router", refused))
    }

    /// Sends a query that only the router replies to.
    pub fn ask(&self) -> Result<(), Failure> {
        self.push(Priority::Data, &question(self.next_request()))
    }

    /// Returns the sending half of the connection, for many messages.
    pub fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Closes the connection.
    pub fn leave(&self) {
        self.outbox
            .close(reason::GENERIC, zonda_runtime::after(CLOSE_GRACE));
    }

    fn next_request(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns true if the reply to the last query has arrived.
    fn is_answered(&self) -> Result<bool, Failure> {
        match self.seen.ended() {
            Some(why) => Err(Failure::doing("a client's connection", why)),
            None => Ok(self.seen.answered() >= self.requests.load(Ordering::Relaxed)),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.outbox.abort();
    }
}

/// Sends a message when there is room for it. The message leaves with later ones, or with a flush.
pub async fn send<E: Encode>(
    outbox: &Outbox,
    priority: Priority,
    message: &E,
) -> Result<(), Refused> {
    let message = outgoing(message);
    loop {
        match outbox.enqueue(priority, Overflow::Refuse, Write::FullBatches, &message) {
            Ok(_) => return Ok(()),
            Err(Refused::Full) => {
                let room = outbox.listen_room();
                outbox.flush();
                if !outbox.has_room(priority) {
                    room.await;
                }
            }
            Err(refused) => return Err(refused),
        }
    }
}

fn outgoing<E: Encode>(head: &E) -> Outgoing<'_, E> {
    Outgoing {
        reliability: Reliability::Reliable,
        head,
        payload: Tail::NONE,
    }
}

fn question(rid: u32) -> Request<'static> {
    Request::new(rid, WireExpr::full(NOWHERE), Query::default())
}

/// Connects `share` clients, one after the other.
fn introduce_some<R: Runtime>(
    runtime: &R,
    share: usize,
    tell: Sender<Result<Client, Failure>>,
    endpoint: Endpoint,
    epoch: Instant,
) {
    let own_runtime = runtime.clone();
    runtime.spawn("perf-connect", move || async move {
        for _ in 0..share {
            let client = introduce(&own_runtime, &endpoint, epoch).await;
            if tell.send(client).is_err() {
                return;
            }
        }
    });
}

async fn introduce<R: Runtime>(
    runtime: &R,
    endpoint: &Endpoint,
    epoch: Instant,
) -> Result<Client, Failure> {
    let parameters = LocalParameters {
        lease: LEASE,
        // as often as other implementations do
        keep_alive_divisor: LEASE.as_secs() as u32 * 2 / 5,
        ..LocalParameters::new(random_id(), WhatAmI::Client)
    };
    let link = open_link(runtime, endpoint, &parameters, INTRODUCTION)
        .await
        .map_err(|error| Failure::doing("connecting a client", error))?;
    // a connection without session and table
    let direct = DirectSocket::of(&link.stream);
    let outbox = Arc::new(Outbox::new(&link.established, QUEUE_BYTES_MAX, direct));
    let timers = Timers::new(
        Instant::now(),
        parameters.lease,
        parameters.keep_alive_divisor,
        link.established.remote_lease,
    );
    let drive = Drive {
        stream: link.stream,
        unread: link.unread,
        receiver: Receiver::new(&link.established, parameters.message_size_max),
        timers,
        outbox: Arc::clone(&outbox),
    };
    let seen = Arc::new(ReceivedCounts::default());
    driver::spawn(runtime, drive, Watch::new(Arc::clone(&seen), epoch));
    Ok(Client {
        outbox,
        seen,
        requests: AtomicU32::new(0),
    })
}

fn random_id() -> ZenohId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let half = || u128::from(RandomState::new().hash_one(number));
    ZenohId::random_from(half() << 64 | half())
}
