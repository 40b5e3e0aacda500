// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replies at the handler of a get: their order and their end, from a node and at a session that
//! answers its own query.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use zonda_codec::{KeyExpr, PushBody, Put, Qos, ZSlice, ZenohId};
use zonda_router::node::ReplyBody;

use super::*;
use crate::error::GetError;
use crate::handlers::{FifoChannel, FifoChannelHandler, IntoHandler, RecvError};
use crate::query::{ConsolidationMode, EndReason};
use crate::time::{Ntp64, Timestamp};
use crate::{Config, Operation, Session, Wait};

const LONG: Duration = Duration::from_secs(20);

struct Case {
    sink: Box<GetSink>,
    ended: Receiver<GetEnd>,
}

fn case(callback: Callback<Reply>, consolidation: ConsolidationMode) -> Case {
    let (tell, ended) = channel();
    let sink = Box::new(GetSink {
        callback,
        merging: Merging::new(consolidation),
        on_end: Some(Box::new(move |end| tell.send(*end).unwrap())),
        cancellation: None,
        stores: true,
        deadline: Instant::now() + LONG,
        replies: 0,
        panics: 0,
        _here: GroupMembership::of([None; 3]),
    });
    Case { sink, ended }
}

fn queue(capacity: usize) -> (Callback<Reply>, FifoChannelHandler<Reply>) {
    FifoChannel::new(capacity).into_handler()
}

/// Replies, as the node does while the query is sent or later.
fn give(sink: &mut GetSink, key: &str, time: u64, is_inside_query: bool) {
    let block = ZSlice::from(key.as_bytes().to_vec());
    let mut put = Put::new(block.as_slice());
    let id = ZenohId::random_from(1);
    put.timestamp = (time > 0).then(|| Timestamp::new(Ntp64(time), id));
    sink.reply(&IncomingReply {
        key: &KeyExpr::new(key).unwrap(),
        responder: None,
        body: ReplyBody::Sample(&PushBody::Put(put)),
        block: &block,
        qos: Qos::REQUEST,
        is_inside_query,
        ts_stack: None,
    });
}

fn reply(sink: &mut GetSink, key: &str, time: u64) {
    give(sink, key, time, false);
}

fn key(reply: &Reply) -> String {
    match reply.result() {
        Ok(sample) => sample.key_expr().to_string(),
        Err(error) => error.to_string(),
    }
}

fn keys(handler: &FifoChannelHandler<Reply>) -> Vec<String> {
    handler.iter().map(|reply| key(&reply)).collect()
}

/// Opens a session that replies to each query with these keys.
fn session(names: &'static [&'static str]) -> Session {
    let session = crate::open(Config::peer().listen([] as [&str; 0]))
        .wait()
        .unwrap();
    session
        .declare_queryable("k/*")
        .callback(move |query| {
            for name in names {
                let _ = query.reply(*name, "").wait();
            }
        })
        .background()
        .wait()
        .unwrap();
    session
}

#[test]
fn replies_come_at_once_and_the_end_after_them() {
    let (callback, handler) = queue(8);
    let mut case = case(callback, ConsolidationMode::None);
    for name in ["k/1", "k/2"] {
        reply(&mut case.sink, name, 0);
    }
    assert_eq!(handler.len(), 2);
    assert!(case.ended.try_recv().is_err());
    case.sink.end(QueryEnd::Complete);
    let end = case.ended.try_recv().unwrap();
    assert_eq!((end.reason(), end.replies()), (EndReason::Complete, 2));
    assert_eq!(keys(&handler), ["k/1", "k/2"]);
    assert!(case.ended.try_recv().is_err());
}

#[test]
fn a_lost_link_is_told_among_the_replies_and_what_was_held_is_given() {
    let (callback, handler) = queue(1);
    let mut case = case(callback, ConsolidationMode::Latest);
    for (name, time) in [("k/1", 5), ("k/2", 1), ("k/1", 4), ("k/3", 0)] {
        reply(&mut case.sink, name, time);
    }
    assert!(handler.is_empty());
    let peer = ZenohId::random_from(0xabc);
    // More than the queue has room for, and no thread reads: this must not wait.
    case.sink.end(QueryEnd::LinkLost { peer });
    assert_eq!(
        keys(&handler),
        ["k/1", "k/2", "k/3", "the link to abc was lost"]
    );
    let end = case.ended.try_recv().unwrap();
    assert_eq!(
        (end.reason(), end.replies()),
        (EndReason::LinkLost { peer }, 4)
    );
}

#[test]
fn cancelled_means_no_more_calls() {
    let (callback, handler) = queue(8);
    let mut case = case(callback, ConsolidationMode::Latest);
    reply(&mut case.sink, "k/1", 0);
    case.sink.end(QueryEnd::Cancelled);
    assert_eq!(handler.try_recv().err(), Some(RecvError::Closed));
    let end = case.ended.try_recv().unwrap();
    assert_eq!((end.reason(), end.replies()), (EndReason::Cancelled, 0));
}

#[test]
fn who_asks_has_room_for_everything_that_comes_meanwhile() {
    let (callback, handler) = queue(2);
    let mut case = case(callback, ConsolidationMode::None);
    for n in 0..5 {
        give(&mut case.sink, &format!("k/{n}"), 0, true);
    }
    let later = std::thread::spawn(move || {
        for n in 5..10 {
            reply(&mut case.sink, &format!("k/{n}"), 0);
        }
        case.sink.end(QueryEnd::Complete);
    });
    let expected: Vec<String> = (0..10).map(|n| format!("k/{n}")).collect();
    assert_eq!(keys(&handler), expected);
    later.join().unwrap();
    assert_eq!(handler.dropped(), 0);
}

#[test]
fn a_full_queue_is_waited_for_as_long_as_the_get_lives() {
    let (callback, handler) = queue(1);
    let mut case = case(callback, ConsolidationMode::None);
    let soon = Instant::now() + Duration::from_millis(20);
    case.sink.deadline = soon;
    for name in ["k/1", "k/2", "k/3"] {
        reply(&mut case.sink, name, 0);
    }
    assert!(Instant::now() >= soon);
    case.sink.end(QueryEnd::TimedOut);
    assert_eq!((keys(&handler).len(), handler.dropped()), (1, 2));
}

#[test]
fn an_end_inside_of_the_handler_comes_after_it() {
    let session = session(&["k/1", "k/2"]);
    let token = CancellationToken::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let (inside, count) = (token.clone(), calls.clone());
    let (tell, ended) = channel();
    session
        .get("k/*")
        .consolidation(ConsolidationMode::None)
        .cancellation_token(token)
        .on_end(move |end| tell.send(*end).unwrap())
        .callback(move |_| {
            inside.cancel().wait().unwrap();
            count.fetch_add(1, Ordering::SeqCst);
        })
        .wait()
        .unwrap();
    let end = ended.recv_timeout(LONG).unwrap();
    assert_eq!((end.reason(), end.replies()), (EndReason::Cancelled, 1));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(Arc::strong_count(&calls), 1, "the callback is dropped");
}

#[test]
fn a_get_whose_token_is_cancelled_is_refused() {
    let session = session(&["k/1"]);
    let token = CancellationToken::default();
    token.cancel().wait().unwrap();
    let (tell, ended) = channel();
    let get = session.get("k/*").cancellation_token(token);
    let get = get
        .on_end(move |end| tell.send(*end).unwrap())
        .typed()
        .wait();
    assert_eq!(get.err(), Some(GetError::Cancelled));
    assert!(ended.recv().is_err(), "nothing began, so nothing ended");
}

#[test]
fn a_panic_costs_one_reply_and_not_the_end() {
    let session = session(&["k/1", "k/bad", "k/2"]);
    let (tell, ended) = channel();
    session
        .get("k/*")
        .consolidation(ConsolidationMode::Monotonic)
        .on_end(move |end| tell.send(*end).unwrap())
        .callback(|reply| assert!(key(&reply) != "k/bad", "this panic belongs to the test"))
        .wait()
        .unwrap();
    let end = ended.recv_timeout(LONG).unwrap();
    assert_eq!((end.replies(), end.panics(), end.unmerged()), (2, 1, 0));
}
