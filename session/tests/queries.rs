// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries within one session, between two over loopback, and through a router: every option of every builder.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::asking::{answers, asked, everywhere, text, texts, until_answered};
use crate::pair::{LONG, alone, until};
use zonda::bytes::{Encoding, ZBytes};
use zonda::handlers::{CallbackDrop, FifoChannel, FifoChannelHandler, Overflow, RingChannel};
use zonda::qos::{CongestionControl, Priority};
use zonda::query::{
    ConsolidationMode, EndReason, Parameters, Query, QueryTarget, Reply, ReplyKeyExpr, Selector,
};
use zonda::sample::{SampleKind, SourceInfo};
use zonda::session::EntityGlobalId;
use zonda::time::{Ntp64, Timestamp};
use zonda::{AnswerError, DeclareError, Error, GetError, Operation, RecvError, Wait};

#[test]
fn a_query_and_its_replies_carry_everything() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("demo/**").wait().unwrap();
        assert_eq!(queryable.key_expr().as_str(), "demo/**");
        until_answered(asking, "demo/*");
        let source = SourceInfo {
            id: EntityGlobalId {
                zid: asking.zid(),
                eid: 7,
            },
            sn: 3,
        };
        let replies = asking
            .get("demo/*?unit=celsius;x=1|2")
            .payload("question")
            .encoding("text/plain;utf-8")
            .attachment("beside")
            .source_info(source)
            .priority(Priority::InteractiveHigh)
            .express(true)
            .wait()
            .unwrap();

        let mut query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        assert_eq!(query.to_string(), "demo/*?unit=celsius;x=1|2");
        assert_eq!(query.selector(), Selector::from(&query));
        assert_eq!(query.key_expr().as_str(), "demo/*");
        assert_eq!(query.parameters().get("unit"), Some("celsius"));
        assert_eq!(query.payload(), Some(&"question".into()));
        assert_eq!(query.encoding(), Some(&Encoding::from("text/plain;utf-8")));
        assert_eq!(query.attachment(), Some(&"beside".into()));
        assert_eq!(query.source_info(), Some(source));
        assert_eq!(query.accepts_replies(), ReplyKeyExpr::MatchingQuery);
        assert_eq!(query.priority(), Priority::InteractiveHigh);
        assert_eq!(query.congestion_control(), CongestionControl::Block);
        assert!(query.express());
        *query.payload_mut().unwrap() = "mine".into();
        *query.attachment_mut().unwrap() = ZBytes::new();

        let stamp = Timestamp::new(Ntp64(0x6000_0000_0000_0000), answering.zid());
        let reply = query
            .reply("demo/a", "value")
            .encoding(Encoding::APPLICATION_JSON)
            .timestamp(stamp)
            .source_info(source)
            .attachment("noted")
            .timeout(LONG);
        reply.wait().unwrap();
        query.clone().reply_del("demo/b").wait().unwrap();
        let error = query.reply_err("partly").encoding(Encoding::TEXT_PLAIN);
        error.wait().unwrap();
        drop(query);

        check_replies(&replies, (queryable.id(), stamp, source));
    });
}

fn check_replies(
    replies: &FifoChannelHandler<Reply>,
    (replier, stamp, source): (EntityGlobalId, Timestamp, SourceInfo),
) {
    let all: Vec<Reply> = std::iter::from_fn(|| replies.recv_timeout(LONG).ok())
        .map(|reply| reply.expect("a reply or the end"))
        .collect();
    // An error is delivered at once, values when all have come.
    assert_eq!(all.len(), 3);
    let error = all[0].result().expect_err("the error");
    assert_eq!(error.payload(), &"partly".into());
    assert_eq!(error.encoding(), &Encoding::TEXT_PLAIN);
    let sample = all[1].result().expect("the value");
    assert_eq!(sample.key_expr().as_str(), "demo/a");
    assert_eq!(sample.payload(), &"value".into());
    assert_eq!(sample.encoding(), &Encoding::APPLICATION_JSON);
    assert_eq!(sample.timestamp(), Some(&stamp));
    assert_eq!(sample.source_info(), Some(&source));
    assert_eq!(sample.attachment(), Some(&"noted".into()));
    assert_eq!(sample.priority(), Priority::InteractiveHigh);
    assert!(sample.express());
    assert_eq!(all[1].replier_id(), Some(replier));
    let gone = all[2].result().expect("the deletion");
    let (kind, key) = (gone.kind(), gone.key_expr().as_str());
    assert_eq!((kind, key), (SampleKind::Delete, "demo/b"));
}

#[test]
fn a_query_without_anything_has_nothing() {
    everywhere(|asking, answering| {
        let queryable = answering.declare_queryable("demo/a").wait().unwrap();
        until_answered(asking, "demo/a");
        let replies = asking.get("demo/a").wait().unwrap();
        let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
        assert!(query.parameters().is_empty());
        assert_eq!((query.payload(), query.encoding()), (None, None));
        assert_eq!((query.attachment(), query.source_info()), (None, None));
        let sample = {
            let heard = answering.declare_subscriber("demo/a").wait().unwrap();
            answering
                .put("demo/a", "kept")
                .attachment("too")
                .wait()
                .unwrap();
            heard.recv_timeout(LONG).unwrap().unwrap()
        };
        query.reply_sample(sample).wait().unwrap();
        drop(query);
        let reply = replies.recv_timeout(LONG).unwrap().expect("the reply");
        let sample = reply.into_result().unwrap();
        assert_eq!(sample.payload(), &"kept".into());
        assert_eq!(sample.attachment(), Some(&"too".into()));
        assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
    });
}

#[test]
fn targets_choose_who_is_asked() {
    everywhere(|asking, answering| {
        let _some = answers(answering, "demo/a", "some");
        let _whole = answering
            .declare_queryable("demo/**")
            .complete(true)
            .callback(|query: Query| {
                query.reply("demo/a", "whole").wait().unwrap();
            })
            .wait()
            .unwrap();
        until_answered(asking, "demo/a");
        let ask = |target| {
            let get = asking.get("demo/a").target(target);
            let (mut texts, _) = asked(get.consolidation(ConsolidationMode::None));
            texts.sort();
            texts
        };
        until("both are known", || ask(QueryTarget::All).len() == 2);
        assert_eq!(ask(QueryTarget::All), ["some", "whole"]);
        assert_eq!(ask(QueryTarget::AllComplete), ["whole"]);
        assert!(ask(QueryTarget::BestMatching).contains(&"whole".to_owned()));
    });
}

#[test]
fn replies_are_merged_as_asked() {
    everywhere(|asking, answering| {
        let zid = answering.zid();
        let stamp = move |time: u64| Timestamp::new(Ntp64(time << 32), zid);
        let _history = answering
            .declare_queryable("log/*")
            .callback(move |query: Query| {
                for (key, time, text) in [
                    ("log/a", 5, "a5"),
                    ("log/a", 4, "a4"),
                    ("log/a", 6, "a6"),
                    ("log/b", 1, "b1"),
                ] {
                    let reply = query.reply(key, text).timestamp(stamp(time));
                    reply.wait().unwrap();
                }
            })
            .wait()
            .unwrap();
        until_answered(asking, "log/*");
        let all = ["a5", "a4", "a6", "b1"];
        for (mode, expected) in [
            (ConsolidationMode::None, &all[..]),
            (ConsolidationMode::Monotonic, &["a5", "a6", "b1"]),
            (ConsolidationMode::Latest, &["a6", "b1"]),
            (ConsolidationMode::Auto, &["a6", "b1"]),
        ] {
            let (texts, end) = asked(asking.get("log/*").consolidation(mode));
            assert_eq!(texts, expected, "{mode:?}");
            assert_eq!((end.replies(), end.unmerged()), (expected.len() as u64, 0));
        }
        let (texts, _) = asked(asking.get("log/*?_time=[now(-1h)..]"));
        assert_eq!(texts, all, "who asks for a time wants all of it");
    });
}

#[test]
fn replies_on_other_keys_need_leave() {
    everywhere(|asking, answering| {
        let refusals = Arc::new(AtomicUsize::new(0));
        let refused = refusals.clone();
        let _stray = answering
            .declare_queryable("demo/a")
            .callback(move |query: Query| {
                let any = query.accepts_replies() == ReplyKeyExpr::Any;
                match query.reply("elsewhere", "found").typed().wait() {
                    Err(AnswerError::OtherKey { .. }) if !any => {
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                    other => assert!(any && other.is_ok(), "{other:?}"),
                }
            })
            .wait()
            .unwrap();
        until_answered(asking, "demo/a");
        let (answers, _) = asked(asking.get("demo/a"));
        assert_eq!((answers.len(), refusals.load(Ordering::SeqCst)), (0, 1));
        let any = asking.get("demo/a").accept_replies(ReplyKeyExpr::Any);
        assert_eq!(asked(any).0, ["found"]);
        assert_eq!(asked(asking.get("demo/a?_anyke")).0, ["found"]);
        let querier = asking
            .declare_querier("demo/a")
            .accept_replies(ReplyKeyExpr::Any)
            .wait()
            .unwrap();
        assert_eq!(querier.accept_replies(), ReplyKeyExpr::Any);
        assert_eq!(texts(&querier.get().wait().unwrap()), ["found"]);
    });
}

#[test]
fn keys_and_encodings_are_checked() {
    let session = alone();
    assert!(matches!(
        session.get("a//b?x=1").typed().wait(),
        Err(GetError::Key(_))
    ));
    let declared = session.declare_queryable("a//b").typed().wait();
    assert!(matches!(declared, Err(DeclareError::Key(_))));
    let declared = session.declare_querier("a//b").typed().wait();
    assert!(matches!(declared, Err(DeclareError::Key(_))));
    let long = format!("text/plain;{}", "x".repeat(256));
    let get = session.get("a").encoding(long.as_str()).typed().wait();
    assert_eq!(get.err(), Some(GetError::SchemaTooLong { len: 256 }));
    let queryable = session.declare_queryable("a").wait().unwrap();
    let _replies = session.get("a").wait().unwrap();
    let query = queryable.recv_timeout(LONG).unwrap().expect("the query");
    let too_long = Err(AnswerError::SchemaTooLong { len: 256 });
    let reply = query.reply("a", "x").encoding(long.as_str());
    assert_eq!(reply.typed().wait(), too_long);
    let reply = query.reply_err("x").encoding(long.as_str());
    assert_eq!(reply.typed().wait(), too_long);
    let reply = query.reply("a//b", "x").typed().wait();
    assert!(matches!(reply, Err(AnswerError::Key(_))), "{reply:?}");
    let said: Error = GetError::Closed.into();
    assert_eq!(said.to_string(), "the session is closed");
}

#[test]
fn selectors_are_taken_in_every_form() {
    let session = alone();
    let asked_for = Arc::new(AtomicUsize::new(0));
    let count = asked_for.clone();
    session
        .declare_queryable("demo/a")
        .callback(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .background()
        .complete(true)
        .wait()
        .unwrap();
    let key = session.declare_keyexpr("demo/a").wait().unwrap();
    let text = String::from("demo/a?x");
    let whole = Selector::try_from("demo/a?x").unwrap();
    let _ = session.get("demo/a").wait().unwrap();
    let _ = session.get(&text).wait().unwrap();
    let _ = session.get(text).wait().unwrap();
    let _ = session.get(&key).wait().unwrap();
    let _ = session.get((&key, "x=1")).wait();
    let _ = session
        .get((key.clone(), Parameters::from("x=1")))
        .wait()
        .unwrap();
    let _ = session.get(key).wait().unwrap();
    let _ = session.get(&whole).wait().unwrap();
    let _ = session.get(whole).wait().unwrap();
    assert_eq!(asked_for.load(Ordering::SeqCst), 9);
    session.close().wait().unwrap();
    assert_eq!(Arc::strong_count(&asked_for), 1, "the closure is dropped");
}

#[test]
fn a_querier_asks_again_and_again() {
    everywhere(|asking, answering| {
        let querier = asking
            .declare_querier("demo/square")
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None)
            .timeout(LONG)
            .priority(Priority::DataHigh)
            .congestion_control(CongestionControl::Block)
            .express(true)
            .wait()
            .unwrap();
        assert_eq!(querier.key_expr().as_str(), "demo/square");
        assert_eq!(querier.priority(), Priority::DataHigh);
        assert_eq!(querier.congestion_control(), CongestionControl::Block);
        let matching = || querier.matching_status().wait().unwrap().matching();
        assert!(!matching());
        let squares = answering
            .declare_queryable("demo/*")
            .callback(|query: Query| {
                assert_eq!(query.priority(), Priority::DataHigh);
                let n: u64 = query.parameters().get("n").unwrap().parse().unwrap();
                let payload = query.payload().cloned().unwrap_or_default();
                let reply = query.reply(query.key_expr(), (n * n).to_string());
                reply.attachment(payload).wait().unwrap();
            })
            .wait()
            .unwrap();
        until("the queryable is known", matching);
        for n in 1..50_u64 {
            let get = querier.get().parameters(format!("n={n}")).payload("p");
            let replies = get.encoding("text/plain").attachment("a").wait().unwrap();
            let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
            assert_eq!(text(&reply), (n * n).to_string());
            let sample = reply.into_result().unwrap();
            assert_eq!(sample.attachment(), Some(&"p".into()));
        }
        squares.undeclare().wait().unwrap();
        until("nobody answers", || !matching());
        let (tell, told) = channel();
        let get = querier.get().on_end(move |end| tell.send(*end).unwrap());
        assert_eq!(texts(&get.wait().unwrap()).len(), 0);
        assert_eq!(
            told.recv_timeout(LONG).unwrap().reason(),
            EndReason::Complete
        );
        querier.undeclare().wait().unwrap();
    });
}

#[test]
fn every_handler_takes_replies_and_queries() {
    everywhere(|asking, answering| {
        let ends = Arc::new(AtomicUsize::new(0));
        let count = ends.clone();
        let closure = CallbackDrop {
            callback: |query: Query| {
                query.reply("demo", "closure").wait().unwrap();
            },
            drop: move || {
                count.fetch_add(1, Ordering::SeqCst);
            },
        };
        let with_end = answering
            .declare_queryable("demo")
            .with(closure)
            .wait()
            .unwrap();
        until_answered(asking, "demo");
        let get = || asking.get("demo");
        let ring = get().with(RingChannel::new(4)).wait().unwrap();
        assert_eq!(text(&ring.recv_timeout(LONG).unwrap().unwrap()), "closure");
        let flume = get().with(flume::bounded(4)).wait().unwrap();
        assert_eq!(text(&flume.recv_timeout(LONG).unwrap()), "closure");
        let mpsc: Receiver<Reply> = get().with(std::sync::mpsc::sync_channel(4)).wait().unwrap();
        assert_eq!(text(&mpsc.recv_timeout(LONG).unwrap()), "closure");
        let (tell, told) = channel();
        let () = get()
            .callback(move |reply| tell.send(text(&reply)).unwrap())
            .wait()
            .unwrap();
        assert_eq!(told.recv_timeout(LONG).unwrap(), "closure");
        assert!(
            told.recv_timeout(LONG).is_err(),
            "the closure is dropped at the end"
        );
        drop(with_end);
        until("its closure is dropped", || {
            ends.load(Ordering::SeqCst) == 1
        });
    });
}

#[test]
fn one_thread_may_ask_answer_and_read() {
    let session = alone();
    const MANY: usize = 3 * FifoChannel::CAPACITY_DEFAULT;
    let _many = session
        .declare_queryable("many/*")
        .callback(|query: Query| {
            for n in 0..MANY {
                query.reply(format!("many/{n}"), "x").wait().unwrap();
            }
        })
        .wait()
        .unwrap();
    for mode in [ConsolidationMode::None, ConsolidationMode::Latest] {
        let replies = session.get("many/*").consolidation(mode).wait().unwrap();
        assert_eq!((replies.len(), replies.capacity()), (MANY, 256));
        assert_eq!((texts(&replies).len(), replies.dropped()), (MANY, 0));
    }
}

#[test]
fn a_full_queue_of_queries_is_waited_for_while_the_query_lives() {
    let session = alone();
    let queue = FifoChannel::new(1);
    let queryable = session
        .declare_queryable("slow")
        .with(queue)
        .wait()
        .unwrap();
    let get = || session.get("slow").timeout(Duration::from_millis(100));
    let first = get().wait().unwrap();
    let begin = Instant::now();
    let second = get().wait().unwrap();
    assert!(begin.elapsed() < LONG, "it does not wait for ever");
    assert_eq!(queryable.dropped(), 1);
    drop(queryable);
    drop((first, second));
    // The case once more, with a queue that drops the newest query.
    let queue = FifoChannel::new(1).overflow(Overflow::DropNewest);
    let queryable = session
        .declare_queryable("busy")
        .with(queue)
        .wait()
        .unwrap();
    let first = session.get("busy").wait().unwrap();
    let (answers, end) = asked(session.get("busy"));
    assert_eq!(answers, ["error: the queue of the queryable is full"]);
    assert_eq!(end.reason(), EndReason::Complete);
    drop(queryable);
    assert_eq!(texts(&first).len(), 0);
    // A ring does not leave the oldest one without an answer either.
    let ring = RingChannel::new(1);
    let queryable = session.declare_queryable("latest").with(ring).wait();
    let queryable = queryable.unwrap();
    let (first, second) = (session.get("latest").wait(), session.get("latest").wait());
    let full = ["error: the queue of the queryable is full"];
    assert_eq!(texts(&first.unwrap()), full);
    drop(queryable.recv_timeout(LONG).unwrap().expect("the query"));
    assert_eq!(texts(&second.unwrap()).len(), 0);
}

#[test]
fn replies_of_every_size_arrive_whole_and_in_order() {
    everywhere(|asking, answering| {
        let size = |n: usize| [0, 8, 3_000_000, 1000, 70_000, 65_536, 33, 600_000][n % 8];
        let payload =
            move |n: usize| -> Vec<u8> { (0..size(n)).map(|at| (at * 31 + n) as u8).collect() };
        let _large = answering
            .declare_queryable("large/*")
            .callback(move |query: Query| {
                for n in 0..16 {
                    let reply = query.reply(format!("large/{n}"), payload(n));
                    reply.timeout(LONG).wait().unwrap();
                }
            })
            .wait()
            .unwrap();
        until_answered(asking, "large/*");
        let get = asking.get("large/*").payload(payload(2)).timeout(LONG);
        let replies = get.consolidation(ConsolidationMode::None).wait().unwrap();
        for n in 0..16 {
            let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
            let sample = reply.into_result().unwrap();
            assert_eq!(sample.key_expr().as_str(), format!("large/{n}"));
            assert!(sample.payload().to_bytes() == payload(n), "reply {n}");
        }
        assert_eq!(texts(&replies).len(), 0);
    });
}

#[test]
fn thousands_of_gets_are_under_way_at_once() {
    everywhere(|asking, answering| {
        const MANY: usize = 3000;
        let queue = FifoChannel::new(MANY);
        let queryable = answering
            .declare_queryable("many")
            .with(queue)
            .wait()
            .unwrap();
        until_answered(asking, "many");
        let gets: Vec<_> = (0..MANY)
            .map(|n| {
                asking
                    .get((KEY.clone(), format!("n={n}")))
                    .timeout(LONG)
                    .wait()
                    .unwrap()
            })
            .collect();
        let queries: Vec<Query> = (0..MANY)
            .map(|_| queryable.recv_timeout(LONG).unwrap().expect("a query"))
            .collect();
        // The last one first.
        for query in queries.into_iter().rev() {
            let n = query.parameters().get("n").unwrap().to_owned();
            query.reply("many", n).wait().unwrap();
        }
        for (n, replies) in gets.into_iter().enumerate() {
            assert_eq!(texts(&replies), [n.to_string()]);
        }
    });
}

static KEY: std::sync::LazyLock<zonda::key_expr::KeyExpr<'static>> =
    std::sync::LazyLock::new(|| zonda::key_expr::KeyExpr::new("many").unwrap());
