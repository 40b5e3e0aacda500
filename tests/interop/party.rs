// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session of either implementation, behind the same few calls.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda::config::WhatAmI;
use zonda::pubsub::{Publisher, Subscriber};
use zonda::sample::{EntityGlobalId, Sample, SourceInfo};
use zonda::time::{Ntp64, Timestamp};
use zonda::{Config, Session, Wait};

use crate::message::{Message, Receipt, Seen, Service};
use crate::reference::Reference;
use crate::wait::{LONG, until};

/// Sets the quality of service of a builder.
macro_rules! served {
    ($put:expr, $service:expr) => {
        $put.priority($service.priority)
            .congestion_control($service.congestion)
            .express($service.express)
            .reliability($service.reliability)
    };
}

/// A node that publishes and subscribes.
pub enum Party {
    Ours(Session),
    Theirs(Theirs),
}

/// A session in a process of the reference.
pub struct Theirs {
    pub process: Rc<Reference>,
    name: String,
    zid: String,
}

/// Connections of a party.
pub struct Setup {
    pub role: WhatAmI,
    pub listen: Vec<String>,
    pub connect: Vec<String>,
    /// Id of the node; random by default.
    pub zid: Option<&'static str>,
    /// Further keys and JSON values of the configuration, which both implementations have.
    pub options: Vec<(&'static str, &'static str)>,
}

impl Setup {
    pub fn client(connect: &str) -> Setup {
        Setup {
            role: WhatAmI::Client,
            listen: vec![],
            connect: vec![connect.to_owned()],
            zid: None,
            options: vec![],
        }
    }

    pub fn peer_at(connect: &str) -> Setup {
        Setup {
            role: WhatAmI::Peer,
            ..Setup::client(connect)
        }
    }

    pub fn listening(role: WhatAmI, listen: &str) -> Setup {
        Setup {
            role,
            listen: vec![listen.to_owned()],
            connect: vec![],
            zid: None,
            options: vec![],
        }
    }

    pub fn with_zid(self, zid: &'static str) -> Setup {
        let zid = Some(zid);
        Setup { zid, ..self }
    }

    /// Opens a session of this project.
    pub fn ours(&self) -> Session {
        self.try_ours()
            .unwrap_or_else(|e| panic!("ours does not open: {e}"))
    }

    pub fn try_ours(&self) -> zonda::Result<Session> {
        let mut config = Config::default()
            .with_mode(self.role)
            .listen(&self.listen)
            .connect(&self.connect)
            // parties connect only as the test configures
            .with("scouting/multicast/enabled", "false")
            .with("connect/retry/period_init_ms", "50")
            .with("connect/retry/period_max_ms", "200");
        for (key, json) in &self.options {
            config = config.with(key, json);
        }
        config.set_id(self.zid.map(|zid| zid.parse().expect("an id")));
        zonda::open(config).wait()
    }

    /// Opens a session of the reference in a process of its own.
    pub fn theirs(&self) -> Theirs {
        self.theirs_in(&Reference::start())
    }

    pub fn theirs_in(&self, process: &Rc<Reference>) -> Theirs {
        self.try_theirs_in(process)
            .unwrap_or_else(|e| panic!("theirs does not open: {e}"))
    }

    pub fn try_theirs_in(&self, process: &Rc<Reference>) -> Result<Theirs, String> {
        let mut config = json!({
            "mode": self.role.to_string(),
            "listen/endpoints": self.listen,
            "connect/endpoints": self.connect,
            "scouting/multicast/enabled": false,
            "scouting/delay": 0,
            "connect/retry": {"period_init_ms": 50, "period_max_ms": 200, "period_increase_factor": 2},
        });
        if let Some(zid) = self.zid {
            config["id"] = json!(zid);
        }
        for (key, json) in &self.options {
            config[*key] = serde_json::from_str(json).expect("JSON");
        }
        let name = process.fresh("session");
        let opened = process.try_call("open", json!({"session": name, "config": config}))?;
        let zid = opened["zid"].as_str().expect("an id").to_owned();
        Ok(Theirs {
            process: process.clone(),
            name,
            zid,
        })
    }
}

impl Theirs {
    pub fn zid(&self) -> &str {
        &self.zid
    }

    /// Returns the ids of its neighbours.
    pub fn linked(&self) -> BTreeSet<String> {
        let answer = self.process.call("linked", json!({"session": self.name}));
        let zids = answer["linked"].as_array().expect("a list");
        zids.iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Returns a command about this session.
    pub fn command(&self, more: Value) -> Value {
        joined(json!({"session": self.name}), more)
    }
}

impl Party {
    pub fn zid(&self) -> String {
        match self {
            Party::Ours(session) => session.zid().to_string(),
            Party::Theirs(theirs) => theirs.zid.clone(),
        }
    }

    /// Returns the ids of its neighbours.
    pub fn linked(&self) -> BTreeSet<String> {
        match self {
            Party::Ours(session) => linked(session),
            Party::Theirs(theirs) => theirs.linked(),
        }
    }

    pub fn subscribe(&self, key: &str) -> Subscription {
        match self {
            Party::Ours(session) => {
                let (arrived, samples) = channel();
                let callback = move |sample| {
                    // an error means that the test has all that it needs
                    let _ = arrived.send(sample);
                };
                let declared = session.declare_subscriber(key).callback(callback).wait();
                Subscription::Ours {
                    subscriber: declared.expect("it is open"),
                    samples,
                }
            }
            Party::Theirs(theirs) => {
                let name = theirs.process.fresh("subscriber");
                theirs.process.call(
                    "subscribe",
                    theirs.command(json!({"name": name, "key": key})),
                );
                Subscription::Theirs {
                    process: theirs.process.clone(),
                    name,
                }
            }
        }
    }

    /// Subscribes to numbered messages, and counts them.
    pub fn count(&self, key: &str) -> Count {
        match self {
            Party::Ours(session) => {
                let counted = Arc::<Mutex<Counted>>::default();
                let counting = counted.clone();
                let callback = move |sample: Sample| {
                    counting
                        .lock()
                        .expect("nobody panics with it")
                        .take(sample.payload().as_slice());
                };
                let declared = session.declare_subscriber(key).callback(callback).wait();
                Count::Ours {
                    _subscriber: declared.expect("it is open"),
                    counted,
                }
            }
            Party::Theirs(theirs) => {
                let name = theirs.process.fresh("count");
                let command = json!({"name": name, "key": key, "counted": true});
                theirs.process.call("subscribe", theirs.command(command));
                Count::Theirs {
                    process: theirs.process.clone(),
                    name,
                }
            }
        }
    }

    pub fn publisher(&self, key: &str, service: Service) -> Publishing {
        match self {
            Party::Ours(session) => {
                let declared = session
                    .declare_publisher(key.to_owned())
                    .priority(service.priority)
                    .congestion_control(service.congestion)
                    .express(service.express)
                    .reliability(service.reliability)
                    .wait();
                Publishing::Ours {
                    publisher: declared.expect("it is open"),
                    session: session.clone(),
                }
            }
            Party::Theirs(theirs) => {
                let name = theirs.process.fresh("publisher");
                let command = joined(json!({"name": name, "key": key}), service.to_command());
                theirs.process.call("publisher", theirs.command(command));
                Publishing::Theirs {
                    process: theirs.process.clone(),
                    name,
                }
            }
        }
    }

    /// Returns a publisher that has a subscriber.
    pub fn matched_publisher(&self, key: &str) -> Publishing {
        let publisher = self.publisher(key, Service::BLOCK);
        until("the publisher is matched", || publisher.is_matched());
        publisher
    }

    /// Publishes without a declared publisher.
    pub fn publish(&self, key: &str, service: Service, message: &Message) -> Receipt {
        match self {
            // a delete and a put are different types of ours
            Party::Ours(session) => {
                let given = Given::of(session, message);
                let done = if message.delete {
                    let put = session.delete(key).attachment(message.attachment);
                    served!(put, service)
                        .timestamp(given.timestamp)
                        .source_info(given.source)
                        .wait()
                } else {
                    let put = session
                        .put(key, message.pattern.bytes())
                        .attachment(message.attachment);
                    let put = served!(put, service).encoding(message.encoding.unwrap_or_default());
                    put.timestamp(given.timestamp)
                        .source_info(given.source)
                        .wait()
                };
                done.expect("it is open");
                given.receipt()
            }
            Party::Theirs(theirs) => {
                let command = joined(message.to_command(), service.to_command());
                let command = joined(command, json!({"key": key}));
                receipt(
                    &theirs
                        .process
                        .call("session_publish", theirs.command(command)),
                )
            }
        }
    }

    /// Ends it without a Close. Ours is of this process and can only close.
    pub fn crash(&self) {
        match self {
            Party::Ours(session) => session.close().wait().expect("it closes"),
            Party::Theirs(theirs) => theirs.process.kill(),
        }
    }

    /// Closes it in an orderly way.
    pub fn close(self) {
        match self {
            Party::Ours(session) => session.close().wait().expect("it closes"),
            Party::Theirs(theirs) => {
                theirs
                    .process
                    .call("close", json!({"session": theirs.name}));
            }
        }
    }
}

/// Metadata of a message of ours.
pub struct Given {
    pub timestamp: Option<Timestamp>,
    entity: EntityGlobalId,
    source: Option<SourceInfo>,
}

impl Given {
    pub fn of(session: &Session, message: &Message) -> Given {
        let shifted = |seconds: f64| {
            let now = session.new_timestamp();
            let shift = (seconds * 2f64.powi(32)) as i64;
            Timestamp::new(Ntp64(now.time().0.wrapping_add_signed(shift)), now.id())
        };
        let entity = EntityGlobalId {
            zid: session.zid(),
            eid: 77,
        };
        Given {
            timestamp: message.stamp_shift.map(shifted),
            entity,
            source: message.source_sn.map(|sn| SourceInfo { id: entity, sn }),
        }
    }

    pub fn receipt(&self) -> Receipt {
        Receipt {
            timestamp: self.timestamp.map(|t| t.to_string()),
            source: format!("{}:{}", self.entity.zid, self.entity.eid),
        }
    }
}

pub fn receipt(answer: &Value) -> Receipt {
    Receipt {
        timestamp: answer["timestamp"].as_str().map(str::to_owned),
        source: answer["source"].as_str().expect("a source").to_owned(),
    }
}

/// A subscriber. Dropping one of the reference's leaves it to its process.
pub enum Subscription {
    Ours {
        subscriber: Subscriber<()>,
        samples: Receiver<Sample>,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Subscription {
    /// Returns the next sample.
    pub fn next(&self) -> Seen {
        self.next_within(LONG)
            .unwrap_or_else(|| panic!("no sample within {LONG:?}"))
    }

    /// Returns a sample that has come already.
    pub fn try_next(&self) -> Option<Seen> {
        self.next_within(Duration::ZERO)
    }

    /// Returns the next sample, if it comes in this time.
    pub fn next_within(&self, limit: Duration) -> Option<Seen> {
        match self {
            Subscription::Ours { samples, .. } => samples
                .recv_timeout(limit)
                .ok()
                .map(|sample| Seen::ours(&sample)),
            Subscription::Theirs { process, name } => {
                let sample = process.sample(name, Instant::now() + limit)?;
                Some(Seen::theirs(process, &sample))
            }
        }
    }

    pub fn undeclare(self) {
        match self {
            Subscription::Ours { subscriber, .. } => drop(subscriber),
            Subscription::Theirs { process, name } => {
                process.call("unsubscribe", json!({"name": name}));
            }
        }
    }
}

/// A subscriber of numbered messages.
pub enum Count {
    Ours {
        _subscriber: Subscriber<()>,
        counted: Arc<Mutex<Counted>>,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

/// Number of messages that came, and the first one that was not the next.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counted {
    pub count: u64,
    pub disorder: Option<String>,
}

impl Counted {
    fn take(&mut self, payload: &[u8]) {
        let number = payload.first_chunk().copied().map(u64::from_le_bytes);
        if number != Some(self.count) && self.disorder.is_none() {
            self.disorder = Some(format!("{number:?} came as number {}", self.count));
        }
        self.count += 1;
    }
}

impl Count {
    pub fn now(&self) -> Counted {
        match self {
            Count::Ours { counted, .. } => counted.lock().expect("nobody panics with it").clone(),
            Count::Theirs { process, name } => {
                let answer = process.call("count", json!({"name": name}));
                Counted {
                    count: answer["count"].as_u64().expect("a number"),
                    disorder: answer["disorder"].as_str().map(str::to_owned),
                }
            }
        }
    }
}

impl Count {
    /// Waits until `count` messages have come; they must have come in order, and no more of them.
    pub fn reaches(&self, count: u64) {
        let begin = Instant::now();
        while self.now().count < count {
            assert!(begin.elapsed() < LONG, "{:?}", self.now());
            std::thread::sleep(Duration::from_millis(5));
        }
        let disorder = None;
        assert_eq!(self.now(), Counted { count, disorder });
    }
}

/// A declared publisher.
pub enum Publishing {
    Ours {
        publisher: Publisher<'static>,
        session: Session,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Publishing {
    /// Returns true if it knows of a subscriber.
    pub fn is_matched(&self) -> bool {
        match self {
            Publishing::Ours { publisher, .. } => {
                let status = publisher.matching_status().wait().unwrap();
                status.matching()
            }
            Publishing::Theirs { process, name } => {
                process.call("matching", json!({"name": name}))["matching"] == true
            }
        }
    }

    pub fn publish(&self, message: &Message) -> Receipt {
        match self {
            // a delete and a put are different types of ours
            Publishing::Ours { publisher, session } => {
                let given = Given::of(session, message);
                let done = if message.delete {
                    let put = publisher.delete().attachment(message.attachment);
                    put.timestamp(given.timestamp)
                        .source_info(given.source)
                        .wait()
                } else {
                    let put = publisher
                        .put(message.pattern.bytes())
                        .attachment(message.attachment);
                    let put = put.encoding(message.encoding.unwrap_or_default());
                    put.timeout(LONG)
                        .timestamp(given.timestamp)
                        .source_info(given.source)
                        .wait()
                };
                done.expect("it is open");
                given.receipt()
            }
            Publishing::Theirs { process, name } => {
                let command = joined(json!({"name": name}), message.to_command());
                receipt(&process.call("publish", command))
            }
        }
    }

    /// Publishes numbered messages, 0 to `count`, of `len` bytes. The reference's process does it by itself: wait for
    /// the result.
    pub fn publish_numbered(&self, count: u64, len: usize) -> Numbered<'_> {
        match self {
            Publishing::Ours { publisher, .. } => {
                for number in 0..count {
                    let mut payload = number.to_le_bytes().to_vec();
                    payload.resize(len, 0);
                    let put = publisher.put(payload).timeout(LONG);
                    put.wait().expect("it is open");
                }
                Numbered(None)
            }
            Publishing::Theirs { process, name } => {
                let command = json!({"name": name, "count": count, "len": len});
                Numbered(Some((process, process.begin("many", command))))
            }
        }
    }
}

/// Numbered messages that are being published.
#[must_use = "they may not all be published"]
pub struct Numbered<'a>(Option<(&'a Reference, u64)>);

impl Numbered<'_> {
    /// Waits until all messages are published.
    pub fn done(self) {
        if let Some((process, n)) = self.0 {
            let answer = process.answer(n);
            assert!(answer.get("error").is_none(), "{answer}");
        }
    }
}

/// Returns the ids of a session's neighbours.
pub fn linked(session: &Session) -> BTreeSet<String> {
    let links = session.info().links();
    links.iter().map(|l| l.zid.to_string()).collect()
}

/// Merges the members of two objects.
pub fn joined(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
