// SPDX-License-Identifier: MIT OR Apache-2.0

//! A get under way without a node: what reaches the handler, in which order, and how it ends.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::channel;
use std::time::Duration;

use zonda_codec::{KeyExpr, PushBody, Put, Qos, ZSlice};
use zonda_router::node::AnswerBody;

use super::*;
use crate::handlers::{FifoChannel, FifoChannelHandler, IntoHandler, RecvError};
use crate::time::{Ntp64, Timestamp};

const LONG: Duration = Duration::from_secs(20);

struct Case {
    asking: Arc<Asking>,
    ended: std::sync::mpsc::Receiver<GetEnd>,
}

fn case(callback: Callback<Reply>, consolidation: ConsolidationMode) -> Case {
    let (tell, ended) = channel();
    let asking = Arc::new(Asking::new(Terms {
        callback,
        stores: true,
        consolidation,
        deadline: Instant::now() + LONG,
        on_end: Some(Box::new(move |end| tell.send(*end).unwrap())),
    }));
    Case { asking, ended }
}

fn queue(capacity: usize) -> (Callback<Reply>, FifoChannelHandler<Reply>) {
    FifoChannel::new(capacity).into_handler()
}

fn answer(asking: &Asking, key: &str, time: u64) {
    let block = ZSlice::from(key.as_bytes().to_vec());
    let mut put = Put::new(block.as_slice());
    let id = ZenohId::random_from(1);
    put.timestamp = (time > 0).then(|| Timestamp::new(Ntp64(time), id));
    asking.reply(&Answer {
        key: &KeyExpr::new(key).unwrap(),
        responder: None,
        body: AnswerBody::Sample(&PushBody::Put(put)),
        block: &block,
        qos: Qos::REQUEST,
    });
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

#[test]
fn replies_come_at_once_and_the_end_after_them() {
    let (callback, handler) = queue(8);
    let case = case(callback, ConsolidationMode::None);
    for name in ["k/1", "k/2"] {
        answer(&case.asking, name, 0);
    }
    assert_eq!(handler.len(), 2);
    assert!(case.ended.try_recv().is_err());
    case.asking.end(QuestionEnd::Complete);
    answer(&case.asking, "k/late", 0);
    case.asking.end(QuestionEnd::Closed);
    let end = case.ended.try_recv().unwrap();
    assert_eq!((end.reason(), end.replies()), (EndReason::Complete, 2));
    assert_eq!(keys(&handler), ["k/1", "k/2"]);
    assert!(case.ended.try_recv().is_err() && case.asking.is_over());
}

#[test]
fn a_lost_link_is_told_among_the_replies_and_what_was_held_is_given() {
    let (callback, handler) = queue(1);
    let case = case(callback, ConsolidationMode::Latest);
    for (name, time) in [("k/1", 5), ("k/2", 1), ("k/1", 4), ("k/3", 0)] {
        answer(&case.asking, name, time);
    }
    assert!(handler.is_empty());
    let peer = ZenohId::random_from(0xabc);
    // More than the queue has room for, and nobody reads: this must not wait.
    case.asking.end(QuestionEnd::LinkLost { peer });
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
    let case = case(callback, ConsolidationMode::Latest);
    answer(&case.asking, "k/1", 0);
    case.asking.end(QuestionEnd::Cancelled);
    assert_eq!(handler.try_recv().err(), Some(RecvError::Closed));
    let end = case.ended.try_recv().unwrap();
    assert_eq!((end.reason(), end.replies()), (EndReason::Cancelled, 0));
}

#[test]
fn who_asks_has_room_for_everything_that_comes_meanwhile() {
    let (callback, handler) = queue(2);
    let case = case(callback, ConsolidationMode::None);
    case.asking.while_asking(|| {
        for n in 0..5 {
            answer(&case.asking, &format!("k/{n}"), 0);
        }
    });
    let elsewhere = case.asking.clone();
    let later = std::thread::spawn(move || {
        for n in 5..10 {
            answer(&elsewhere, &format!("k/{n}"), 0);
        }
        elsewhere.end(QuestionEnd::Complete);
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
    Arc::get_mut(&mut case.asking).unwrap().deadline = soon;
    for name in ["k/1", "k/2", "k/3"] {
        answer(&case.asking, name, 0);
    }
    assert!(Instant::now() >= soon);
    case.asking.end(QuestionEnd::TimedOut);
    assert_eq!((keys(&handler).len(), handler.dropped()), (1, 2));
}

#[test]
fn an_end_inside_of_the_handler_comes_after_it() {
    let own: Arc<OnceLock<Arc<Asking>>> = Arc::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let (inside, count) = (own.clone(), calls.clone());
    let callback = Callback::new(move |_: Reply| {
        inside.get().unwrap().end(QuestionEnd::Cancelled);
        answer(inside.get().unwrap(), "k/inside", 0);
        count.fetch_add(1, Ordering::SeqCst);
    });
    let case = case(callback, ConsolidationMode::None);
    own.set(case.asking.clone()).ok().unwrap();
    answer(&case.asking, "k/1", 0);
    answer(&case.asking, "k/2", 0);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(case.ended.try_recv().unwrap().replies(), 1);
    assert_eq!(Arc::strong_count(&calls), 1, "the callback is dropped");
}

#[test]
fn a_panic_costs_one_reply_and_not_the_end() {
    let callback = Callback::new(|reply: Reply| {
        assert!(key(&reply) != "k/bad", "this panic belongs to the test");
    });
    let case = case(callback, ConsolidationMode::Monotonic);
    for name in ["k/1", "k/bad", "k/2"] {
        answer(&case.asking, name, 0);
    }
    case.asking.end(QuestionEnd::Complete);
    let end = case.ended.try_recv().unwrap();
    assert_eq!((end.replies(), end.panics(), end.unmerged()), (2, 1, 0));
}
