// SPDX-License-Identifier: MIT OR Apache-2.0
//! A filter that records its calls, in a router between two clients.

use std::{
    cell::RefCell,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use zonda_codec::{
    Consolidation, Encoding, KeyExpr, Payload, PushBody, Qos, Reliability, Target, WhatAmI, ZenohId,
};
use zonda_runtime::block_on;
use zonda_transport::protocol::parameters::Established;

use super::{
    contract::{BoundFilter, Decision, Effect, Filter, Reason, Subject},
    *,
};
use crate::{
    config::{Config, Flow, MessageKind},
    flow::receiving::{Delivery, Opened, Receive},
    metrics::table::{LOW_PASS_BYTES, LOW_PASS_MESSAGES},
    model::{LinkStatus, Publication, SampleKind, Value, Wait},
    node::Node,
    notify::listeners::{Listen, Taken},
    peers::admit::status_of,
    query::{
        IncomingQuery, IncomingReply, OpenQuery, OpenedQueryable, OutgoingQuery, QueryEnd,
        QuerySink, QueryableId, ReplySink,
    },
    table::{Locality, Notice},
};

/// Deadline that never passes in a test that works.
pub(super) const LONG: Duration = Duration::from_secs(20);

pub(super) const PATIENCE: Wait = Wait::AtMost(LONG);

/// A decision: direction, kind, neighbour, key and bytes of the payload.
type Call = (Flow, MessageKind, ZenohId, String, usize);

/// Condition on which a message is dropped.
type Rule = Box<dyn Fn(Flow, &MessageView) -> bool + Send + Sync>;

/// Filter that records its calls.
struct Recorder {
    calls: Mutex<Vec<Call>>,
    drops: Rule,
    /// Kinds of which it lets all messages pass.
    unjudged: Vec<MessageKind>,
    /// User and common names of the neighbours that it was bound to.
    names: Mutex<Vec<(Option<String>, Vec<String>)>>,
}

impl Recorder {
    fn new(drops: impl Fn(Flow, &MessageView) -> bool + Send + Sync + 'static) -> Arc<Recorder> {
        Recorder::without(&[], drops)
    }

    /// Returns a filter that lets all messages of some kinds pass.
    fn without(
        unjudged: &[MessageKind],
        drops: impl Fn(Flow, &MessageView) -> bool + Send + Sync + 'static,
    ) -> Arc<Recorder> {
        Arc::new(Recorder {
            calls: Mutex::default(),
            drops: Box::new(drops),
            unjudged: unjudged.to_vec(),
            names: Mutex::default(),
        })
    }

    /// Returns the number of calls for one direction, kind, neighbour and key.
    fn count(&self, flow: Flow, kind: MessageKind, zid: ZenohId, key: &str) -> usize {
        let calls = self.calls.lock().unwrap();
        let like = |call: &&Call| (call.0, call.1, call.2, &*call.3) == (flow, kind, zid, key);
        calls.iter().filter(like).count()
    }
}

/// [`Recorder`] as a filter of a node.
struct Recording(Arc<Recorder>);

/// [`Recorder`] for one neighbour, direction and key.
struct BoundRecorder {
    recorder: Arc<Recorder>,
    zid: ZenohId,
    flow: Flow,
    key: String,
}

impl Filter for Recording {
    fn explain(&self, _: &Subject<'_>, _: Message<'_>) -> Option<Effect> {
        None
    }

    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        let options = &subject.peer.options;
        let certificate = options.certificate();
        let names = certificate.map_or(Vec::new(), |names| names.common_names.clone());
        let user = options.user().map(str::to_owned);
        self.0.names.lock().unwrap().push((user, names));
        Some(Box::new(BoundRecorder {
            recorder: Arc::clone(&self.0),
            zid: subject.peer.zid,
            flow,
            key: key.map_or(String::new(), ToString::to_string),
        }))
    }
}

impl BoundFilter for BoundRecorder {
    fn decide(&self, message: &MessageView) -> Decision {
        let call = (
            self.flow,
            message.kind,
            self.zid,
            self.key.clone(),
            message.payload,
        );
        self.recorder.calls.lock().unwrap().push(call);
        match (self.recorder.drops)(self.flow, message) {
            true => Decision::Drop(Reason::Size),
            false => Decision::Pass,
        }
    }

    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        self.recorder.unjudged.contains(&kind)
    }
}

thread_local! {
    /// Filter of the next node that this thread opens.
    static PLANTED: RefCell<Option<Arc<Recorder>>> = const { RefCell::new(None) };
}

/// Returns the filter of the node that this thread opens.
pub(super) fn planted() -> Option<Arc<dyn Filter>> {
    let planted = PLANTED.take();
    planted.map(|recorder| Arc::new(Recording(recorder)) as _)
}

/// Returns the status of a link to a neighbour with the id `a1`.
pub(super) fn status() -> LinkStatus {
    let zid = "a1".parse().expect("an id");
    let established = Established::plain(zid, WhatAmI::Client);
    let end = || "tcp/127.0.0.1:7447".parse().expect("a locator");
    status_of(&established, end(), end(), false)
}

/// Returns a neighbour with a link over each of these protocols, at the interface `lo`.
pub(super) fn subject<'f>(peer: &'f LinkStatus, protocols: &[&str]) -> Subject<'f> {
    Subject {
        peer,
        protocols: protocols.iter().map(|text| (*text).to_owned()).collect(),
        interfaces: vec!["lo".into()],
    }
}

/// Returns the view of a put with `payload` bytes.
pub(super) fn put(payload: usize, qos: Qos) -> MessageView {
    MessageView {
        kind: MessageKind::Put,
        payload,
        attachment: 0,
        qos,
        reliability: Reliability::Reliable,
    }
}

/// Waits for a condition, with a deadline.
pub(super) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A router and two clients, one of which has the filter.
struct Scene {
    recorder: Arc<Recorder>,
    router: Node,
    left: Node,
    right: Node,
}

impl Scene {
    /// Opens the nodes, with the filter at the router.
    fn new(recorder: Arc<Recorder>) -> Scene {
        Scene::with_filter(recorder, true)
    }

    /// Opens the nodes, with the filter at the router or at the left client.
    fn with_filter(recorder: Arc<Recorder>, at_router: bool) -> Scene {
        let plant = || PLANTED.set(Some(Arc::clone(&recorder)));
        if at_router {
            plant();
        }
        let router = Config::router().listen(["tcp/127.0.0.1:0"]);
        let router = block_on(Node::open(router)).expect("it opens");
        let address = router.locators().remove(0).to_string();
        let client = || block_on(Node::open(Config::client([&address]))).expect("it opens");
        if !at_router {
            plant();
        }
        Scene {
            left: client(),
            right: client(),
            recorder,
            router,
        }
    }

    fn count(&self, flow: Flow, kind: MessageKind, node: &Node, key: &str) -> usize {
        self.recorder.count(flow, kind, node.zid(), key)
    }

    fn close(self) {
        for node in [&self.left, &self.right, &self.router] {
            let _ = node.close_blocking(LONG);
        }
    }
}

/// Subscriber that records the lengths of payloads.
#[derive(Default)]
pub(super) struct Lengths(Arc<Mutex<Vec<usize>>>);

impl Lengths {
    pub(super) fn got(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

struct Subscriber(Opened);

impl Receive for Subscriber {
    fn open(&self) -> Option<Opened> {
        Some(Arc::clone(&self.0))
    }
}

pub(super) fn key(text: &str) -> KeyExpr<'_> {
    KeyExpr::new(text).expect("a key expression")
}

/// Declares a subscriber of `node`.
pub(super) fn subscribe(node: &Node, text: &str) -> Lengths {
    let lengths = Lengths::default();
    let got = Arc::clone(&lengths.0);
    let take = move |delivery: &Delivery<'_>| {
        got.lock().unwrap().push(match &delivery.push.body {
            PushBody::Put(put) => put.payload.len(),
            PushBody::Del(_) => 0,
        });
    };
    let sink = Arc::new(Subscriber(Arc::new(Box::new(take))));
    node.declare_subscriber(&key(text), sink)
        .expect("it is declared");
    lengths
}

pub(super) fn publication(kind: SampleKind, payload: &[u8]) -> Publication<'_> {
    Publication {
        kind,
        payload: Value::Borrowed(payload),
        encoding: Encoding::BYTES,
        attachment: None,
        timestamp: None,
        source_info: None,
        qos: Qos::new(
            zonda_codec::Priority::Data,
            zonda_codec::CongestionControl::Block,
            false,
        ),
        reliability: Reliability::Reliable,
        points: 0,
    }
}

/// Puts `count` payloads of 8 bytes, of which every fifth has 9, then deletes, from `node`.
fn put_and_delete(node: &Node, text: &str, count: usize) {
    let publisher = node.declare_publisher(&key(text)).expect("it is declared");
    until("a subscriber is known", || {
        publisher.has_matching_subscribers()
    });
    for number in 0..count {
        let payload = &[0; 9][..8 + usize::from(number % 5 == 4)];
        let put = publication(SampleKind::Put, payload);
        publisher.publish(&put, PATIENCE).expect("it is sent");
    }
    let delete = publication(SampleKind::Delete, &[]);
    publisher.publish(&delete, PATIENCE).expect("it is sent");
}

/// Puts of a client reach the router as runs and as single messages.
#[test]
fn each_put_and_delete_is_decided_once_per_hop() {
    const COUNT: usize = 2000;
    let scene = Scene::new(Recorder::new(|flow, message| {
        flow == Flow::Egress && message.payload == 9
    }));
    let got = subscribe(&scene.right, "far");
    put_and_delete(&scene.left, "far", COUNT);
    until("the delete comes", || got.got().last() == Some(&0));
    // every fifth is dropped on its way out, in the middle of runs
    let mut passed = vec![8; COUNT - COUNT / 5];
    passed.push(0);
    assert_eq!(got.got(), passed);
    for (flow, node) in [(Flow::Ingress, &scene.left), (Flow::Egress, &scene.right)] {
        let count = |kind| scene.count(flow, kind, node, "far");
        assert_eq!(count(MessageKind::Put), COUNT, "{flow:?}");
        assert_eq!(count(MessageKind::Delete), 1, "{flow:?}");
    }
    scene.close();
}

/// Puts that all pass take the path of a route without filters; deletions are decided about.
#[test]
fn a_kind_of_which_all_messages_pass_is_not_decided_about() {
    const COUNT: usize = 2000;
    let is_deletion = |_: Flow, message: &MessageView| message.kind == MessageKind::Delete;
    let scene = Scene::new(Recorder::without(&[MessageKind::Put], is_deletion));
    let got = subscribe(&scene.right, "far");
    put_and_delete(&scene.left, "far", COUNT);
    put_and_delete(&scene.router, "far", COUNT);
    until("all come", || got.got().len() == 2 * COUNT);
    let denied = |flow, node| scene.count(flow, MessageKind::Delete, node, "far");
    until("both deletions are decided about", || {
        let (left, right) = (&scene.left, &scene.right);
        (denied(Flow::Ingress, left), denied(Flow::Egress, right)) == (1, 1)
    });
    // every fifth put is longer, and no deletion has come
    let mut lengths = got.got();
    lengths.sort_unstable();
    let mut sent = vec![8; 2 * (COUNT - COUNT / 5)];
    sent.extend(vec![9; 2 * COUNT / 5]);
    assert_eq!(lengths, sent);
    for (flow, node) in [(Flow::Ingress, &scene.left), (Flow::Egress, &scene.right)] {
        assert_eq!(
            scene.count(flow, MessageKind::Put, node, "far"),
            0,
            "{flow:?}"
        );
    }
    scene.close();
}

/// The router's own session has no filters; its neighbours have.
#[test]
fn messages_of_the_own_session_are_decided_once_at_each_neighbour() {
    let scene = Scene::new(Recorder::new(|_, _| false));
    let left = subscribe(&scene.left, "own");
    let publisher = scene.router.declare_publisher(&key("own"));
    let publisher = publisher.expect("it is declared");
    until("the left one is known", || {
        publisher.has_matching_subscribers()
    });
    let own = subscribe(&scene.router, "own");
    put_and_delete(&scene.router, "own", 10);
    put_and_delete(&scene.right, "own", 10);
    until("all come", || {
        own.got().len() == 22 && left.got().len() == 22
    });
    let count = |flow, node: &Node| scene.count(flow, MessageKind::Put, node, "own");
    assert_eq!(count(Flow::Egress, &scene.left), 20);
    assert_eq!(count(Flow::Ingress, &scene.right), 10);
    assert_eq!(count(Flow::Ingress, &scene.router), 0);
    assert_eq!(count(Flow::Egress, &scene.router), 0);
    scene.close();
}

/// Receiver that records the end of a query.
struct Replies(Arc<Mutex<(usize, bool)>>);

impl ReplySink for Replies {
    fn reply(&mut self, _: &IncomingReply<'_>) {
        self.0.lock().unwrap().0 += 1;
    }

    fn end(self: Box<Self>, _: QueryEnd) {
        self.0.lock().unwrap().1 = true;
    }
}

struct Queryable(OpenedQueryable);

impl QuerySink for Queryable {
    fn open(&self) -> Option<OpenedQueryable> {
        Some(Arc::clone(&self.0))
    }
}

/// Declares a queryable that replies once.
pub(super) fn answer(node: &Node, text: &'static str) {
    let call = move |query: IncomingQuery| {
        let payload = Payload::from(&b"reply"[..]);
        let mut sample = publication(SampleKind::Put, &[]);
        sample.payload = Value::Shared(&payload);
        query
            .reply(QueryableId(7), &key(text), &sample, PATIENCE)
            .expect("it is sent");
    };
    let sink = Arc::new(Queryable(Arc::new(Box::new(call))));
    node.declare_queryable(&key(text), false, sink)
        .expect("it is declared");
}

/// Queries a key; returns the number of replies.
pub(super) fn ask(node: &Node, text: &str) -> usize {
    let (key, replies) = (key(text), Arc::default());
    let query = OutgoingQuery {
        key: &key,
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
    };
    let open = OpenQuery::new(&query, Box::new(Replies(Arc::clone(&replies))));
    node.query(&query, None, &open, PATIENCE)
        .expect("it is sent");
    until("the query ends", || replies.lock().unwrap().1);
    let (count, _) = *replies.lock().unwrap();
    count
}

/// Waits until `node` knows a queryable.
pub(super) fn until_answered(node: &Node, text: &str) {
    let querier = node.declare_querier(&key(text)).expect("it is declared");
    until("a queryable is known", || {
        querier.has_matching_queryables(Target::BestMatching)
    });
}

#[test]
fn each_query_and_reply_is_decided_once_per_hop() {
    const COUNT: usize = 20;
    let scene = Scene::new(Recorder::new(|_, _| false));
    answer(&scene.right, "ask/far");
    answer(&scene.router, "ask/own");
    until_answered(&scene.left, "ask/far");
    until_answered(&scene.left, "ask/own");
    for _ in 0..COUNT {
        assert_eq!(ask(&scene.left, "ask/far"), 1);
        assert_eq!(ask(&scene.left, "ask/own"), 1);
    }
    let bound = scene.recorder.names.lock().unwrap().len();
    let Scene { left, right, .. } = &scene;
    for (flow, kind, node, text) in [
        (Flow::Ingress, MessageKind::Query, left, "ask/far"),
        (Flow::Egress, MessageKind::Query, right, "ask/far"),
        (Flow::Ingress, MessageKind::Reply, right, "ask/far"),
        (Flow::Egress, MessageKind::Reply, left, "ask/far"),
        (Flow::Ingress, MessageKind::Query, left, "ask/own"),
        (Flow::Egress, MessageKind::Reply, left, "ask/own"),
    ] {
        let count = scene.count(flow, kind, node, text);
        assert_eq!(count, COUNT, "{flow:?} {kind:?} {text}");
    }
    // bound filters are cached: one more query binds nothing
    assert_eq!(ask(&scene.left, "ask/far"), 1);
    assert_eq!(scene.recorder.names.lock().unwrap().len(), bound);
    scene.close();
}

#[test]
fn queries_and_replies_that_filters_drop_end() {
    let dropped = [
        (Flow::Ingress, MessageKind::Query),
        (Flow::Egress, MessageKind::Query),
        (Flow::Ingress, MessageKind::Reply),
        (Flow::Egress, MessageKind::Reply),
    ];
    for (flow, kind) in dropped {
        let scene = Scene::new(Recorder::new(move |at, message| {
            (at, message.kind) == (flow, kind)
        }));
        answer(&scene.right, "ask");
        until_answered(&scene.left, "ask");
        assert_eq!(ask(&scene.left, "ask"), 0, "{flow:?} {kind:?}");
        scene.close();
    }
}

#[test]
fn dropped_messages_are_counted_by_direction_and_kind() {
    let mut config = Config::default();
    config
        .insert_json5(
            "low_pass_filter",
            "[{flows: ['ingress'], messages: ['put'], key_exprs: ['**'], size_limit: 10}]",
        )
        .expect("they are rules");
    let filters = Filters::new(&config.settings());
    let status = status();
    let bound = filters.bind(&subject(&status, &["tcp"]), Flow::Ingress, Some(&key("a")));
    assert!(decide(&bound, put(10, Qos::DATA)).is_some());
    assert!(decide(&bound, put(11, Qos::DATA)).is_none());
    let samples = filters.samples();
    assert_eq!(
        samples.len(),
        2 * 2 * 4,
        "two metrics, two directions, four kinds"
    );
    let counted = samples.iter().filter(|one| one.value() > 0);
    let counted: Vec<_> = counted
        .map(|one| {
            let labels = [one.label("flow"), one.label("message")];
            let labels = labels.map(Option::unwrap_or_default);
            (one.metric().name, labels, one.value())
        })
        .collect();
    let labels = ["ingress", "put"];
    assert_eq!(
        counted,
        [
            (LOW_PASS_MESSAGES.name, labels, 1),
            (LOW_PASS_BYTES.name, labels, 11)
        ]
    );
}

/// Listener that counts live tokens and notes the end.
#[derive(Default)]
struct Tokens(Arc<Mutex<(usize, bool)>>);

impl Listen for Tokens {
    fn notice(&self, notice: Notice) -> Option<Taken> {
        let mut got = self.0.lock().unwrap();
        match notice {
            Notice::Token { alive: true, .. } => got.0 += 1,
            Notice::End { .. } => got.1 = true,
            _ => {}
        }
        None
    }
}

/// Queries the tokens of a key; returns their number.
pub(super) fn ask_tokens(node: &Node, text: &str) -> usize {
    let tokens = Arc::new(Tokens::default());
    let listen = Arc::clone(&tokens) as Arc<dyn Listen>;
    node.ask_tokens(&key(text), LONG, listen)
        .expect("it is asked");
    until("the query ends", || tokens.0.lock().unwrap().1);
    let (count, _) = *tokens.0.lock().unwrap();
    count
}

const DECLARED: [MessageKind; 5] = [
    MessageKind::DeclareSubscriber,
    MessageKind::DeclareQueryable,
    MessageKind::LivelinessToken,
    MessageKind::DeclareLivelinessSubscriber,
    MessageKind::LivelinessQuery,
];

impl Scene {
    /// Lets the left client make a declaration of this kind; returns true if the declaration has
    /// reached the router, or the right client's token the left one.
    fn declare(&self, kind: MessageKind) -> bool {
        let at = |zid| self.recorder.count(Flow::Ingress, kind, zid, "a") > 0;
        let decided = || until("it is decided", || at(self.left.zid()));
        match kind {
            MessageKind::DeclareSubscriber => {
                subscribe(&self.left, "a");
                decided();
                let publisher = self.router.declare_publisher(&key("a"));
                publisher.expect("declared").has_matching_subscribers()
            }
            MessageKind::DeclareQueryable => {
                answer(&self.left, "a");
                decided();
                let querier = self.router.declare_querier(&key("a")).expect("declared");
                querier.has_matching_queryables(Target::BestMatching)
            }
            MessageKind::LivelinessToken => {
                self.left.declare_token(&key("a")).expect("declared");
                decided();
                ask_tokens(&self.router, "a") > 0
            }
            MessageKind::DeclareLivelinessSubscriber => {
                self.right.declare_token(&key("a")).expect("declared");
                until("the token is known", || ask_tokens(&self.router, "a") == 1);
                let tokens = Arc::new(Tokens::default());
                let listen = Arc::clone(&tokens) as Arc<dyn Listen>;
                let declared = self.left.declare_token_listener(&key("a"), true, listen);
                declared.expect("declared");
                decided();
                // the answer to the query comes after the answer to the interest
                assert_eq!(ask_tokens(&self.left, "a"), 1);
                tokens.0.lock().unwrap().0 > 0
            }
            _ => {
                self.right.declare_token(&key("a")).expect("declared");
                until("the token is known", || ask_tokens(&self.router, "a") == 1);
                ask_tokens(&self.left, "a") > 0
            }
        }
    }
}

#[test]
fn each_declaration_of_a_neighbour_is_decided_once() {
    for kind in DECLARED {
        let scene = Scene::new(Recorder::new(|_, _| false));
        assert!(scene.declare(kind), "{kind:?}");
        assert_eq!(scene.count(Flow::Ingress, kind, &scene.left, "a"), 1);
        scene.close();
    }
}

#[test]
fn declarations_of_each_kind_are_dropped_at_ingress() {
    for kind in DECLARED {
        let scene = Scene::new(Recorder::new(move |flow, message| {
            flow == Flow::Ingress && message.kind == kind
        }));
        assert!(!scene.declare(kind), "{kind:?}");
        assert_eq!(scene.count(Flow::Ingress, kind, &scene.left, "a"), 1);
        scene.close();
    }
}

/// Returns true if the filter is at the router for messages of this kind to a client: a router sends
/// its clients no interests.
fn is_from_router(kind: MessageKind) -> bool {
    !matches!(
        kind,
        MessageKind::DeclareLivelinessSubscriber | MessageKind::LivelinessQuery
    )
}

impl Scene {
    /// Lets a message of this kind leave the node with the filter; returns true if the message has
    /// arrived at its neighbour, or the answer at the left client.
    fn announce(&self, kind: MessageKind) -> bool {
        let Scene { left, right, .. } = self;
        let to = match is_from_router(kind) {
            true => left.zid(),
            false => self.router.zid(),
        };
        // the answer to the query comes after the message
        let decided = || {
            until("it is decided", || {
                self.recorder.count(Flow::Egress, kind, to, "a") > 0
            });
            ask_tokens(left, "other");
        };
        match kind {
            MessageKind::DeclareSubscriber => {
                subscribe(right, "a");
                let publisher = left.declare_publisher(&key("a")).expect("declared");
                decided();
                publisher.has_matching_subscribers()
            }
            MessageKind::DeclareQueryable => {
                answer(right, "a");
                let querier = left.declare_querier(&key("a")).expect("declared");
                decided();
                querier.has_matching_queryables(Target::BestMatching)
            }
            MessageKind::LivelinessQuery => {
                right.declare_token(&key("a")).expect("declared");
                until("the token is known", || ask_tokens(&self.router, "a") == 1);
                ask_tokens(left, "a") > 0
            }
            _ => {
                right.declare_token(&key("a")).expect("declared");
                until("the token is known", || ask_tokens(&self.router, "a") == 1);
                let tokens = Arc::new(Tokens::default());
                let listen = Arc::clone(&tokens) as Arc<dyn Listen>;
                let declared = left.declare_token_listener(&key("a"), true, listen);
                declared.expect("declared");
                decided();
                tokens.0.lock().unwrap().0 > 0
            }
        }
    }
}

#[test]
fn each_declaration_to_a_neighbour_is_decided_once() {
    for kind in DECLARED {
        for drops in [false, true] {
            let recorder = Recorder::new(move |flow, message| {
                drops && (flow, message.kind) == (Flow::Egress, kind)
            });
            let scene = Scene::with_filter(recorder, is_from_router(kind));
            assert_eq!(scene.announce(kind), !drops, "{kind:?}");
            let to = match is_from_router(kind) {
                true => &scene.left,
                false => &scene.router,
            };
            assert_eq!(scene.count(Flow::Egress, kind, to, "a"), 1, "{kind:?}");
            scene.close();
        }
    }
}
