// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measured cases: a put into a lane, a batch to a callback, a batch to another face.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zonda::bytes::ZBytes;
use zonda::config::WhatAmI;
use zonda::ext::{AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};
use zonda::pubsub::Publisher;
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_codec::{KeyExpr, Payload, Qos, Reader, Reliability, TransportMessage};
use zonda_router::node::{Node, Plain, Value, Wait as Limit};

use crate::Parts;
use crate::seed::Seed;
use crate::wire::{Batch, Outcome, Wire, node, stamping_node};

const KEY: &str = "probe/key";
/// Key expression of a subscriber to many keys: no key id covers a whole key then, so part of the
/// key travels as text.
const WILDCARD: &str = "probe/**";
/// Maximum number of messages in a part: they fit into one batch, if they are small.
const MESSAGES_MAX: u64 = 1500;
/// Maximum bytes of a part: they fit into one batch, and into a socket that is not read.
const BYTES_MAX: u64 = 60_000;
/// Number of parts of a case.
const PARTS: usize = 3;

/// A measured case.
pub struct Case {
    pub name: &'static str,
    size: usize,
    what: What,
    seed: Seed,
    most: u64,
}

#[derive(Clone, Copy)]
enum What {
    /// A put by a session's publisher.
    Put { express: bool, to: &'static str },
    /// A publisher with a cache of a hundred samples, sequence numbers and heartbeats.
    AdvancedPut,
    /// A put by the node's publisher below a session.
    NodePut,
    /// A put by a session without a declared publisher, on alternating keys.
    UndeclaredPut,
    /// A batch to a session's callback.
    Deliver { to: &'static str, stamped: bool },
    /// A batch through a router to `faces` other faces.
    Forward { faces: usize },
}

/// Returns all cases, with at most `most` messages in a part.
pub fn all(seed: Seed, most: u64) -> Vec<Case> {
    let put = |express, to| What::Put { express, to };
    let deliver = |to, stamped| What::Deliver { to, stamped };
    let forward = |faces| What::Forward { faces };
    [
        ("put 8 B", 8, put(false, KEY)),
        ("put 16 B", 16, put(false, KEY)),
        ("put 1 KiB", 1024, put(false, KEY)),
        ("put 64 KiB", 64 * 1024, put(false, KEY)),
        ("put 8 B to a wildcard", 8, put(false, WILDCARD)),
        ("put express 64 B", 64, put(true, KEY)),
        ("advanced put 8 B", 8, What::AdvancedPut),
        ("advanced put 1 KiB", 1024, What::AdvancedPut),
        ("node put 8 B", 8, What::NodePut),
        ("undeclared put 8 B", 8, What::UndeclaredPut),
        ("deliver 8 B", 8, deliver(KEY, false)),
        ("deliver 8 B to a wildcard", 8, deliver(WILDCARD, false)),
        ("deliver 8 B stamped", 8, deliver(KEY, true)),
        ("deliver 1 KiB", 1024, deliver(KEY, false)),
        ("forward 8 B", 8, forward(1)),
        ("forward 64 B", 64, forward(1)),
        ("forward 1 KiB", 1024, forward(1)),
        ("forward 8 B to 20", 8, forward(20)),
    ]
    .into_iter()
    .map(|(name, size, what)| Case {
        name,
        size,
        what,
        seed,
        most,
    })
    .collect()
}

impl Case {
    /// Sets up the scene, warms it up and measures the parts.
    pub fn run(&self, parts: &mut Parts) -> Outcome<()> {
        match self.what {
            What::Put { express, to } => self.put(parts, express, to),
            What::AdvancedPut => self.advanced_put(parts),
            What::NodePut => self.node_put(parts),
            What::UndeclaredPut => self.undeclared_put(parts),
            What::Deliver { to, stamped } => self.deliver(parts, to, stamped),
            What::Forward { faces } => self.forward(parts, faces),
        }
    }

    /// Returns the number of messages in one part.
    fn messages(&self) -> u64 {
        let small = MESSAGES_MAX.min(BYTES_MAX / (self.size as u64 + 16));
        small.min(self.most).max(1)
    }

    fn bytes(&self) -> Vec<u8> {
        (0..self.size).map(|i| (i % 251) as u8).collect()
    }

    fn put(&self, parts: &mut Parts, express: bool, to: &'static str) -> Outcome<()> {
        let mut scene = Direct::set(to, || {})?;
        let publisher = scene.publisher(express)?;
        let payload = ZBytes::from(self.bytes());
        let plain = self.bytes();
        let one = || {
            let put = publisher.put(payload.clone()).wait();
            self.seed.cost(&plain);
            put.is_ok()
        };
        self.repeat(parts, &mut scene.wire, one)
    }

    fn advanced_put(&self, parts: &mut Parts) -> Outcome<()> {
        /// Heartbeat period that exceeds the time of the case.
        const BEAT: Duration = Duration::from_secs(3600);
        let mut scene = Direct::set(KEY, || {})?;
        drop(scene.publisher(false)?);
        let publisher = scene
            .source
            .declare_publisher(KEY)
            .congestion_control(CongestionControl::Block)
            .cache(CacheConfig::default().max_samples(100))
            .sample_miss_detection(MissDetectionConfig::default().heartbeat(BEAT))
            .wait()
            .map_err(|e| e.to_string())?;
        scene.wire.settle()?;
        let payload = ZBytes::from(self.bytes());
        let plain = self.bytes();
        let one = || {
            let put = publisher.put(payload.clone()).wait();
            self.seed.cost(&plain);
            put.is_ok()
        };
        self.repeat(parts, &mut scene.wire, one)
    }

    fn node_put(&self, parts: &mut Parts) -> Outcome<()> {
        let mut scene = Direct::set(KEY, || {})?;
        let key = KeyExpr::try_from(KEY).map_err(|e| e.to_string())?;
        let face = scene.node.declare_publisher(&key);
        let face = face.map_err(|e| e.to_string())?;
        scene.wire.settle()?;
        let payload = Payload::from(self.bytes());
        let one = || {
            let plain = Plain {
                payload: Value::Shared(&payload),
                encoding: 0,
                qos: Qos::DATA,
                reliability: Reliability::Reliable,
            };
            let put = face.publish_plain(&plain, None, Limit::Never);
            self.seed.cost(&payload);
            put.unusual.is_none()
        };
        self.repeat(parts, &mut scene.wire, one)
    }

    fn undeclared_put(&self, parts: &mut Parts) -> Outcome<()> {
        const KEYS: usize = 100;
        let mut scene = Direct::set(WILDCARD, || {})?;
        let keys: Vec<String> = (100..100 + KEYS).map(|i| format!("probe/{i}")).collect();
        let payload = ZBytes::from(self.bytes());
        let plain = self.bytes();
        let mut turns = keys.iter().cycle();
        let session = scene.source.clone();
        let one = || {
            let key = turns.next().map_or(KEY, String::as_str);
            let put = session.put(key, payload.clone()).wait();
            self.seed.cost(&plain);
            put.is_ok()
        };
        self.repeat(parts, &mut scene.wire, one)
    }

    /// Puts again and again; takes the batches from the wire between the parts.
    fn repeat(
        &self,
        parts: &mut Parts,
        wire: &mut Wire,
        mut one: impl FnMut() -> bool,
    ) -> Outcome<()> {
        let messages = self.messages();
        let mut all = true;
        for _ in 0..2 {
            (0..messages).for_each(|_| all &= one());
            wire.taken()?;
        }
        for _ in 0..PARTS {
            parts.measure(self.name, messages, || {
                (0..messages).for_each(|_| all &= one());
                wire.near.end.outbox().flush();
            });
            let taken: usize = wire.taken()?.iter().map(Vec::len).sum();
            // a put without a destination would be cheap
            all &= taken as u64 >= messages * self.size as u64;
        }
        all.then_some(())
            .ok_or(format!("{}: not every message was sent", self.name))
    }

    fn deliver(&self, parts: &mut Parts, to: &'static str, stamped: bool) -> Outcome<()> {
        // a session that counts and pays the seeded cost for each message
        let received = Arc::new(AtomicU64::new(0));
        let (counter, seed, plain) = (Arc::clone(&received), self.seed, self.bytes());
        let source = if stamped { stamping_node } else { node };
        let mut scene = Direct::between(source(WhatAmI::Peer)?, to, move || {
            counter.fetch_add(1, Ordering::Relaxed);
            seed.cost(&plain);
        })?;
        // the batch is encoded once; each part delivers it again with its frame number reset
        let publisher = scene.publisher(false)?;
        let (batch, sn) = self.batch(&publisher, &mut scene.wire)?;
        let end = &mut scene.wire.far.end;
        for turn in 0..=PARTS {
            let before = received.load(Ordering::Relaxed);
            end.expect_frame(sn);
            let mut all = true;
            let mut work = || {
                all = end.deliver(&batch.bytes, &batch.block).is_ok();
                end.end_burst();
            };
            // the first turn warms the caches and is not measured
            match turn {
                0 => work(),
                _ => parts.measure(self.name, self.messages(), work),
            }
            if !all || received.load(Ordering::Relaxed) - before != self.messages() {
                return Err(format!("{}: not every message was delivered", self.name));
            }
        }
        Ok(())
    }

    fn forward(&self, parts: &mut Parts, faces: usize) -> Outcome<()> {
        // a batch of all messages, encoded once and delivered again in each part
        let mut scene = Routed::set(faces)?;
        let publisher = scene.publisher()?;
        let (batch, sn) = self.batch(&publisher, &mut scene.near)?;
        let plain = self.bytes();
        for turn in 0..=PARTS {
            let end = &mut scene.near.far.end;
            end.expect_frame(sn);
            let mut all = true;
            let mut work = || {
                all = end.deliver(&batch.bytes, &batch.block).is_ok();
                end.end_burst();
                (0..self.messages()).for_each(|_| self.seed.cost(&plain));
            };
            // the first turn warms the caches and is not measured
            match turn {
                0 => work(),
                _ => parts.measure(self.name, self.messages(), work),
            }
            // every sink must have received at least the payloads
            for wire in &mut scene.far {
                let taken: usize = wire.taken()?.iter().map(Vec::len).sum();
                all &= taken as u64 >= self.messages() * self.size as u64;
            }
            if !all {
                return Err(format!("{}: not every message was forwarded", self.name));
            }
        }
        Ok(())
    }

    /// Encodes all messages of a part as one batch; returns it with the number of its frame.
    fn batch(&self, publisher: &Publisher<'_>, wire: &mut Wire) -> Outcome<(Batch, u32)> {
        let payload = ZBytes::from(self.bytes());
        for _ in 0..3 {
            for _ in 0..self.messages() {
                let put = publisher.put(payload.clone()).wait();
                put.map_err(|e| e.to_string())?;
            }
            let mut batches = wire.taken()?;
            // the first messages are written one by one until the stream is dense
            let (Some(batch), true) = (batches.pop(), batches.is_empty()) else {
                continue;
            };
            match TransportMessage::decode(&mut Reader::new(&batch)) {
                Ok(TransportMessage::Frame(frame)) => return Ok((Batch::new(batch), frame.sn)),
                other => return Err(format!("{other:?} is no frame")),
            }
        }
        Err(format!(
            "{}: the messages do not fit into a batch",
            self.name
        ))
    }
}

/// Two nodes, connected directly.
struct Direct {
    source: Session,
    node: Node,
    _sink: Session,
    wire: Wire,
}

impl Direct {
    /// Connects a source directly to a subscriber of `key`, which calls `receive` for each message.
    fn set(key: &'static str, receive: impl Fn() + Send + Sync + 'static) -> Outcome<Direct> {
        Direct::between(node(WhatAmI::Peer)?, key, receive)
    }

    /// Connects `near` as the source to a new node with a subscriber.
    fn between(
        near: Node,
        key: &'static str,
        receive: impl Fn() + Send + Sync + 'static,
    ) -> Outcome<Direct> {
        let far = node(WhatAmI::Peer)?;
        let mut wire = Wire::new((&near, WhatAmI::Peer), (&far, WhatAmI::Peer))?;
        let sink = Session::over(far);
        listen(&sink, key, receive)?;
        wire.settle()?;
        Ok(Direct {
            source: Session::over(near.clone()),
            node: near,
            _sink: sink,
            wire,
        })
    }

    fn publisher(&mut self, express: bool) -> Outcome<Publisher<'static>> {
        let publisher = declare(&self.source, express)?;
        self.wire.settle()?;
        matched(publisher)
    }
}

/// A router between one source and its sinks.
struct Routed {
    source: Session,
    _sinks: Vec<Session>,
    /// Wire from the source to the router.
    near: Wire,
    /// Wires from the router to each sink.
    far: Vec<Wire>,
}

impl Routed {
    fn set(faces: usize) -> Outcome<Routed> {
        let (source, router) = (node(WhatAmI::Peer)?, node(WhatAmI::Router)?);
        let mut near = Wire::new((&source, WhatAmI::Client), (&router, WhatAmI::Router))?;
        let (mut sinks, mut far) = (Vec::new(), Vec::new());
        for _ in 0..faces {
            let sink = node(WhatAmI::Peer)?;
            let mut wire = Wire::new((&router, WhatAmI::Router), (&sink, WhatAmI::Client))?;
            let sink = Session::over(sink);
            listen(&sink, KEY, || {})?;
            wire.settle()?;
            sinks.push(sink);
            far.push(wire);
        }
        near.settle()?;
        Ok(Routed {
            source: Session::over(source),
            _sinks: sinks,
            near,
            far,
        })
    }

    fn publisher(&mut self) -> Outcome<Publisher<'static>> {
        let publisher = declare(&self.source, false)?;
        for _ in 0..2 {
            self.near.settle()?;
            for wire in &mut self.far {
                wire.settle()?;
            }
        }
        matched(publisher)
    }
}

/// Declares a subscriber that lives as long as its session.
fn listen(
    session: &Session,
    key: &'static str,
    receive: impl Fn() + Send + Sync + 'static,
) -> Outcome<()> {
    let subscriber = session
        .declare_subscriber(key)
        .callback(move |_sample| receive());
    subscriber.background().wait().map_err(|e| e.to_string())
}

fn declare(session: &Session, express: bool) -> Outcome<Publisher<'static>> {
    let publisher = session
        .declare_publisher(KEY)
        .congestion_control(CongestionControl::Block)
        .express(express);
    publisher.wait().map_err(|e| e.to_string())
}

fn matched(publisher: Publisher<'static>) -> Outcome<Publisher<'static>> {
    let status = publisher
        .matching_status()
        .wait()
        .map_err(|e| e.to_string())?;
    let matched = status.matching().then_some(publisher);
    matched.ok_or("the subscriber is not known to the publisher".into())
}
