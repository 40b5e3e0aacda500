// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks that query, reply, declare, undeclare, cancel, close, or panic. Their calls keep their
//! order whatever happens at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use zonda_codec::{CongestionControl, Payload, Priority, Qos};
use zonda_router::node::{
    AnswerError, GetError, IncomingQuery, IncomingReply, Node, OpenQuery, Outcome, OutgoingQuery,
    QueryEnd, QueryableId, SampleKind, Wait,
};

use crate::party::{
    COMPLETE, Got, Notes, PATIENCE, Taker, answering, ask, client, close, get, keeping, key,
    opened, peer, peer_of, put, query_on, queryable, reply, router, sample, until, until_answered,
    until_kept,
};

/// A taker that runs `call` with each event and records it.
struct Doing<F> {
    notes: Notes,
    call: F,
}

impl<F: Fn(bool) + Send + Sync + 'static> Taker for Doing<F> {
    fn reply(&self, answer: &IncomingReply<'_>) {
        self.notes.reply(answer);
        (self.call)(false);
    }

    fn end(&self, how: QueryEnd) {
        (self.call)(true);
        self.notes.end(how);
    }
}

fn ask_doing<F: Fn(bool) + Send + Sync + 'static>(
    node: &Node,
    text: &str,
    call: F,
) -> (Arc<OpenQuery>, Arc<Doing<F>>) {
    let notes = Notes::default();
    let doing = Arc::new(Doing { notes, call });
    let key = key(text);
    let query = query_on(&key);
    let open = opened(&query, &doing);
    node.query(&query, None, &open, PATIENCE)
        .expect("it is sent");
    (open, doing)
}

#[test]
fn anything_may_be_done_from_inside_the_callbacks_of_a_question() {
    let first = peer();
    let second = peer_of(&first);
    answering(&first, "k", "answer");
    until_answered(&second, "k");
    for node in [&first, &second] {
        let inner = node.clone();
        let (_, doing) = ask_doing(node, "k", move |_| {
            let (_, notes) = ask(&inner, &query_on(&key("own")));
            assert_eq!(notes.all(), [COMPLETE]);
            let id = answering(&inner, "own", "own");
            let (_, notes) = ask(&inner, &query_on(&key("own")));
            assert_eq!(notes.all(), [put("own", "own"), COMPLETE]);
            inner.undeclare_queryable(id);
            drop(
                inner
                    .declare_querier(&key("other"))
                    .expect("it is declared"),
            );
        });
        assert_eq!(doing.notes.all(), [put("k", "answer"), COMPLETE]);
    }
    close(&second);
    close(&first);
}

#[test]
fn anything_may_be_done_from_inside_a_queryable() {
    let first = peer();
    let second = peer_of(&first);
    let own: Arc<OnceLock<QueryableId>> = Arc::default();
    let (inner, itself) = (second.clone(), Arc::clone(&own));
    let id = queryable(&second, "k", false, move |query| {
        answering(&inner, "inner", "inner");
        assert!(!ask(&inner, &query_on(&key("inner"))).1.all().is_empty());
        inner.undeclare_queryable(*itself.get().expect("it is declared"));
        reply(&query, "k", "answer").expect("the answer is taken");
    });
    own.set(id).expect("once");
    until_answered(&first, "k");
    assert_eq!(get(&first, "k"), [put("k", "answer"), COMPLETE]);
    close(&first);
    close(&second);
}

#[test]
fn a_question_cancelled_from_inside_its_own_reply_ends_behind_it() {
    let node = peer();
    let kept = keeping(&node, "k");
    let id: Arc<OnceLock<Arc<OpenQuery>>> = Arc::default();
    let (inner, itself) = (node.clone(), Arc::clone(&id));
    let (asked, doing) = ask_doing(&node, "k", move |_| {
        inner.cancel(itself.get().expect("it was asked"));
    });
    id.set(asked).expect("once");
    let query = kept.lock().unwrap().pop().expect("it was asked");
    reply(&query, "k", "1").expect("the answer is taken");
    assert_eq!(reply(&query, "k", "2"), Err(AnswerError::Over));
    let end = Got::End(QueryEnd::Cancelled);
    assert_eq!(doing.notes.all(), [put("k", "1"), end]);
    close(&node);
}

#[test]
fn a_node_may_be_closed_from_inside_any_callback() {
    for from_reply in [true, false] {
        let first = peer();
        let second = peer_of(&first);
        let kept = keeping(&first, "k");
        until_answered(&second, "k");
        let inner = second.clone();
        let (_, doing) = ask_doing(&second, "k", move |at_end| {
            if at_end != from_reply {
                let _ = inner.close_blocking(Duration::from_millis(50));
            }
        });
        until_kept(&kept, 1);
        let query = kept.lock().unwrap().pop().expect("it was asked");
        reply(&query, "k", "1").expect("the answer is taken");
        drop(query);
        let got = doing.notes.all();
        let closed = Got::End(QueryEnd::Closed);
        assert!(
            got[1] == closed || (!from_reply && got[1] == COMPLETE),
            "{got:?}"
        );
        assert_eq!((got.len(), &got[0]), (2, &put("k", "1")));
        close(&first);
    }
    let first = peer();
    let second = peer_of(&first);
    let inner = second.clone();
    queryable(&second, "k", false, move |_query| {
        let _ = inner.close_blocking(Duration::from_millis(50));
    });
    until_answered(&first, "k");
    let got = get(&first, "k");
    assert_eq!(got.len(), 1, "{got:?}");
    close(&first);
}

#[test]
fn a_callback_that_panics_costs_that_call() {
    let first = peer();
    let second = peer_of(&first);
    queryable(&first, "k", false, |_query| panic!("on purpose"));
    answering(&first, "k", "answer");
    until_answered(&second, "k");
    for node in [&first, &second] {
        let (_, doing) = ask_doing(node, "k", |at_end| assert!(at_end, "on purpose"));
        assert_eq!(doing.notes.all(), [put("k", "answer"), COMPLETE]);
        assert_eq!(get(node, "k"), [put("k", "answer"), COMPLETE]);
    }
    close(&second);
    close(&first);
}

/// Replies from several threads, the timeout and a cancellation at once: the query ends once, with
/// nothing after the end. The recorder checks that itself.
#[test]
fn whatever_happens_at_once_a_question_ends_once() {
    let middle = router();
    let asker = client(&middle);
    let answerers = [client(&middle), client(&middle)];
    let kept: Vec<_> = answerers.iter().map(|node| keeping(node, "k")).collect();
    until_answered(&asker, "k");
    let own = keeping(&asker, "k");
    let asked = key("k");
    for round in 0..150 {
        let short = OutgoingQuery {
            timeout: Duration::from_millis(round % 4),
            target: zonda_codec::Target::All,
            ..query_on(&asked)
        };
        let (open, notes) = ask(&asker, &short);
        thread::scope(|scope| {
            for kept in kept.iter().chain([&own]) {
                scope.spawn(move || {
                    let queries = std::mem::take(&mut *kept.lock().unwrap());
                    for query in queries {
                        for _ in 0..5 {
                            let _ = reply(&query, "k", "x");
                        }
                    }
                });
            }
            if round % 3 == 0 {
                scope.spawn(|| asker.cancel(&open));
            }
        });
        notes.all();
    }
    close(&asker);
    answerers.iter().chain([&middle]).for_each(close);
}

/// A slow callback does not make replies pile up: a sender of more replies waits or gets an error.
#[test]
fn answers_do_not_pile_up_behind_a_slow_callback() {
    let node = peer();
    let kept = keeping(&node, "k");
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let waiting = Arc::new(AtomicUsize::new(0));
    let entered = Arc::clone(&waiting);
    let (_, doing) = ask_doing(&node, "k", move |_| {
        if entered.fetch_add(1, Ordering::SeqCst) == 0 {
            let _ = gate.lock().unwrap().recv();
        }
    });
    let query = kept.lock().unwrap().pop().expect("it was asked");
    let first = query.clone();
    let held_up = thread::spawn(move || reply(&first, "k", "first"));
    until("the callback is at work", || {
        waiting.load(Ordering::SeqCst) == 1
    });
    let now = |query: &IncomingQuery, payload: &Payload| {
        let sample = sample(SampleKind::Put, payload);
        query.reply(QueryableId(1), &key("k"), &sample, Wait::Never)
    };
    let large = Payload::from(vec![1; 100_000]);
    let mut taken = 0;
    let refused = loop {
        match now(&query, &large) {
            Ok(outcome) => assert_eq!(outcome, Outcome::Queued),
            Err(error) => break error,
        }
        taken += 1;
    };
    assert!((5..20).contains(&taken), "{taken}");
    assert_eq!(refused, AnswerError::WouldBlock { peer: node.zid() });
    let more = query.clone();
    let waits = thread::spawn(move || reply(&more, "k", "last"));
    go.send(()).expect("it waits");
    assert_eq!(held_up.join().unwrap(), Ok(Outcome::Sent));
    waits.join().unwrap().expect("there is room again");
    drop(query);
    let got = doing.notes.all();
    assert_eq!(got.len(), taken + 3);
    assert_eq!(
        (&got[0], &got[taken + 1]),
        (&put("k", "first"), &put("k", "last"))
    );
    close(&node);
}

/// A neighbour that does not read: a sender of queries waits or gets an error, and dropped queries
/// are counted.
#[test]
fn a_full_queue_refuses_questions() {
    let node = peer();
    let other = peer_of(&node);
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    // The neighbour's reading task is blocked in the callback, so it reads nothing more.
    queryable(&other, "k", false, move |_query| {
        let _ = gate.lock().unwrap().recv();
    });
    until_answered(&node, "k");
    let asked = key("k");
    let large = vec![1; 100_000];
    let body = (
        zonda_router::node::Value::Borrowed(&large),
        zonda_codec::Encoding::BYTES,
    );
    let blocking = OutgoingQuery {
        body: Some(body),
        ..query_on(&asked)
    };
    let dropping = OutgoingQuery {
        qos: Qos::new(Priority::Data, CongestionControl::Drop, false),
        ..blocking
    };
    let send = |query: &OutgoingQuery<'_>, wait| {
        let open = opened(query, &Arc::new(Notes::default()));
        node.query(query, None, &open, wait)
    };
    let refused = until_refused(|| send(&blocking, Wait::Never));
    let peer = other.zid();
    assert_eq!(refused, GetError::WouldBlock { peer });
    let dropped = until_refused(|| send(&dropping, PATIENCE));
    assert_eq!(dropped, GetError::Dropped { peer });
    assert_eq!(node.links()[0].sent.dropped, 1);
    let after = Duration::from_millis(20);
    // The socket may have had room for some more queries.
    let late = until_refused(|| send(&blocking, Wait::AtMost(after)));
    assert_eq!(late, GetError::Timeout { peer, after });
    drop(go);
    let last = Arc::new(Notes::default());
    let open = opened(&blocking, &last);
    node.query(&blocking, None, &open, PATIENCE)
        .expect("there is room again");
    assert_eq!(last.all(), [COMPLETE]);
    close(&other);
    close(&node);
}

/// An asker that takes no replies: replies that must not be dropped wait or are refused, the rest
/// is dropped and counted by the node that drops it; and the end arrives all the same.
#[test]
fn a_full_queue_drops_or_refuses_answers() {
    let middle = router();
    let (asker, answerer) = (client(&middle), client(&middle));
    let kept = keeping(&answerer, "k");
    until_answered(&asker, "k");
    let asked = key("k");
    let dropping = OutgoingQuery {
        qos: Qos::new(Priority::Data, CongestionControl::Drop, false),
        ..query_on(&asked)
    };
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let stuck = Arc::new(Doing {
        notes: Notes::default(),
        call: move |_| {
            let _ = gate.lock().unwrap().recv();
        },
    });
    let plain = query_on(&asked);
    asker
        .query(&plain, None, &opened(&plain, &stuck), PATIENCE)
        .expect("it is sent");
    let (_, notes) = ask(&asker, &dropping);
    until_kept(&kept, 2);
    let queries = std::mem::take(&mut *kept.lock().unwrap());
    let [blocking, dropping] = &queries[..] else {
        panic!("{queries:?}");
    };
    reply(blocking, "k", "this one holds the asker up").expect("the answer is taken");
    let large = Payload::from(vec![1; 100_000]);
    let large = sample(SampleKind::Put, &large);
    let say = |query: &IncomingQuery, wait| query.reply(QueryableId(1), &asked, &large, wait);
    let dropped = |node: &Node| {
        node.links()
            .iter()
            .map(|link| link.sent.dropped)
            .sum::<u64>()
    };
    let mut said = 0;
    until("somebody has dropped an answer", || {
        said += u64::from(say(dropping, Wait::Never).is_ok());
        dropped(&middle) + dropped(&answerer) > 0
    });
    let refused = until_refused(|| say(blocking, Wait::Never));
    let peer = middle.zid();
    assert_eq!(refused, AnswerError::WouldBlock { peer });
    let after = Duration::from_millis(20);
    let late = until_refused(|| say(blocking, Wait::AtMost(after)));
    assert_eq!(late, AnswerError::Timeout { peer, after });
    drop(go);
    drop(queries);
    let got = notes.all();
    assert_eq!(got.last(), Some(&COMPLETE));
    assert_eq!(got.len() as u64 - 1, said - dropped(&middle));
    stuck.notes.all();
    for node in [&asker, &answerer, &middle] {
        close(node);
    }
}

fn until_refused<T, E>(mut say: impl FnMut() -> Result<T, E>) -> E {
    let mut refused = None;
    until("it is refused", || {
        refused = say().err();
        refused.is_some()
    });
    refused.expect("the loop ended")
}
