// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks of queryables and of gets may call anything of their session, locally and on the
//! receiving task, and a faulty one harms only itself.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::asking::{text, until_answered};
use crate::callbacks::{Slot, counter, empty, here_and_remote};
use crate::pair::{LONG, alone, pair, until};
use zonda::cancellation::CancellationToken;
use zonda::handlers::CallbackDrop;
use zonda::query::{ConsolidationMode, EndReason, GetEnd, Query, Queryable, Reply};
use zonda::{Session, Wait};

/// Sends gets on `case` one at a time until `done`.
fn ask_until(session: &Session, what: &str, done: impl Fn() -> bool) {
    until(what, || {
        // A case may close the asking session too.
        if let Ok(replies) = session.get("case").timeout(LONG).wait() {
            let _ = replies.recv_timeout(Duration::from_secs(1));
        }
        done()
    });
}

/// Returns the texts of a get's replies, once it has ended.
fn ended(told: &Receiver<String>) -> Vec<String> {
    std::iter::from_fn(|| told.recv_timeout(LONG).ok()).collect()
}

fn telling(tell: Sender<String>) -> impl Fn(Reply) + Send + Sync + 'static {
    move |reply| {
        let _ = tell.send(text(&reply));
    }
}

/// Declares a queryable that answers twice on `case`.
fn twice(session: &Session) -> Queryable<()> {
    let declared = session.declare_queryable("case").callback(|query: Query| {
        // The asker may have closed its session with the first answer.
        let _ = query.reply("case", "one").wait();
        let _ = query.reply("case", "two").wait();
    });
    declared.wait().unwrap()
}

#[test]
fn a_query_callback_may_undeclare_itself_and_answer_after_that() {
    here_and_remote(|asking, answering| {
        let slot = Slot::<Queryable<()>>::default();
        let (count, in_callback) = counter();
        let own = slot.clone();
        let queryable = answering
            .declare_queryable("case")
            .callback(move |query: Query| {
                if empty(&own) {
                    query.reply("case", "the last one").wait().unwrap();
                    in_callback.fetch_add(1, Ordering::SeqCst);
                }
            });
        *slot.lock().unwrap() = Some(queryable.wait().unwrap());
        until_answered(asking, "case");
        let replies = asking.get("case").wait().unwrap();
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(text(&reply), "the last one");
        assert!(replies.recv_timeout(LONG).is_err());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        until("its closure is dropped", || Arc::strong_count(&count) == 1);
    });
}

#[test]
fn a_query_callback_may_undeclare_another() {
    here_and_remote(|asking, answering| {
        let (count, in_other) = counter();
        let other = answering.declare_queryable("case").callback(move |_| {
            in_other.fetch_add(1, Ordering::SeqCst);
        });
        let slot: Slot<Queryable<()>> = Arc::new(Mutex::new(Some(other.wait().unwrap())));
        let victim = slot.clone();
        let killer = answering.declare_queryable("case").callback(move |_| {
            empty(&victim);
        });
        let _killer = killer.wait().unwrap();
        let gone = || slot.lock().unwrap().is_none() && Arc::strong_count(&count) == 1;
        ask_until(asking, "the other one is gone", gone);
    });
}

#[test]
fn a_query_callback_may_declare_publish_and_ask() {
    here_and_remote(|asking, answering| {
        let (own, (heard, in_heard)) = (answering.clone(), counter());
        let subscriber = answering
            .declare_subscriber("inner/heard")
            .callback(move |_| {
                in_heard.fetch_add(1, Ordering::SeqCst);
            });
        let _subscriber = subscriber.wait().unwrap();
        let outer = answering
            .declare_queryable("case")
            .callback(move |query: Query| {
                let inner = own
                    .declare_queryable("inner/asked")
                    .callback(|query: Query| {
                        query.reply("inner/asked", "deep").wait().unwrap();
                    })
                    .wait()
                    .unwrap();
                own.put("inner/heard", "x").wait().unwrap();
                let reply = own.get("inner/asked").wait().unwrap().recv_timeout(LONG);
                query
                    .reply("case", text(&reply.unwrap().unwrap()))
                    .wait()
                    .unwrap();
                inner.undeclare().wait().unwrap();
            });
        let outer = outer.wait().unwrap();
        until_answered(asking, "case");
        let replies = asking.get("case").wait().unwrap();
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(text(&reply), "deep");
        assert_eq!((outer.panics(), heard.load(Ordering::SeqCst)), (0, 1));
    });
}

#[test]
fn a_query_callback_may_ask_on_its_own_key() {
    let session = alone();
    let (own, (count, in_callback)) = (session.clone(), counter());
    let echo = session
        .declare_queryable("case")
        .callback(move |query: Query| {
            let depth = in_callback.fetch_add(1, Ordering::SeqCst);
            let deeper = match depth < 5 {
                true => own
                    .get("case")
                    .wait()
                    .unwrap()
                    .iter()
                    .map(|r| text(&r))
                    .collect(),
                false => String::new(),
            };
            query
                .reply("case", format!("{depth}{deeper}"))
                .wait()
                .unwrap();
        });
    let _echo = echo.wait().unwrap();
    let replies = session.get("case").wait().unwrap();
    assert_eq!(
        text(&replies.recv_timeout(LONG).unwrap().unwrap()),
        "012345"
    );
    assert_eq!(count.load(Ordering::SeqCst), 6);
}

#[test]
fn a_query_callback_may_close_its_session() {
    here_and_remote(|asking, answering| {
        let (own, (count, in_callback)) = (answering.clone(), counter());
        let begin = Instant::now();
        let closer = answering
            .declare_queryable("case")
            .callback(move |query: Query| {
                let _ = own.close().timeout(Duration::from_millis(500)).wait();
                assert!(query.reply("case", "from beyond").wait().is_err());
                in_callback.fetch_add(1, Ordering::SeqCst);
            });
        let closer = closer.wait().unwrap();
        ask_until(asking, "the close returned", || {
            count.load(Ordering::SeqCst) >= 1
        });
        assert!(answering.is_closed() && begin.elapsed() < LONG / 2);
        assert_eq!(closer.panics(), 0);
    });
}

#[test]
fn a_query_callback_may_drop_the_last_clone_of_its_session() {
    let (asking, answering) = pair();
    let last = Arc::new(Mutex::new(Some(answering.clone())));
    let in_callback = last.clone();
    let queryable = answering.declare_queryable("case").callback(move |_| {
        let session = in_callback.lock().unwrap().take();
        drop(session);
    });
    let queryable = queryable.wait().unwrap();
    drop(answering);
    ask_until(&asking, "it let go", || last.lock().unwrap().is_none());
    until("the session closed", || asking.info().links().is_empty());
    assert_eq!(queryable.panics(), 0);
}

#[test]
fn a_panic_in_a_query_callback_ends_that_query() {
    here_and_remote(|asking, answering| {
        let bad = answering
            .declare_queryable("case")
            .callback(|query: Query| {
                query.reply("case", "before").wait().unwrap();
                panic!("a bad callback (this panic belongs to the test)");
            });
        let bad = bad.wait().unwrap();
        let good = answering
            .declare_queryable("case")
            .callback(|query: Query| {
                query.reply("case", "good").wait().unwrap();
            });
        let _good = good.wait().unwrap();
        until_answered(asking, "case");
        let (tell, told) = channel();
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.callback(telling(tell)).wait().unwrap();
        let mut texts = ended(&told);
        texts.sort();
        assert_eq!(texts, ["before", "good"]);
        assert_eq!(bad.panics(), 1);
        assert!(!answering.is_closed());
    });
}

#[test]
fn a_reply_callback_may_do_anything() {
    here_and_remote(|asking, answering| {
        let _answers = twice(answering);
        until_answered(asking, "case");
        let (tell, told) = channel();
        let own = asking.clone();
        let callback = move |reply: Reply| {
            let inner = own.declare_queryable("inner").callback(|query: Query| {
                query.reply("inner", "deep").wait().unwrap();
            });
            let inner = inner.wait().unwrap();
            let heard = own.declare_subscriber("heard").wait().unwrap();
            own.put("heard", text(&reply)).wait().unwrap();
            let sample = heard.try_recv().unwrap().expect("its own put");
            let deep = own.get("inner").wait().unwrap().recv_timeout(LONG);
            let deep = text(&deep.unwrap().unwrap());
            inner.undeclare().wait().unwrap();
            let heard = sample.payload().try_to_string().unwrap().into_owned();
            let _ = tell.send(format!("{heard} {deep}"));
        };
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.callback(callback).wait().unwrap();
        assert_eq!(ended(&told), ["one deep", "two deep"]);
    });
}

#[test]
fn a_reply_callback_may_ask_the_same_again() {
    here_and_remote(|asking, answering| {
        let _answers = twice(answering);
        until_answered(asking, "case");
        let (tell, told) = channel();
        let own = asking.clone();
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.callback(move |_| {
            let get = own.get("case").consolidation(ConsolidationMode::None);
            get.callback(telling(tell.clone())).wait().unwrap();
        })
        .wait()
        .unwrap();
        assert_eq!(ended(&told).len(), 4);
    });
}

#[test]
fn a_reply_callback_may_cancel_its_get() {
    here_and_remote(|asking, answering| {
        let _answers = twice(answering);
        until_answered(asking, "case");
        let token = CancellationToken::default();
        let ((count, in_callback), own) = (counter(), token.clone());
        let (tell, told) = channel();
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.cancellation_token(token)
            .on_end(move |end: &GetEnd| tell.send(*end).unwrap())
            .callback(move |_| {
                own.cancel().wait().unwrap();
                in_callback.fetch_add(1, Ordering::SeqCst);
            })
            .wait()
            .unwrap();
        let end = told.recv_timeout(LONG).unwrap();
        assert_eq!((end.reason(), end.replies()), (EndReason::Cancelled, 1));
        until("its closure is dropped", || Arc::strong_count(&count) == 1);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_reply_callback_may_undeclare_who_answers() {
    here_and_remote(|asking, answering| {
        let slot: Slot<Queryable<()>> = Arc::new(Mutex::new(Some(twice(answering))));
        until_answered(asking, "case");
        let (tell, told) = channel();
        let own = slot.clone();
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.callback(move |reply| {
            empty(&own);
            let _ = tell.send(text(&reply));
        })
        .wait()
        .unwrap();
        let texts = ended(&told);
        assert_eq!(texts.first().map(String::as_str), Some("one"));
        assert!(slot.lock().unwrap().is_none());
    });
}

#[test]
fn a_reply_callback_may_close_its_session() {
    here_and_remote(|asking, answering| {
        let _answers = twice(answering);
        until_answered(asking, "case");
        let (own, (count, in_callback)) = (asking.clone(), counter());
        let (tell, told) = channel();
        let begin = Instant::now();
        let get = asking.get("case").consolidation(ConsolidationMode::None);
        get.on_end(move |end: &GetEnd| tell.send(end.reason()).unwrap())
            .callback(move |_| {
                let _ = own.close().timeout(Duration::from_millis(500)).wait();
                in_callback.fetch_add(1, Ordering::SeqCst);
            })
            .wait()
            .unwrap();
        let reason = told.recv_timeout(LONG).unwrap();
        assert_eq!(reason, EndReason::Closed);
        assert!(asking.is_closed() && begin.elapsed() < LONG / 2);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_reply_callback_may_drop_the_last_clone_of_its_session() {
    let (asking, answering) = pair();
    let _answers = twice(&answering);
    until_answered(&asking, "case");
    let last = Arc::new(Mutex::new(Some(asking.clone())));
    let in_callback = last.clone();
    let get = asking.get("case").consolidation(ConsolidationMode::None);
    get.callback(move |_| {
        let session = in_callback.lock().unwrap().take();
        drop(session);
    })
    .wait()
    .unwrap();
    drop(asking);
    until("it let go", || last.lock().unwrap().is_none());
    until("the session closed", || answering.info().links().is_empty());
}

#[test]
fn a_panic_in_a_reply_callback_costs_that_reply() {
    here_and_remote(|asking, answering| {
        let _answers = twice(answering);
        until_answered(asking, "case");
        for mode in [ConsolidationMode::None, ConsolidationMode::Latest] {
            let (tell, told) = channel();
            asking
                .get("case")
                .consolidation(mode)
                .on_end(move |end: &GetEnd| {
                    tell.send(*end).unwrap();
                    panic!("a bad function (this panic belongs to the test)");
                })
                .callback(|reply| {
                    let is_last = text(&reply) == "two";
                    assert!(!is_last, "a bad callback (this panic belongs to the test)");
                })
                .wait()
                .unwrap();
            let end = told.recv_timeout(LONG).unwrap();
            assert_eq!((end.reason(), end.panics()), (EndReason::Complete, 1));
        }
        let replies = asking.get("case").wait().unwrap();
        assert!(
            replies.recv_timeout(LONG).unwrap().is_some(),
            "nothing else is harmed"
        );
    });
}

#[test]
fn closures_may_use_the_session_while_they_are_dropped() {
    here_and_remote(|asking, answering| {
        let heard = asking.declare_subscriber("farewell").wait().unwrap();
        let closing = |session: &Session| {
            let own = session.clone();
            move || {
                let _ = own.get("case").wait();
                own.put("farewell", "bye").wait().unwrap();
            }
        };
        let queryable = answering.declare_queryable("case").with(CallbackDrop {
            callback: |query: Query| {
                query.reply("case", "x").wait().unwrap();
            },
            drop: closing(answering),
        });
        let queryable = queryable.wait().unwrap();
        until_answered(asking, "case");
        let get = asking.get("case").with(CallbackDrop {
            callback: |_: Reply| {},
            drop: closing(asking),
        });
        get.wait().unwrap();
        assert!(heard.recv_timeout(LONG).unwrap().is_some());
        drop(queryable);
        if asking.zid() == answering.zid() {
            assert!(heard.recv_timeout(LONG).unwrap().is_some());
        }
    });
}
