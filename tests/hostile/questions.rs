// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that query more than makes sense, and reply to queries that do not exist.

use std::thread;

use zonda_codec::{
    Declaration, EntityGlobalId, Mapping, NetworkMessage, PushBody, Put, Qos, Query, QueryableInfo,
    RawExtensions, Reply, Request, ResponseBody, ResponseFinal, ResponseHead, TsStack, WireExpr,
};

use crate::hand::{Hand, bytes};
use crate::scene::{Scene, until};

const MANY: u32 = 200_000;

/// Number of queries that a neighbour may have open.
const OPEN_MAX: u32 = 150_000;

/// A time-stamp stack with one entry.
const STACK: &[u8] = &[1, 1, 1, 2, 9, 9];

fn request(rid: u32, key: &str) -> Vec<u8> {
    bytes(&Request::new(rid, WireExpr::full(key), Query::default()))
}

fn response(rid: u32, wire_expr: WireExpr<'_>, payload: &str, responder: &Hand) -> Vec<u8> {
    let reply = Reply {
        consolidation: Default::default(),
        unknown: RawExtensions::default(),
        payload: PushBody::Put(Put::new(payload.as_bytes())),
    };
    let head = ResponseHead {
        rid,
        wire_expr,
        // The reply is sent with the quality of service of the query, whatever it requests itself.
        qos: Qos::DATA,
        timestamp: None,
        responder: Some(EntityGlobalId {
            zid: responder.zid(),
            eid: 7,
        }),
        ts_stack: Some(TsStack::new(STACK).expect("a stack")),
    };
    bytes(&head.with_body(ResponseBody::Reply(reply)))
}

fn end(rid: u32) -> Vec<u8> {
    bytes(&ResponseFinal {
        rid,
        qos: Qos::REQUEST,
        timestamp: None,
    })
}

/// Connects a guest with a queryable on `key`.
fn answerer(scene: &Scene, key: &str) -> Hand {
    let mut guest = scene.quiet_guest();
    let wire_expr = WireExpr::full(key);
    let info = QueryableInfo::default();
    assert!(guest.declare(Declaration::Queryable {
        id: 1,
        wire_expr,
        info
    }));
    assert!(guest.is_served());
    guest
}

#[test]
fn a_flood_of_questions_that_nobody_answers() {
    let scene = Scene::open();
    let mut deaf = answerer(&scene, "flood/q");
    let mut guest = scene.quiet_guest();
    // It reads its queries and answers none.
    let reading = thread::spawn(move || {
        let mut count = 0;
        assert!(deaf.read_until(|message| {
            count += u32::from(matches!(message, NetworkMessage::Request(_)));
            count == OPEN_MAX
        }));
        deaf
    });
    assert!(guest.messages((0..MANY).map(|rid| request(rid, "flood/q"))));
    let deaf = reading.join().expect("it reads");
    until("all have arrived", || {
        let link = scene.link(guest.zid()).expect("connected");
        link.ignored.questions_refused == u64::from(MANY - OPEN_MAX)
    });
    scene.is_well();
    // The router no longer waits for a closed guest.
    drop(deaf);
    let mut ends = 0;
    assert!(guest.read_until(|message| {
        ends += u32::from(matches!(message, NetworkMessage::ResponseFinal(_)));
        ends == MANY
    }));
    assert!(guest.is_served());
    scene.is_well();
}

/// Returns the errors that a guest receives before the end of a query whose queryable is lost.
fn told_of_a_loss(scene: &Scene, hears_of_losses: bool) -> Vec<String> {
    // A query reaches its queryable.
    let mut answerer = answerer(scene, "lost/q");
    let mut guest = scene.guest();
    let query = Query::default();
    let question = Request {
        hears_of_losses,
        ..Request::new(5, WireExpr::full("lost/q"), query)
    };
    assert!(guest.frame(&bytes(&question)));
    assert!(answerer.read_until(|message| matches!(message, NetworkMessage::Request(_))));
    // The queryable is lost, and the guest reads until the query's end.
    drop(answerer);
    let mut told = Vec::new();
    assert!(guest.read_until(|message| match message {
        NetworkMessage::Response(response) => {
            let ResponseBody::Err(error) = &response.body else {
                panic!("{response:?}");
            };
            told.push(String::from_utf8_lossy(error.payload).into_owned());
            false
        }
        NetworkMessage::ResponseFinal(end) => end.rid == 5,
        _ => false,
    }));
    told
}

/// A program of another implementation asserts the plain end that its own router sends.
#[test]
fn an_answerer_that_is_lost_is_an_error_to_those_who_understand_it() {
    let scene = Scene::open();
    assert_eq!(told_of_a_loss(&scene, false), [""; 0]);
    let told = told_of_a_loss(&scene, true);
    assert!(told.len() == 1 && told[0].ends_with("was lost"), "{told:?}");
    scene.is_well();
    let all = crate::scene::router().with("isolation/query_losses", "'all'");
    let scene = Scene::of(all);
    assert_eq!(told_of_a_loss(&scene, false).len(), 1);
}

#[test]
fn answers_that_make_no_sense() {
    let scene = Scene::open();
    let mut answerer = answerer(&scene, "k/**");
    let (mut guest, mut other) = (scene.guest(), scene.guest());
    assert!(guest.frame(&request(77, "k/*")));
    let mut rid = None;
    assert!(answerer.read_until(|message| {
        if let NetworkMessage::Request(request) = message {
            rid = Some(request.rid);
        }
        rid.is_some()
    }));
    let rid = rid.expect("it was asked");
    let full = WireExpr::full;
    let mut said = vec![
        // A reply to an unknown query, invalid keys, and the one valid reply.
        response(rid + 1, full("k/a"), "unknown", &answerer),
        response(rid, full("k//a"), "bad", &answerer),
        response(rid, full(""), "empty", &answerer),
        response(
            rid,
            WireExpr::scoped(99, Mapping::Sender),
            "undeclared",
            &answerer,
        ),
        response(rid, full("k/a"), "good", &answerer),
    ];
    // No other node can reply in its place.
    assert!(other.messages([response(rid, full("k/a"), "false", &other), end(rid)]));
    assert!(other.is_served());
    said.extend([end(rid + 1), end(rid), end(rid)]);
    said.push(response(rid, full("k/a"), "late", &answerer));
    assert!(answerer.messages(said));
    assert!(answerer.is_served());
    let mut got = Vec::new();
    assert!(guest.read_until(|message| match message {
        NetworkMessage::Response(response) => {
            let ResponseBody::Reply(reply) = &response.body else {
                panic!("{response:?}");
            };
            let PushBody::Put(put) = &reply.payload else {
                panic!("{response:?}");
            };
            assert_eq!((response.rid, response.qos), (77, Qos::REQUEST));
            assert_eq!(response.wire_expr, full("k/a"));
            assert_eq!(response.responder.map(|id| id.eid), Some(7));
            assert_eq!(response.ts_stack.map(|stack| stack.as_bytes()), Some(STACK));
            got.push(String::from_utf8_lossy(put.payload).into_owned());
            false
        }
        NetworkMessage::ResponseFinal(end) => end.rid == 77,
        _ => false,
    }));
    assert_eq!(got, ["good"]);
    let ignored = |guest: &Hand| scene.link(guest.zid()).expect("connected").ignored;
    assert_eq!(ignored(&answerer).bad_keys, 3);
    assert_eq!(ignored(&answerer).unknown_answers, 4);
    assert_eq!(ignored(&other).unknown_answers, 2);
    // The id is free again, and in use only once.
    assert!(guest.messages([request(77, "k/*"), request(77, "k/*"), request(78, "none")]));
    assert!(guest.read_until(
        |message| matches!(message, NetworkMessage::ResponseFinal(end) if end.rid == 78)
    ));
    assert_eq!(ignored(&guest).repeated_questions, 1);
    scene.is_well();
}
