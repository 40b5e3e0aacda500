// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cases of queries for every scene, from each querying node (`from`) to each replying one (`to`).

use std::time::{Duration, Instant};

use zonda::qos::{CongestionControl, Priority};

use crate::answers::{Answering, Asked};
use crate::message::{Message, Pattern, Service, hex};
use crate::party::Party;
use crate::questions::{Asking, Conditions, Consolidation, Heard, Question, Replied, Target};
use crate::scene::Scene;
pub use crate::scene::play;
use crate::wait::{LONG, SOON, until};

/// Lines of the reference's log when a query ends before its replies do.
const LATE: [&str; 4] = [
    "Didn't receive final reply",
    "Query not found",
    "for unknown Query",
    "for unknown Request",
];

const PLAIN: Question = Question::PLAIN;

fn put(seed: u64) -> Message {
    Message::put(Pattern::short(seed))
}

/// Returns conditions under which every reply is delivered as it comes.
fn all_answers() -> Conditions {
    Conditions::consolidated(Consolidation::None)
}

fn asks(scene: &Scene, selector: &str) -> Asking {
    scene.from.ask(selector, all_answers(), PLAIN)
}

/// A query reaches the queryables on its key, and the replies and the end come back; without a
/// queryable the end comes at once.
pub fn queries_are_answered(scene: &Scene) {
    let queryable = scene.to.queryable("q/plain/*");
    scene.settles();
    // one key, one reply
    let asking = scene.from.ask("q/plain/a", Conditions::default(), PLAIN);
    let asked = queryable.next();
    assert_eq!((&*asked.key, &*asked.parameters), ("q/plain/a", ""));
    assert!(asked.body.is_none() && asked.encoding.is_none());
    assert_eq!((&asked.attachment, &asked.source), (&None, &None));
    assert!(!asked.any_key);
    asked.reply("q/plain/a", &put(1));
    asked.finish();
    let reply = asking.reply();
    assert_eq!(reply.sample.key, "q/plain/a");
    assert!(reply.sample.carries(Pattern::short(1)));
    assert_eq!(reply.replier, Some(queryable.id()));
    asking.ends();

    // a wild selector, several replies
    let asking = scene.from.ask("q/**", Conditions::default(), PLAIN);
    let asked = queryable.next();
    assert_eq!(asked.key, "q/**");
    for (seed, key) in [(1, "q/plain/a"), (2, "q/plain/b"), (3, "q/plain/*")] {
        asked.reply(key, &put(seed));
    }
    asked.finish();
    assert_eq!(asking.keys(), ["q/plain/*", "q/plain/a", "q/plain/b"]);

    // without a matching queryable the end comes at once
    let begin = Instant::now();
    for selector in ["q/plain", "q/plain/a/b", "other/**", "q/@verbatim"] {
        asks(scene, selector).ends();
    }
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    assert!(queryable.try_next().is_none(), "nobody asked for its key");
}

/// A reply comes when it is sent and not with the last one, and one query does not wait for
/// another.
pub fn queries_are_answered_one_by_one(scene: &Scene) {
    let queryable = scene.to.queryable("q/turns/**");
    scene.settles();
    let (first, second) = (asks(scene, "q/turns/1"), asks(scene, "q/turns/2"));
    let (one, two) = (queryable.next(), queryable.next());
    assert_eq!((&*one.key, &*two.key), ("q/turns/1", "q/turns/2"));
    two.reply("q/turns/2", &put(2));
    assert!(second.reply().sample.carries(Pattern::short(2)));
    one.reply("q/turns/1", &put(1));
    assert!(first.reply().sample.carries(Pattern::short(1)));
    two.finish();
    second.ends();
    assert!(first.try_next().is_none(), "it is not at its end");
    one.reply("q/turns/1", &put(3));
    one.finish();
    assert!(first.reply().sample.carries(Pattern::short(3)));
    first.ends();
}

/// Parameters, payload, encoding, attachment and source of a query.
pub fn query_fields_arrive(scene: &Scene) {
    let queryable = scene.to.queryable("q/fields");
    scene.settles();
    let body = Pattern { len: 300, seed: 5 };
    // each field alone, then all of them
    let questions = [
        Question::with(body),
        Question::with(Pattern::default()),
        Question {
            encoding: Some("text/plain;utf-8"),
            ..Question::with(body)
        },
        Question {
            encoding: Some("my/own;v1"),
            ..Question::with(Pattern::short(1))
        },
        Question {
            attachment: Some(b"beside the payload"),
            ..PLAIN
        },
        Question {
            source_sn: Some(7),
            ..PLAIN
        },
        Question {
            encoding: Some("application/json"),
            attachment: Some(&[0, 255, 1]),
            source_sn: Some(u32::MAX),
            ..Question::with(body)
        },
    ];
    // each query with several parameters
    for question in questions {
        for parameters in ["", "a=1", "a=1;b=x y;empty", "_time=[now(-1h)..]"] {
            let selector = format!("q/fields?{parameters}");
            let asking = scene.from.ask(&selector, all_answers(), question);
            let asked = queryable.next();
            assert_eq!((&*asked.key, &*asked.parameters), ("q/fields", parameters));
            arrived(&asked, &question, &asking.source());
            asked.finish();
            asking.ends();
        }
    }
}

/// Compares the received query with the sent one.
fn arrived(asked: &Asked, question: &Question, source: &str) {
    match (&asked.body, question.body) {
        (Some(body), Some(pattern)) => assert!(body.is(pattern), "{body:?} of {question:?}"),
        (body, pattern) => assert!(
            body.is_none() && pattern.is_none(),
            "{body:?} of {question:?}"
        ),
    }
    if question.body.is_some() {
        let encoding = question.encoding.unwrap_or("zenoh/bytes");
        assert_eq!(asked.encoding.as_deref(), Some(encoding));
    }
    assert_eq!(asked.attachment, question.attachment.map(hex));
    let source = question.source_sn.map(|sn| format!("{source}:{sn}"));
    assert_eq!(asked.source, source);
}

/// Encoding, attachment and timestamp of replies, puts and deletes.
pub fn reply_fields_arrive(scene: &Scene) {
    let queryable = scene.to.queryable("q/reply");
    scene.settles();
    let asking = asks(scene, "q/reply");
    let asked = queryable.next();
    // replies with each field, puts and deletes
    let replies = [
        put(1),
        Message::put(Pattern::default()),
        Message::delete(),
        Message {
            encoding: Some("application/cbor;v=2"),
            attachment: Some(b"beside it"),
            stamp_shift: Some(-3.0),
            ..put(2)
        },
        Message {
            attachment: Some(&[7; 3000]),
            stamp_shift: Some(-3600.0),
            ..Message::delete()
        },
    ];
    // each reply arrives before the next one is sent
    for message in &replies {
        let receipt = asked.reply("q/reply", message);
        let seen = asking.reply().sample;
        let context = format!("{seen:?} of {message:?}");
        assert_eq!(seen.key, "q/reply", "{context}");
        assert_eq!(seen.delete, message.delete, "{context}");
        assert!(seen.carries(message.pattern), "{context}");
        let encoding = message.encoding.unwrap_or("zenoh/bytes");
        assert_eq!(seen.encoding, encoding, "{context}");
        assert_eq!(seen.attachment, message.attachment.map(hex), "{context}");
        assert_eq!(seen.timestamp, receipt.timestamp, "{context}");
    }
    asked.finish();
    asking.ends();
}

/// Replies have the quality of service of the query.
pub fn replies_have_the_service_of_the_query(scene: &Scene) {
    let queryable = scene.to.queryable("q/service");
    scene.settles();
    let of = |priority, express, congestion| Service {
        priority,
        express,
        congestion,
        ..Service::BLOCK
    };
    // each service of a query returns with its reply
    for service in [
        of(Priority::RealTime, true, CongestionControl::Block),
        of(Priority::Background, false, CongestionControl::Block),
        of(Priority::InteractiveLow, true, CongestionControl::Block),
    ] {
        let conditions = Conditions {
            service: Some(service),
            ..all_answers()
        };
        let asking = scene.from.ask("q/service", conditions, PLAIN);
        let asked = queryable.next();
        asked.reply("q/service", &put(1));
        asked.finish();
        let seen = asking.reply().sample;
        let priority = service.priority as u8;
        assert_eq!((seen.priority, seen.block), (priority, true), "{seen:?}");
        asking.ends();
    }
}

/// Errors arrive with payload and encoding, between puts and deletes and alone.
pub fn errors_and_deletes_arrive(scene: &Scene) {
    let queryable = scene.to.queryable("q/errors/**");
    scene.settles();
    // an error between replies
    let asking = asks(scene, "q/errors/*");
    let asked = queryable.next();
    let fault = Message {
        encoding: Some("text/plain"),
        ..Message::put(Pattern { len: 40, seed: 3 })
    };
    asked.reply("q/errors/1", &put(1));
    asked.reply_err(&fault);
    asked.reply("q/errors/2", &Message::delete());
    asked.finish();
    assert!(!asking.reply().sample.delete);
    let heard = asking.fault();
    assert!(heard.content.is(fault.pattern), "{heard:?}");
    assert_eq!(heard.encoding, "text/plain");
    assert_eq!(heard.replier, Some(queryable.id()));
    let deleted = asking.reply().sample;
    assert_eq!((&*deleted.key, deleted.delete), ("q/errors/2", true));
    asking.ends();

    // an error alone, without payload and encoding
    let asking = scene.from.ask("q/errors", Conditions::default(), PLAIN);
    let asked = queryable.next();
    asked.reply_err(&Message::put(Pattern::default()));
    asked.finish();
    let heard = asking.fault();
    assert!(heard.content.is(Pattern::default()), "{heard:?}");
    assert_eq!(heard.encoding, "zenoh/bytes");
    asking.ends();
}

/// Targets select among three queryables, by their completeness and the query's target.
pub fn targets_choose_queryables(scene: &Scene) {
    let keys = [("q/t/**", true), ("q/t/a", true), ("q/t/*", false)];
    let others: Vec<Party> = (1..3).filter_map(|_| scene.another()).collect();
    let parties: Vec<&Party> = std::iter::once(&scene.to).chain(&others).collect();
    let queryables: Vec<Answering> = keys
        .iter()
        .enumerate()
        .map(|(n, (key, complete))| parties[n % parties.len()].queryable_of(key, *complete))
        .collect();
    parties.iter().for_each(|party| scene.settles_with(party));
    let asked = |selector, target| {
        let asking = scene.from.ask(selector, Conditions::of(target), PLAIN);
        who_is_asked(&queryables, &asking)
    };
    assert_eq!(asked("q/t/a", Target::All), [0, 1, 2]);
    assert_eq!(asked("q/t/*", Target::All), [0, 1, 2]);
    assert_eq!(asked("q/t/b/c", Target::All), [0]);
    assert_eq!(asked("q/t/a", Target::AllComplete), [0, 1]);
    assert_eq!(asked("q/**", Target::AllComplete), [0; 0]);
    assert_eq!(asked("q/**", Target::BestMatching), [0, 1, 2]);
    let best = asked("q/t/a", Target::BestMatching);
    if others.is_empty() {
        // a session passes a query to all of its queryables, or to all of its complete ones
        assert_eq!(best, [0, 1, 2]);
        assert_eq!(asked("q/t/*", Target::AllComplete), [0, 1]);
    } else {
        // the nearest queryable; all of these are equally far
        assert!(best == [0] || best == [1], "{best:?}");
        assert_eq!(asked("q/t/b", Target::BestMatching), [0]);
        assert_eq!(asked("q/t/*", Target::AllComplete), [0]);
    }
}

/// Lets queryables finish every query until a get ends, and returns the indices of those that
/// received one.
fn who_is_asked(queryables: &[Answering], asking: &Asking) -> Vec<usize> {
    let mut who = Vec::new();
    until("the question ends", || {
        for (n, queryable) in queryables.iter().enumerate() {
            if let Some(asked) = queryable.try_next() {
                asked.finish();
                who.push(n);
            }
        }
        matches!(asking.try_next(), Some(Heard::End))
    });
    who.sort_unstable();
    who
}

/// Replies on one key are consolidated by their timestamps in the mode of the query.
pub fn consolidation_keeps_what_it_should(scene: &Scene) {
    let queryable = scene.to.queryable("q/consolidation/*");
    scene.settles();
    // replies as key, number and age in seconds
    let answers = [
        ("k", 1, -5.0),
        ("k", 2, -3.0),
        ("k", 3, -4.0),
        ("j", 4, -60.0),
        ("k", 5, -3.5),
        ("k", 6, -2.0),
    ];
    // returns the numbers that arrive
    let heard = |consolidation, parameters: &str| {
        let selector = format!("q/consolidation/*{parameters}");
        let conditions = Conditions::consolidated(consolidation);
        let asking = scene.from.ask(&selector, conditions, PLAIN);
        let asked = queryable.next();
        for (key, seed, shift) in answers {
            let message = Message {
                stamp_shift: Some(shift),
                ..put(seed)
            };
            asked.reply(&format!("q/consolidation/{key}"), &message);
        }
        asked.finish();
        let replies = asking.replies();
        let number = |reply: &Replied| {
            let number = (1..=6).find(|n| reply.sample.carries(Pattern::short(*n)));
            number.expect("one of them")
        };
        replies.iter().map(number).collect::<Vec<_>>()
    };
    // expectations for each mode; with `_time` the automatic mode consolidates nothing
    assert_eq!(heard(Consolidation::None, ""), [1, 2, 3, 4, 5, 6]);
    assert_eq!(heard(Consolidation::Monotonic, ""), [1, 2, 4, 6]);
    for consolidation in [Consolidation::Latest, Consolidation::Auto] {
        let mut latest = heard(consolidation, "");
        latest.sort_unstable();
        assert_eq!(latest, [4, 6], "{consolidation:?}");
    }
    let all = heard(Consolidation::Auto, "?_time=[now(-1h)..]");
    assert_eq!(all, [1, 2, 3, 4, 5, 6]);
}

/// Replies on other keys than the query's are refused, unless the query permits them.
pub fn replies_may_have_any_key_if_asked(scene: &Scene) {
    let queryable = scene.to.queryable("q/any/*");
    scene.settles();
    // without the permission a reply on another key is refused
    let asking = asks(scene, "q/any/a");
    let asked = queryable.next();
    assert!(!asked.any_key);
    assert!(asked.try_reply("q/any/b", &put(1)).is_err());
    asked.reply("q/any/*", &put(2));
    asked.finish();
    assert!(asking.reply().sample.carries(Pattern::short(2)));
    asking.ends();

    // the permission, as an option or as a parameter
    let any = Conditions {
        any_key: true,
        ..all_answers()
    };
    for (selector, conditions) in [
        ("q/any/a", any),
        ("q/any/a?_anyke", all_answers()),
        ("q/any/a?x=1;_anyke", all_answers()),
    ] {
        let asking = scene.from.ask(selector, conditions, PLAIN);
        let asked = queryable.next();
        assert!(asked.any_key, "{selector}");
        asked.reply("q/any/b", &put(1));
        asked.reply("quite/different", &put(2));
        asked.finish();
        assert_eq!(asking.keys(), ["q/any/b", "quite/different"], "{selector}");
    }
}

/// A query that no queryable finishes ends with an error when its time is over; later replies do
/// not arrive.
pub fn queries_time_out(scene: &Scene) {
    let queryable = scene.to.queryable("q/slow");
    scene.settles();
    let conditions = Conditions {
        timeout: Some(Duration::from_millis(400)),
        ..all_answers()
    };
    let begin = Instant::now();
    let asking = scene.from.ask("q/slow", conditions, PLAIN);
    let asked = queryable.next();
    asked.reply("q/slow", &put(1));
    assert!(asking.reply().sample.carries(Pattern::short(1)));
    let first = asking.fault();
    assert!(first.content.is_text("Timeout"), "{first:?}");
    let took = begin.elapsed();
    assert!(
        took >= Duration::from_millis(390) && took < SOON,
        "{took:?}"
    );
    // a router on the way has its own clock and may report a timeout, too
    while let Heard::Fault(fault) = asking.next() {
        assert!(fault.content.is_text("Timeout"), "{fault:?}");
    }
    // the queryable may or may not know of it
    let _ = asked.try_reply("q/slow", &put(2));
    asked.finish();
    let next = asks(scene, "q/slow");
    queryable.next().finish();
    next.ends();
    assert!(asking.try_next().is_none(), "an answer after the end");
    scene.complains_only_of(&LATE);
}

/// A thousand queries wait at the same time, and each gets its own reply.
pub fn a_thousand_queries_wait_at_once(scene: &Scene) {
    const MANY: u64 = 1000;
    let queryable = scene.to.queryable("q/many/*");
    scene.settles();
    let conditions = Conditions {
        timeout: Some(LONG),
        ..all_answers()
    };
    // all queries wait before the first reply
    let ask = |n: u64| {
        let question = Question::with(Pattern::short(n));
        let selector = format!("q/many/{n}");
        scene.from.ask(&selector, conditions, question)
    };
    let asking: Vec<Asking> = (0..MANY).map(ask).collect();
    let asked: Vec<_> = (0..MANY).map(|_| queryable.next()).collect();
    // replies in reverse order
    for asked in asked.into_iter().rev() {
        let n = asked.key.trim_start_matches("q/many/").parse();
        asked.reply(&asked.key, &put(n.expect("a number")));
        asked.finish();
    }
    // each query has its own reply
    for (n, asking) in asking.iter().enumerate() {
        let sample = asking.reply().sample;
        assert_eq!(sample.key, format!("q/many/{n}"));
        assert!(sample.carries(Pattern::short(n as u64)));
        asking.ends();
    }
}

/// Queries and replies of ten megabytes, and many of each batch's size.
pub fn queries_and_replies_of_all_sizes_arrive(scene: &Scene) {
    let queryable = scene.to.queryable("q/size");
    scene.settles();
    let sizes = [0, 1, 65_000, 65_536, 1 << 20, 10 << 20];
    for (seed, len) in (1..).zip(sizes) {
        let body = Pattern { len, seed };
        let asking = scene
            .from
            .ask("q/size", all_answers(), Question::with(body));
        let asked = queryable.next();
        assert!(asked.body.as_ref().is_some_and(|b| b.is(body)), "{len}");
        for _ in 0..2 {
            asked.reply("q/size", &Message::put(body));
        }
        asked.reply("q/size", &put(9));
        asked.finish();
        for _ in 0..2 {
            assert!(asking.reply().sample.carries(body), "{len}");
        }
        assert!(asking.reply().sample.carries(Pattern::short(9)));
        asking.ends();
    }
}

/// Undeclared queryables receive no query, new ones do.
pub fn queryables_come_and_go(scene: &Scene) {
    asks(scene, "q/late").ends();
    let first = scene.to.queryable("q/late");
    scene.settles();
    let asking = asks(scene, "q/late");
    let asked = first.next();
    let second = scene.to.queryable("q/*");
    first.undeclare();
    scene.settles();
    // an earlier query is answered all the same
    asked.reply("q/late", &put(1));
    asked.finish();
    assert!(asking.reply().sample.carries(Pattern::short(1)));
    asking.ends();

    let asking = asks(scene, "q/late");
    second.next().finish();
    asking.ends();
    second.undeclare();
    scene.settles();
    asks(scene, "q/late").ends();

    let again = scene.to.queryable("q/late");
    scene.settles();
    let asking = asks(scene, "q/late");
    again.next().finish();
    asking.ends();
}

/// A query to a node whose link is lost ends before its time is over. Our sessions get an error that names
/// the link, also from our router; theirs get the end.
pub fn a_lost_link_ends_the_query(scene: &Scene) {
    let queryable = scene.to.queryable("q/lost");
    scene.settles();
    let conditions = Conditions {
        timeout: Some(LONG),
        ..all_answers()
    };
    let asking = scene.from.ask("q/lost", conditions, PLAIN);
    let asked = queryable.next();
    asked.reply("q/lost", &put(1));
    assert!(asking.reply().sample.carries(Pattern::short(1)));
    let is_ours = matches!(scene.from, Party::Ours(_));
    let is_told = is_ours && scene.router.as_ref().is_none_or(|router| router.is_ours());
    let why = format!("the link to {} was lost", scene.to.zid());
    let begin = Instant::now();
    scene.to.crash();
    if is_told {
        let heard = asking.fault();
        assert!(heard.content.is_text(&why), "{heard:?}");
        assert_eq!(heard.encoding, "zenoh/string");
    }
    asking.ends();
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

/// A cancelled query ends at once, and gets no more replies.
pub fn queries_are_cancelled(scene: &Scene) {
    let queryable = scene.to.queryable("q/cancelled");
    scene.settles();
    let question = Question {
        cancellable: true,
        ..PLAIN
    };
    let asking = scene.from.ask("q/cancelled", all_answers(), question);
    let asked = queryable.next();
    asked.reply("q/cancelled", &put(1));
    assert!(asking.reply().sample.carries(Pattern::short(1)));
    asking.cancel();
    asking.ends();
    // the queryable may or may not know of it
    let _ = asked.try_reply("q/cancelled", &put(2));
    asked.finish();
    let next = asks(scene, "q/cancelled");
    queryable.next().finish();
    next.ends();
    assert!(asking.try_next().is_none(), "an answer after the end");
    scene.complains_only_of(&LATE);
}

/// Queries of a querier have its options, and fields of their own.
pub fn queriers_ask(scene: &Scene) {
    let queryable = scene.to.queryable("q/querier/*");
    scene.settles();
    // options of the querier, which hold for each query
    let conditions = Conditions {
        target: Some(Target::All),
        timeout: Some(LONG),
        any_key: true,
        ..all_answers()
    };
    let querier = scene.from.querier("q/querier/a", conditions);
    until("the querier is matched", || querier.is_matched());
    // queries with fields of their own
    let questions = [
        PLAIN,
        Question::with(Pattern { len: 500, seed: 2 }),
        Question {
            encoding: Some("text/plain"),
            attachment: Some(b"beside it"),
            source_sn: Some(3),
            ..Question::with(Pattern::short(3))
        },
    ];
    for question in questions {
        for parameters in ["", "a=1;b"] {
            let asking = querier.ask(parameters, question);
            let asked = queryable.next();
            assert_eq!(asked.key, "q/querier/a");
            assert!(asked.any_key);
            let own = asked.parameters.replace("_anyke", "");
            assert_eq!(own.trim_matches(';'), parameters);
            arrived(&asked, &question, &asking.source());
            asked.reply("q/elsewhere", &put(1));
            asked.reply("q/querier/a", &put(2));
            asked.finish();
            assert_eq!(asking.keys(), ["q/elsewhere", "q/querier/a"]);
        }
    }
    // without a queryable the querier is not matched
    queryable.undeclare();
    until("nobody is left", || !querier.is_matched());
    querier.ask("", PLAIN).ends();
}
