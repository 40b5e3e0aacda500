// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ends of a get, within one session, between two over loopback, and through a router.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::asking::{asked, everywhere, texts, until_answered};
use crate::pair::{LONG, alone, pair, until};
use zonda::cancellation::CancellationToken;
use zonda::handlers::FifoChannel;
use zonda::query::EndReason;
use zonda::{AnswerError, DeclareError, GetError, Operation, RecvError, Wait};

#[test]
fn nobody_to_ask_ends_at_once() {
    everywhere(|asking, _| {
        let begin = Instant::now();
        let (replies, end) = asked(asking.get("nobody/answers"));
        assert_eq!((replies.len(), end.reason()), (0, EndReason::Complete));
        let querier = asking.declare_querier("nobody/answers").wait().unwrap();
        let replies = querier.get().wait().unwrap();
        assert_eq!(texts(&replies).len(), 0);
        assert!(
            begin.elapsed() < Duration::from_secs(9),
            "it did not wait for its timeout"
        );
    });
}

#[test]
fn a_get_ends_with_its_time() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("slow").wait().unwrap();
        until_answered(asking, "slow");
        let begin = Instant::now();
        let (texts, end) = asked(asking.get("slow").timeout(Duration::from_millis(200)));
        let took = begin.elapsed();
        assert_eq!(
            (texts, end.reason()),
            (vec!["error: Timeout".to_owned()], EndReason::Timeout)
        );
        assert!(took >= Duration::from_millis(200), "{took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        // The asker waits no longer, which is known at once on a local link.
        let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        if asking.zid() == answering.zid() {
            assert_eq!(
                query.reply("slow", "late").typed().wait(),
                Err(AnswerError::Over)
            );
        } else {
            let _ = query.reply("slow", "late").wait();
        }
    });
}

#[test]
fn a_token_cancels() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("slow").wait().unwrap();
        until_answered(asking, "slow");
        let token = CancellationToken::default();
        let (tell, told) = channel();
        let ask = |token: &CancellationToken| {
            let tell = tell.clone();
            let get = asking.get("slow").cancellation_token(token.clone());
            let get = get.on_end(move |end| tell.send(end.reason()).unwrap());
            get.wait().unwrap()
        };
        let (first, second) = (ask(&token), ask(&token));
        let held = [(); 2].map(|()| queryable.recv_timeout(LONG).unwrap().expect("a query"));
        assert!(!token.is_cancelled());
        token.cancel().wait().unwrap();
        assert_eq!((texts(&first).len(), texts(&second).len()), (0, 0));
        let third = asking.get("slow").cancellation_token(token.clone());
        assert_eq!(third.typed().wait().err(), Some(GetError::Cancelled));
        for _ in 0..2 {
            assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Cancelled));
        }
        drop(held);
        // A get that has ended by itself leaves nothing in a token.
        let token = CancellationToken::default();
        let replies = ask(&token);
        drop(queryable.recv_timeout(LONG).unwrap());
        assert_eq!(texts(&replies).len(), 0);
        assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Complete));
        assert!(format!("{token:?}").contains("open: 0"), "{token:?}");
    });
}

#[test]
fn a_link_that_is_lost_ends_its_gets_at_once() {
    let (asking, answering) = pair();
    let queryable = answering.declare_queryable("slow").wait().unwrap();
    until_answered(&asking, "slow");
    let (tell, told) = channel();
    let get = asking.get("slow").timeout(LONG * 10);
    let get = get.on_end(move |end| tell.send((end.reason(), Instant::now())).unwrap());
    let replies = get.wait().unwrap();
    let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
    query.reply("slow", "first").wait().unwrap();
    let peer = answering.zid();
    let begin = Instant::now();
    answering.close().wait().unwrap();
    drop(query);
    let texts = texts(&replies);
    let (reason, when) = told.recv_timeout(LONG).unwrap();
    // The close may have come after the last answer, or instead of it.
    if reason != EndReason::Complete {
        assert_eq!(reason, EndReason::LinkLost { peer });
        assert_eq!(
            texts.last(),
            Some(&format!("error: the link to {peer} was lost"))
        );
    }
    assert!(texts.contains(&"first".to_owned()), "{texts:?}");
    assert!(when - begin < Duration::from_secs(5), "{:?}", when - begin);
}

#[test]
fn who_leaves_after_his_answer_has_answered() {
    for round in 0..20 {
        let (asking, answering) = pair();
        let queryable = answering.declare_queryable("last").wait().unwrap();
        until_answered(&asking, "last");
        let (tell, told) = channel();
        let get = asking.get("last").timeout(LONG);
        let get = get.on_end(move |end| tell.send(end.reason()).unwrap());
        let replies = get.wait().unwrap();
        let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        query.reply("last", "goodbye").wait().unwrap();
        drop(query);
        queryable.undeclare().wait().unwrap();
        answering.close().wait().unwrap();
        assert_eq!(texts(&replies), ["goodbye"], "round {round}");
        assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Complete));
    }
}

#[test]
fn after_a_close_nothing_is_asked_and_everything_has_ended() {
    let session = alone();
    let querier = session.declare_querier("slow").wait().unwrap();
    let held = session.declare_queryable("slow").wait().unwrap();
    let (tell, told) = channel();
    let get = session.get("slow").timeout(LONG * 10);
    let replies = get.on_end(move |end| tell.send(end.reason()).unwrap());
    let replies = replies.wait().unwrap();
    let query = held.recv_timeout(LONG).unwrap().expect("the query");
    session.close().wait().unwrap();
    assert_eq!(texts(&replies).len(), 0);
    assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Closed));
    let late = query.reply("slow", "late").typed().wait();
    assert!(
        matches!(late, Err(AnswerError::Closed | AnswerError::Over)),
        "{late:?}"
    );
    assert_eq!(held.recv_timeout(LONG).err(), Some(RecvError::Closed));
    assert_eq!(
        session.get("a").typed().wait().err(),
        Some(GetError::Closed)
    );
    assert_eq!(querier.get().typed().wait().err(), Some(GetError::Closed));
    let declared = session.declare_queryable("a").typed().wait().err();
    assert_eq!(declared, Some(DeclareError::Closed));
    let declared = session.declare_querier("a").typed().wait().err();
    assert_eq!(declared, Some(DeclareError::Closed));
    // A cancelled token does not hide it.
    let token = CancellationToken::default();
    token.cancel().wait().unwrap();
    let get = session.get("a").cancellation_token(token).typed().wait();
    assert_eq!(get.err(), Some(GetError::Closed));
    held.undeclare().wait().unwrap();
}

#[test]
fn the_last_clone_ends_its_gets_and_nothing_here_keeps_a_session_open() {
    let session = alone();
    let querier = session.declare_querier("slow").wait().unwrap();
    let queryable = session.declare_queryable("slow").wait().unwrap();
    let token = CancellationToken::default();
    let (tell, told) = channel();
    let get = querier.get().cancellation_token(token.clone());
    let get = get.on_end(move |end| tell.send(end.reason()).unwrap());
    let replies = get.wait().unwrap();
    let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
    drop(session);
    assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Closed));
    assert_eq!(texts(&replies).len(), 0);
    assert_eq!(queryable.recv_timeout(LONG).err(), Some(RecvError::Closed));
    until("it is closed", || {
        querier.get().typed().wait().err() == Some(GetError::Closed)
    });
    drop((query, queryable, querier));
    token.cancel().wait().unwrap();
}

#[test]
fn dropping_the_handler_lets_the_get_go_on() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("slow").wait().unwrap();
        until_answered(asking, "slow");
        let (tell, told) = channel();
        let get = asking.get("slow").timeout(LONG);
        let replies = get.on_end(move |end| tell.send(end.reason()).unwrap());
        drop(replies.wait().unwrap());
        let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        for _ in 0..2 * FifoChannel::CAPACITY_DEFAULT {
            query.reply("slow", "nobody reads").wait().unwrap();
        }
        drop(query);
        assert_eq!(told.recv_timeout(LONG), Ok(EndReason::Complete));
    });
}

#[test]
fn an_undeclared_queryable_ends_the_queries_that_wait_in_it() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("slow").wait().unwrap();
        until_answered(asking, "slow");
        let get = asking.get("slow").timeout(LONG * 10).wait().unwrap();
        until("it waits", || queryable.len() == 1);
        queryable.undeclare().wait().unwrap();
        assert_eq!(texts(&get).len(), 0);
        // A query that was taken from the queue may still be answered.
        let queryable = answering.declare_queryable("slow").wait().unwrap();
        until_answered(asking, "slow");
        let get = asking.get("slow").timeout(LONG * 10).wait().unwrap();
        let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        drop(queryable);
        query.reply("slow", "kept").wait().unwrap();
        drop(query);
        assert_eq!(texts(&get), ["kept"]);
    });
}
