// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two clients of a router with a stream of messages between them: as dense as the router accepts,
//! to measure the cost of a message, or one in a millisecond, to measure its delay.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use zonda_codec::{
    CongestionControl, Declaration, Mapping, Priority, Push, PushBody, Put, Qos, WireExpr,
};
use zonda_program::Failure;

use super::clients::{Client, Clients, send};
use super::host::{Host, PATIENCE};
use super::watch::{NO_STAMP, stamp};

/// The key of the routed messages, which no other subscription matches.
const KEY: &str = "plant/probe";
/// Interval of the probes.
const PROBE_EVERY: Duration = Duration::from_millis(1);
/// The time that a stream flows before it is measured.
const WARM_UP: Duration = Duration::from_millis(100);
/// The key id at the sending client.
const KEY_ID: u16 = 1;

/// The sending and the receiving client.
pub struct Pair<'c> {
    clients: &'c Clients,
    source: Client,
    sink: Client,
}

/// A stream of messages, until this is dropped.
struct Stream {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // a panic of the thread has been printed
            let _ = thread.join();
        }
    }
}

impl<'c> Pair<'c> {
    /// Connects a source that has declared its key, and a sink that subscribes to it.
    pub fn connect(clients: &'c Clients, host: &Host) -> Result<Self, Failure> {
        let mut both = clients.connect(host.address(), 2)?;
        let (Some(sink), Some(source)) = (both.pop(), both.pop()) else {
            return Err(Failure::doing("connecting clients", "they are not there"));
        };
        source.say(Declaration::KeyExpr {
            id: KEY_ID,
            wire_expr: WireExpr::full(KEY),
        })?;
        sink.say(Declaration::Subscriber {
            id: 1,
            wire_expr: WireExpr::full(KEY),
        })?;
        clients.asked(&sink, PATIENCE)?;
        Ok(Pair {
            clients,
            source,
            sink,
        })
    }

    /// Returns the CPU time of the router for a message of a dense stream, in nanoseconds. The
    /// window stays open until at least one message has arrived.
    pub fn cost(&self, host: &Host, window: Duration) -> Result<f64, Failure> {
        let (stream, clients) = (self.dense(), self.clients);
        clients.interrupt.rest_until(Instant::now() + WARM_UP)?;
        let seen = &self.sink.seen;
        let begin = (seen.messages(), host.cpu());
        clients.interrupt.rest_until(Instant::now() + window)?;
        clients.until("forward a message", PATIENCE, || {
            self.check()?;
            Ok(seen.messages() > begin.0)
        })?;
        let end = (seen.messages(), host.cpu());
        drop(stream);
        // queued messages would delay the next step: the reply comes after them
        for client in [&self.source, &self.sink] {
            clients.asked(client, PATIENCE)?;
        }
        let messages = end.0 - begin.0;
        Ok((end.1 - begin.1).as_nanos() as f64 / messages as f64)
    }

    /// Returns the longest delay of a probe during `work`.
    pub fn longest_wait<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(Duration, T), Failure> {
        let probes = self.probes();
        let seen = &self.sink.seen;
        let one_more = |before: u64| {
            self.clients.until("forward a probe", PATIENCE, || {
                self.check()?;
                Ok(seen.probes() > before)
            })
        };
        one_more(seen.probes())?;
        seen.take_longest();
        let result = work()?;
        // the probe that is on its way has waited as well
        one_more(seen.probes())?;
        drop(probes);
        Ok((self.sink.seen.take_longest(), result))
    }

    /// Sends a probe in each millisecond during `work`.
    pub fn with_probes<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let probes = self.probes();
        let result = work();
        drop(probes);
        result
    }

    fn check(&self) -> Result<(), Failure> {
        for client in [&self.source, &self.sink] {
            if let Some(why) = client.seen.ended() {
                return Err(Failure::doing("a client's connection", why));
            }
        }
        Ok(())
    }

    fn dense(&self) -> Stream {
        let outbox = Arc::clone(self.source.outbox());
        stream(move |stop| {
            let sending = async {
                while !stop.load(Ordering::Relaxed)
                    && send(&outbox, Priority::Data, &message(&NO_STAMP))
                        .await
                        .is_ok()
                {}
            };
            zonda_runtime::block_on(sending);
            outbox.flush();
        })
    }

    fn probes(&self) -> Stream {
        let (outbox, epoch) = (Arc::clone(self.source.outbox()), self.clients.epoch());
        stream(move |stop| {
            let mut next = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                let now = stamp(epoch);
                if zonda_runtime::block_on(send(&outbox, Priority::Data, &message(&now))).is_err() {
                    return;
                }
                outbox.flush();
                next += PROBE_EVERY;
                thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        })
    }
}

fn stream(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Stream {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = thread::spawn(move || work(&stopped));
    Stream {
        stop,
        thread: Some(thread),
    }
}

fn message(payload: &[u8; 8]) -> Push<'_> {
    let key = WireExpr {
        scope: KEY_ID,
        suffix: "",
        mapping: Mapping::Sender,
    };
    Push {
        qos: Qos::new(Priority::Data, CongestionControl::Block, false),
        ..Push::new(key, PushBody::Put(Put::new(payload)))
    }
}
