// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a hundred thousand open queries, which is freed afterwards.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda_codec::{
    Consolidation, Declaration, Declare, KeyExpr, Qos, QueryableInfo, Target, WhatAmI, WireExpr,
    ZenohId,
};
use zonda_router::config::Config;
use zonda_router::node::{
    IncomingQuery, IncomingReply, Node, OpenQuery, OpenedQueryable, OutgoingQuery, QueryEnd,
    QuerySink, ReplySink, Wait,
};
use zonda_router::table::{
    FaceId, FaceInfo, FaceKind, ForwardingTable, Locality, NewQuery, QueryDispatch, Reach,
};

use crate::counting::held;

const OPEN: u32 = 100_000;

fn client(table: &mut ForwardingTable, number: u128) -> FaceId {
    let info = FaceInfo {
        zid: ZenohId::random_from(number),
        whatami: WhatAmI::Client,
        kind: FaceKind::Remote,
    };
    table.add_face(info, &mut Vec::new())
}

/// A router's memory for queries between two of its clients.
#[test]
fn an_open_question_takes_few_bytes_at_a_router_and_gives_them_back() {
    let mut table = ForwardingTable::new(ZenohId::random_from(1), WhatAmI::Router);
    let (asker, answerer) = (client(&mut table, 2), client(&mut table, 3));
    let declare = Declare::new(Declaration::Queryable {
        id: 1,
        wire_expr: WireExpr::full("k"),
        info: QueryableInfo::default(),
    });
    table.handle_declare(answerer, &declare, &mut Vec::new());
    let key = KeyExpr::new("k").unwrap();
    let before = held();
    for rid in 0..OPEN {
        let ask = NewQuery {
            hears_of_losses: true,
            rid,
            key: &key,
            target: Target::All,
            qos: Qos::REQUEST,
            timeout: Duration::from_secs(10),
            querier: None,
            destination: Reach::ANY,
        };
        let disposal = table.handle_query(asker, &ask, Instant::now());
        assert!(matches!(disposal, QueryDispatch::Sent(_)));
    }
    let each = (held() - before) / i64::from(OPEN);
    println!("{each} bytes for each open question");
    assert!(each <= 250, "{each} bytes for each open question");
    table.remove_face(answerer, &mut Vec::new());
    while table.sweep(&mut Vec::new()) {}
    assert_eq!(table.take_ended().len(), OPEN as usize);
    assert_eq!(table.open_queries(), 0);
    let left = held() - before;
    // The querying node's own list keeps its room for the next ones.
    assert!(left <= i64::from(OPEN) * 24, "{left} bytes are left");
}

struct Keep(OpenedQueryable);

impl QuerySink for Keep {
    fn open(&self) -> Option<OpenedQueryable> {
        Some(Arc::clone(&self.0))
    }
}

struct Nothing;

impl ReplySink for Nothing {
    fn reply(&mut self, _answer: &IncomingReply<'_>) {}

    fn end(self: Box<Self>, _how: QueryEnd) {}
}

/// A node's memory for queries of its own session, and for queries that its session has to answer:
/// here both.
#[test]
fn an_open_question_takes_few_bytes_at_its_ends_and_gives_them_back() {
    let node = zonda_runtime::block_on(Node::open(Config::peer().listen([] as [&str; 0]))).unwrap();
    let key = KeyExpr::new("k").unwrap();
    let kept: Arc<Mutex<Vec<IncomingQuery>>> = Arc::new(Mutex::new(Vec::new()));
    kept.lock().unwrap().reserve(OPEN as usize);
    let keep = Arc::clone(&kept);
    let call: OpenedQueryable = Arc::new(Box::new(move |query| keep.lock().unwrap().push(query)));
    node.declare_queryable(&key, true, Arc::new(Keep(call)))
        .unwrap();
    let query = OutgoingQuery {
        key: &key,
        parameters: "",
        body: None,
        attachment: None,
        target: Target::BestMatching,
        consolidation: Consolidation::None,
        timeout: Duration::from_secs(1000),
        qos: Qos::REQUEST,
        source_info: None,
        destination: Locality::Any,
        stack: None,
    };
    let before = held();
    for _ in 0..OPEN {
        let open = OpenQuery::new(&query, Box::new(Nothing));
        node.query(&query, None, &open, Wait::Never).unwrap();
    }
    let each = (held() - before) / i64::from(OPEN);
    println!("{each} bytes for each open question and its query");
    assert!(each <= 900, "{each} bytes for each open question");
    kept.lock().unwrap().clear();
    let left = held() - before;
    assert!(left <= i64::from(OPEN) * 100, "{left} bytes are left");
    node.close_blocking(Duration::from_secs(10)).unwrap();
}
