// SPDX-License-Identifier: MIT OR Apache-2.0
//! A router without tasks: one source, three subscribers. Each subscriber reads, message by
//! message, exactly the messages that were sent, whichever way the router forwarded them: copies of
//! runs, bodies passed on unchanged, messages encoded anew.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use zonda_codec::key_expr::{includes, intersects, validate};
use zonda_codec::{
    Declaration, Declare, Encode, Mapping, NetworkMessage, NodeId, Priority, Push, PushBody,
    Reader, Timestamp, TransportMessage, TsStack, WhatAmI, WireExpr, ZSlice, ZenohId,
};
use zonda_router::config::Config;
use zonda_router::node::{End, Node};

use crate::spelling::Speller;

/// Key ids of the source.
const IDS: [(u16, &str); 6] = [
    (1, "demo"),
    (2, "key"),
    (127, "a"),
    (128, "a/key/that/is/longer/than/what/is/compared"),
    (300, "x/y"),
    (0xffff, "z"),
];

/// Key expression and key ids of each subscriber.
const TAKERS: [(&str, &[(u16, &str)]); 3] = [
    ("**", &[]),
    ("**", &[]),
    ("demo/**", &[(7, "demo"), (300, "demo/**")]),
];

/// A reliable frame of number 0.
const FRAME: [u8; 2] = [0x25, 0];

const BATCH_BYTES_MAX: usize = u16::MAX as usize;

/// An end of a connection and the other end of its socket.
struct Side {
    end: End,
    socket: TcpStream,
    unread: Vec<u8>,
    read: u64,
}

impl Side {
    fn new(node: &Node, number: u128) -> Side {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let near = TcpStream::connect(address).expect("it listens");
        let (socket, _) = listener.accept().expect("a connection");
        let peer = (ZenohId::random_from(number), WhatAmI::Client);
        Side {
            end: node.attach(&near, peer).expect("descriptors are left"),
            socket,
            unread: Vec::new(),
            read: 0,
        }
    }

    /// Sends the router a batch with these messages.
    fn send(&mut self, messages: &[u8]) {
        let bytes = Arc::new([&FRAME, messages].concat());
        let block = ZSlice::from(Arc::clone(&bytes));
        self.end.expect_frame(0);
        self.end.deliver(&bytes, &block).expect("it is a batch");
        self.end.end_burst();
    }

    fn declare(&mut self, body: Declaration<'_>) {
        let bytes = Declare::new(body).to_vec().expect("it has a wire form");
        self.send(&bytes);
    }

    /// Takes the batches that the router has sent here since the last call.
    fn take(&mut self) -> Vec<Vec<u8>> {
        let mut batches = Vec::new();
        loop {
            self.end.outbox().flush();
            let sent = self.end.outbox().counters().bytes.load(Ordering::Relaxed);
            if sent == self.read {
                return batches;
            }
            let more = usize::try_from(sent - self.read).expect("it fits into memory");
            let at = self.unread.len();
            self.unread.resize(at + more, 0);
            let read = self.socket.read_exact(&mut self.unread[at..]);
            read.expect("what was sent");
            self.read = sent;
            while let [low, high, rest @ ..] = self.unread.as_slice() {
                let length = usize::from(u16::from_le_bytes([*low, *high]));
                let Some(batch) = rest.get(..length) else {
                    break;
                };
                batches.push(batch.to_vec());
                self.unread.drain(..length + 2);
            }
        }
    }
}

/// A subscriber, and the key ids that the router declared to it.
struct Taker {
    side: Side,
    wants: &'static str,
    own: &'static [(u16, &'static str)],
    told: HashMap<u16, String>,
}

/// A sample that was decoded by itself, with its key in full.
type Sample<'a> = (String, Push<'a>);

/// Access control that decides about no put that passes, about some deletions that pass, and about
/// others that do not.
const RULES: &str = "{
    enabled: true,
    default_permission: 'deny',
    rules: [
        {id: 'puts', permission: 'allow', messages: ['put', 'declare_subscriber'], key_exprs: ['**']},
        {id: 'deletions', permission: 'allow', messages: ['delete'], key_exprs: ['demo/**']},
    ],
    subjects: [{id: 'all'}],
    policies: [{rules: ['puts', 'deletions'], subjects: ['all']}],
}";

/// Returns true if [`RULES`] let a message pass.
fn is_allowed(key: &str, push: &Push<'_>) -> bool {
    match &push.body {
        PushBody::Put(_) => includes("**", key),
        PushBody::Del(_) => includes("demo/**", key),
    }
}

/// The router with its neighbours.
pub struct Scene {
    node: Node,
    source: Side,
    takers: Vec<Taker>,
    stamps: bool,
    has_rules: bool,
}

impl Scene {
    /// Creates a router that stamps messages, or not.
    pub fn new(stamps: bool) -> Scene {
        Scene::with(stamps, false)
    }

    /// Creates a router with [`RULES`], which stamps messages, or not.
    pub fn with_rules(stamps: bool) -> Scene {
        Scene::with(stamps, true)
    }

    fn with(stamps: bool, has_rules: bool) -> Scene {
        // A router without any transport of its own.
        let config = Config::router()
            .listen([] as [&str; 0])
            .with("scouting/multicast/enabled", "false")
            .with("timestamping/enabled", &stamps.to_string());
        let config = match has_rules {
            true => config.with("access_control", RULES),
            false => config,
        };
        let node = zonda_runtime::block_on(Node::open(config)).expect("a node");
        // The source, with its key ids.
        let mut source = Side::new(&node, 1);
        for (id, key) in IDS {
            let wire_expr = WireExpr::full(key);
            source.declare(Declaration::KeyExpr { id, wire_expr });
        }
        // Subscribers, some with key ids of their own.
        let mut takers = Vec::new();
        for (number, (wants, own)) in TAKERS.into_iter().enumerate() {
            let mut side = Side::new(&node, 2 + number as u128);
            for (id, key) in own {
                let wire_expr = WireExpr::full(key);
                side.declare(Declaration::KeyExpr { id: *id, wire_expr });
            }
            let wire_expr = WireExpr::full(wants);
            side.declare(Declaration::Subscriber { id: 1, wire_expr });
            takers.push(Taker {
                side,
                wants,
                own,
                told: HashMap::new(),
            });
        }
        Scene {
            node,
            source,
            takers,
            stamps,
            has_rules,
        }
    }

    /// Sends the PUSHes that `data` begins with and compares them with the router's output; `also`
    /// gets each batch of each subscriber. Returns how many messages were sent.
    pub fn check(&mut self, data: &[u8], mut also: impl FnMut(&[u8])) -> usize {
        // The source sends whole messages in one batch.
        let data = &data[..data.len().min(BATCH_BYTES_MAX - FRAME.len())];
        let (sent, length) = pushes(data);
        self.source.send(&data[..length]);
        let sent: Vec<Sample<'_>> = sent
            .into_iter()
            .filter_map(|push| Some((source_key(&push.wire_expr)?, push)))
            .collect();
        // Each subscriber reads the batches that the router wrote for it.
        for taker in &mut self.takers {
            let batches = taker.side.take();
            let mut came = Vec::new();
            for batch in &batches {
                also(batch);
                taker.read(batch, &mut came);
            }
            // Messages that are due, in their order within each priority.
            let due = sent.iter().filter(|(key, push)| {
                intersects(taker.wants, key) && (!self.has_rules || is_allowed(key, push))
            });
            let due: Vec<&Sample<'_>> = due.collect();
            for priority in Priority::ALL {
                let of = |push: &Push<'_>| push.qos.priority() == priority;
                let due = due.iter().filter(|(_, push)| of(push));
                let mut came = came.iter().filter(|(_, push)| of(push));
                for sample in due {
                    let came = came.next().expect("a message was swallowed");
                    compare(sample, came, self.stamps.then(|| self.node.zid()));
                }
                assert_eq!(came.next(), None, "a message that was not sent");
            }
        }
        sent.len()
    }
}

impl Taker {
    /// Reads a batch message by message.
    fn read<'b>(&mut self, batch: &'b [u8], came: &mut Vec<Sample<'b>>) {
        let mut reader = Reader::new(batch);
        while !reader.is_empty() {
            match TransportMessage::decode(&mut reader) {
                Ok(TransportMessage::Frame(_) | TransportMessage::KeepAlive) => {}
                other => panic!("the router sent {other:?}"),
            }
            while reader.peek().is_some_and(NetworkMessage::starts) {
                match NetworkMessage::decode(&mut reader).expect("a message of the router") {
                    NetworkMessage::Push(push) => came.push((self.key(&push.wire_expr), push)),
                    NetworkMessage::Declare(declare) => self.hear(&declare.body),
                    NetworkMessage::Interest(_) | NetworkMessage::Oam(_) => {}
                    other => panic!("the router sent {other:?}"),
                }
            }
        }
    }

    fn hear(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::KeyExpr { id, wire_expr } => {
                let key = self.key(wire_expr);
                self.told.insert(*id, key);
            }
            Declaration::UndeclareKeyExpr { id } => {
                self.told.remove(id);
            }
            _ => {}
        }
    }

    fn key(&self, expr: &WireExpr<'_>) -> String {
        let own = || self.own.iter().find(|(id, _)| *id == expr.scope);
        let scope = match (expr.scope, expr.mapping) {
            (0, _) => "",
            (scope, Mapping::Sender) => self
                .told
                .get(&scope)
                .expect("a number that the router declared"),
            (_, Mapping::Receiver) => own().expect("a number of its own").1,
        };
        format!("{scope}{}", expr.suffix)
    }
}

/// Returns the PUSHes that `data` begins with, and how many bytes they take.
fn pushes(data: &[u8]) -> (Vec<Push<'_>>, usize) {
    let mut reader = Reader::new(data);
    let mut pushes = Vec::new();
    loop {
        let before = reader.position();
        match NetworkMessage::decode(&mut reader) {
            Ok(NetworkMessage::Push(push)) => pushes.push(push),
            _ => return (pushes, before),
        }
    }
}

/// Returns the key in full, if it is valid: the router has declared no key ids to the source.
fn source_key(expr: &WireExpr<'_>) -> Option<String> {
    let scope = match (expr.scope, expr.mapping) {
        (0, _) => "",
        (scope, Mapping::Sender) => IDS.iter().find(|(id, _)| *id == scope)?.1,
        (_, Mapping::Receiver) => return None,
    };
    Some(format!("{scope}{}", expr.suffix)).filter(|key| validate(key).is_ok())
}

/// Asserts that a stack has the record of a router behind those that it had, if it collects them.
fn compare_stacks(sent: TsStack<'_>, came: TsStack<'_>) {
    let before: Vec<_> = sent.entries().collect();
    let after: Vec<_> = came.entries().collect();
    let records = match sent.collects(TsStack::ROUTE) && before.len() < TsStack::RECORDS_MAX {
        true => 1,
        false => 0,
    };
    assert_eq!(
        (came.conf(), after.len()),
        (sent.conf(), before.len() + records)
    );
    let (same, added) = after.split_at(before.len());
    assert_eq!(same, before);
    assert!(added.iter().all(|(flags, _)| *flags == TsStack::ROUTE));
}

/// Asserts that `came` equals `sent`; a router with the id in `stamps` has added a timestamp to a
/// sample without one or with one in the future, and each router its record to a time-stamp stack.
fn compare(sent: &Sample<'_>, came: &Sample<'_>, stamps: Option<ZenohId>) {
    let (key, mut push) = (sent.0.clone(), sent.1);
    push.wire_expr = came.1.wire_expr;
    push.node_id = NodeId::ITSELF;
    if let (Some(before), Some(after)) = (push.ts_stack, came.1.ts_stack) {
        compare_stacks(before, after);
        push.ts_stack = Some(after);
    }
    if let (PushBody::Put(put), PushBody::Put(other)) = (&mut push.body, &came.1.body)
        && let Some(zid) = stamps
        && put.timestamp.is_none_or(|stamp| stamp.time().0 >> 63 == 1)
    {
        let given = other.timestamp.as_ref().map(Timestamp::id);
        assert_eq!(given, Some(zid), "the router gives a timestamp");
        put.timestamp = other.timestamp;
    }
    assert_eq!((key, push), *came);
}

thread_local! {
    static PLAIN: RefCell<Scene> = RefCell::new(Scene::new(false));
    static STAMPING: RefCell<Scene> = RefCell::new(Scene::new(true));
}

/// Passes a row of messages through a router that stamps messages, or through one that does not.
pub fn forwarding(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    let mut speller = match kind & 2 {
        0 => Speller::legal(data),
        _ => Speller::lying(data),
    };
    let row = match kind & 0x0c {
        0 => data.to_vec(),
        4 => {
            speller.pushes(usize::from(kind >> 4));
            speller.take()
        }
        _ => {
            speller.alike(3 * usize::from(kind >> 4));
            speller.take()
        }
    };
    let scene = if kind & 1 == 0 { &PLAIN } else { &STAMPING };
    scene.with_borrow_mut(|scene| scene.check(&row, |_| {}));
}
