// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nodes for tests, queryables made of functions, and queries that record their replies.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use zonda_codec::{Consolidation, Encoding, KeyExpr, Payload, PushBody, Qos, Reliability, Target};
use zonda_router::config::Config;
use zonda_router::node::{
    AnswerError, IncomingQuery, IncomingReply, Node, OpenQuery, OpenedQueryable, Outcome,
    OutgoingQuery, Publication, QueryEnd, QuerySink, QueryableId, ReplyBody, ReplySink, SampleKind,
    Value, Wait,
};
use zonda_router::table::Locality;
use zonda_runtime::block_on;

/// Deadline that never passes in a test that works.
pub const LONG: Duration = Duration::from_secs(20);

/// Time that a sender waits for room.
pub const PATIENCE: Wait = Wait::AtMost(LONG);

pub fn router() -> Node {
    open(Config::router().listen(["tcp/127.0.0.1:0"]))
}

pub fn peer() -> Node {
    open(Config::peer().listen(["tcp/127.0.0.1:0"]))
}

pub fn open(config: Config) -> Node {
    block_on(Node::open(config)).expect("it opens")
}

/// Opens a node connected to `other`; returns when both have the link.
pub fn connected(config: Config, other: &Node) -> Node {
    let address = other.locators().remove(0).to_string();
    let retry = "{ period_init_ms: 10, period_max_ms: 50 }";
    let node = open(config.connect([&address]).with("connect/retry", retry));
    let linked = |a: &Node, b: &Node| a.links().iter().any(|link| link.zid == b.zid());
    until("both see the link", || {
        linked(&node, other) && linked(other, &node)
    });
    node
}

pub fn client(of: &Node) -> Node {
    connected(Config::client([] as [&str; 0]), of)
}

pub fn peer_of(other: &Node) -> Node {
    connected(Config::peer().listen([] as [&str; 0]), other)
}

pub fn close(node: &Node) {
    node.close_blocking(LONG).expect("it closes");
}

/// Waits for a condition, with a deadline.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn key(text: &str) -> KeyExpr<'_> {
    KeyExpr::new(text).expect("a key expression")
}

/// Event of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Put(String, Payload),
    Delete(String),
    Error(Payload),
    End(QueryEnd),
}

pub fn put(key: &str, payload: impl Into<Payload>) -> Got {
    Got::Put(key.to_owned(), payload.into())
}

/// Recorder of a query's events.
#[derive(Default)]
pub struct Notes {
    got: Mutex<Vec<Got>>,
    more: Condvar,
}

impl Notes {
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// Returns all events, once the query has ended.
    pub fn all(&self) -> Vec<Got> {
        let got = self.got.lock().unwrap();
        let ended = |got: &mut Vec<Got>| !matches!(got.last(), Some(Got::End(_)));
        let (got, late) = self.more.wait_timeout_while(got, LONG, ended).unwrap();
        assert!(!late.timed_out(), "no end within {LONG:?}: {got:?}");
        got.clone()
    }

    fn note(&self, news: Got) {
        let mut got = self.got.lock().unwrap();
        assert!(
            !matches!(got.last(), Some(Got::End(_))),
            "{news:?} after the end: {got:?}"
        );
        got.push(news);
        self.more.notify_all();
    }
}

/// Receiver of a query's events, shared with the test.
pub trait Taker: Send + Sync + 'static {
    fn reply(&self, reply: &IncomingReply<'_>);

    fn end(&self, how: QueryEnd);
}

struct Shared<T>(Arc<T>);

impl<T: Taker> ReplySink for Shared<T> {
    fn reply(&mut self, reply: &IncomingReply<'_>) {
        self.0.reply(reply);
    }

    fn end(self: Box<Self>, how: QueryEnd) {
        self.0.end(how);
    }
}

/// Creates the state of `query` before it is sent, with a receiver of its events.
pub fn opened<T: Taker>(query: &OutgoingQuery<'_>, taker: &Arc<T>) -> Arc<OpenQuery> {
    OpenQuery::new(query, Box::new(Shared(Arc::clone(taker))))
}

impl Taker for Notes {
    fn reply(&self, answer: &IncomingReply<'_>) {
        let key = answer.key.to_string();
        self.note(match answer.body {
            ReplyBody::Sample(PushBody::Put(put)) => Got::Put(key, Payload::from(put.payload)),
            ReplyBody::Sample(PushBody::Del(_)) => Got::Delete(key),
            ReplyBody::Error { payload, .. } => Got::Error(Payload::from(payload)),
        });
    }

    fn end(&self, how: QueryEnd) {
        self.note(Got::End(how));
    }
}

/// Returns a query with default QoS.
pub fn query_on<'a>(key: &'a KeyExpr<'a>) -> OutgoingQuery<'a> {
    OutgoingQuery {
        key,
        parameters: "",
        body: None,
        attachment: None,
        target: Target::BestMatching,
        consolidation: Consolidation::None,
        timeout: LONG,
        qos: Qos::REQUEST,
        source_info: None,
        destination: Locality::Any,
        stack: None,
    }
}

pub fn ask(node: &Node, query: &OutgoingQuery<'_>) -> (Arc<OpenQuery>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let open = opened(query, &notes);
    node.query(query, None, &open, PATIENCE)
        .expect("it is sent");
    (open, notes)
}

/// Queries a key and returns all events.
pub fn get(node: &Node, text: &str) -> Vec<Got> {
    ask(node, &query_on(&key(text))).1.all()
}

/// A queryable made of a function.
pub struct With(OpenedQueryable);

impl QuerySink for With {
    fn open(&self) -> Option<OpenedQueryable> {
        Some(Arc::clone(&self.0))
    }
}

pub fn queryable(
    node: &Node,
    text: &str,
    complete: bool,
    call: impl Fn(IncomingQuery) + Send + Sync + 'static,
) -> QueryableId {
    let sink = Arc::new(With(Arc::new(Box::new(call))));
    node.declare_queryable(&key(text), complete, sink)
        .expect("it is declared")
}

/// Declares a queryable that replies with its own key and these bytes.
pub fn answering(node: &Node, text: &'static str, payload: &'static str) -> QueryableId {
    queryable(node, text, false, move |query| {
        reply(&query, text, payload).expect("the answer is taken");
    })
}

/// Declares a queryable that keeps its queries.
pub fn keeping(node: &Node, text: &str) -> Arc<Mutex<Vec<IncomingQuery>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    queryable(node, text, false, move |query| {
        keep.lock().unwrap().push(query)
    });
    kept
}

/// Waits until a queryable has kept `count` queries.
pub fn until_kept(kept: &Mutex<Vec<IncomingQuery>>, count: usize) {
    until("the query is there", || kept.lock().unwrap().len() >= count);
}

pub fn reply(
    query: &IncomingQuery,
    text: &str,
    payload: impl Into<Payload>,
) -> Result<Outcome, AnswerError> {
    let payload = payload.into();
    let sample = sample(SampleKind::Put, &payload);
    query.reply(QueryableId(7), &key(text), &sample, PATIENCE)
}

pub fn sample(kind: SampleKind, payload: &Payload) -> Publication<'_> {
    Publication {
        kind,
        payload: Value::Shared(payload),
        encoding: Encoding::BYTES,
        attachment: None,
        timestamp: None,
        source_info: None,
        qos: Qos::DATA,
        reliability: Reliability::Reliable,
        points: 0,
    }
}

/// Waits until `node` knows a queryable on `text`, from its router or peer.
pub fn until_answered(node: &Node, text: &str) {
    let querier = node.declare_querier(&key(text)).expect("it is declared");
    until("a queryable is known", || {
        querier.has_matching_queryables(Target::BestMatching)
    });
}

pub const COMPLETE: Got = Got::End(QueryEnd::Complete);
