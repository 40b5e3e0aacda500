// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness: tokens, subscribers and gets, within one session, between peers, and through a
//! router.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::pair::{LONG, alone, connected_to, pair, until};
use zonda::cancellation::CancellationToken;
use zonda::handlers::{FifoChannel, FifoChannelHandler, RecvError};
use zonda::liveliness::LivelinessToken;
use zonda::pubsub::Subscriber;
use zonda::query::Reply;
use zonda::sample::{Sample, SampleKind};
use zonda::{Config, DeclareError, Operation, Session, Wait};

const NOWHERE: [&str; 0] = [];

fn token(session: &Session, key: &str) -> LivelinessToken {
    let declared = session.liveliness().declare_token(key.to_owned());
    declared.wait().expect("a token")
}

fn listening(session: &Session, key: &str, history: bool) -> Subscriber {
    let liveliness = session.liveliness();
    let subscriber = liveliness.declare_subscriber(key.to_owned());
    subscriber.history(history).wait().expect("a subscriber")
}

/// Returns the next change, as `+key` or `-key`.
fn next(subscriber: &FifoChannelHandler<Sample>) -> String {
    let sample = subscriber.recv_timeout(LONG).expect("it is open");
    line(&sample.expect("a change"))
}

fn line(sample: &Sample) -> String {
    assert!(sample.payload().is_empty());
    let sign = match sample.kind() {
        SampleKind::Put => '+',
        SampleKind::Delete => '-',
    };
    format!("{sign}{}", sample.key_expr())
}

/// Returns all live keys, sorted; each once.
fn alive(session: &Session, key: &str) -> Vec<String> {
    let replies = session.liveliness().get(key.to_owned()).timeout(LONG);
    let replies = replies.wait().expect("a question");
    let mut keys = Vec::new();
    loop {
        match replies.recv_timeout(LONG) {
            Ok(Some(reply)) => {
                let sample = reply.into_result().expect("a complete answer");
                keys.push(sample.key_expr().to_string());
            }
            Ok(None) => panic!("the answer does not end"),
            Err(end) => {
                assert_eq!(end, RecvError::Closed);
                keys.sort();
                return keys;
            }
        }
    }
}

fn router() -> Session {
    let config = Config::router();
    zonda::open(config.listen(["tcp/127.0.0.1:0"]))
        .wait()
        .expect("a router")
}

fn quick_client() -> Config {
    Config::client(NOWHERE).with("connect/retry", "{ period_init_ms: 10, period_max_ms: 50 }")
}

/// Runs a case in pairs of sessions that can reach each other: peers; a peer and its client, both
/// ways; clients of a router; a client and its router, both ways.
fn worlds(case: impl Fn(&str, &Session, &Session)) {
    let case = |world: &str, here: &Session, there: &Session| {
        // shown where it fails
        println!("{world}");
        case(world, here, there);
    };
    let (first, second) = pair();
    case("peers", &first, &second);
    let gateway = alone();
    let client = connected_to(&gateway, quick_client());
    case("client and peer", &client, &gateway);
    case("peer and client", &gateway, &client);
    // New sessions each time: changes that a session was sent under an ended listener may still be
    // under way when it listens to the same keys again, and would count as news.
    let gateway = router();
    let client = || connected_to(&gateway, quick_client());
    let peer = || connected_to(&gateway, Config::peer().listen(NOWHERE));
    case("clients of a router", &client(), &client());
    case("client and router", &client(), &gateway);
    case("router and client", &gateway, &client());
    case("peer and client of its router", &peer(), &client());
    case("client and peer of its router", &client(), &peer());
}

#[test]
fn a_session_sees_its_own_tokens() {
    let session = alone();
    let early = token(&session, "live/a");
    assert_eq!(early.key_expr().as_str(), "live/a");
    let changes = listening(&session, "live/*", false);
    let all = listening(&session, "live/*", true);
    assert_eq!(changes.key_expr().as_str(), "live/*");
    assert_eq!(next(&all), "+live/a");
    let late = token(&session, "live/b");
    let again = token(&session, "live/b");
    assert_eq!(
        (next(&all), next(&changes)),
        ("+live/b".into(), "+live/b".into())
    );
    assert_eq!(alive(&session, "**"), ["live/a", "live/b"]);
    assert_eq!(alive(&session, "live/b"), ["live/b"]);
    assert_eq!(alive(&session, "other/*"), [""; 0]);
    late.undeclare().wait().unwrap();
    drop(early);
    drop(again);
    for changes in [&changes, &all] {
        assert_eq!(
            (next(changes), next(changes)),
            ("-live/a".into(), "-live/b".into())
        );
        assert!(changes.is_empty());
    }
    assert_eq!(alive(&session, "**"), [""; 0]);
}

#[test]
fn tokens_are_seen_elsewhere_and_end_when_they_are_undeclared() {
    worlds(|world, here, there| {
        let all = listening(there, "live/**", true);
        let changes = listening(there, "live/**", false);
        // A reply to a later query: the router knows of both.
        assert_eq!(alive(there, "**"), [""; 0], "{world}");
        let a = token(here, "live/a");
        assert_eq!(next(&all), "+live/a", "{world}");
        assert_eq!(next(&changes), "+live/a", "{world}");
        assert_eq!(alive(there, "live/*"), ["live/a"], "{world}");
        assert_eq!(alive(here, "live/*"), ["live/a"], "{world}");
        let b = token(here, "live/b/c");
        assert_eq!(next(&all), "+live/b/c", "{world}");
        let late = listening(there, "live/*", true);
        assert_eq!(next(&late), "+live/a", "{world}");
        a.undeclare().wait().unwrap();
        for changes in [&all, &late] {
            assert_eq!(next(changes), "-live/a", "{world}");
        }
        drop(b);
        assert_eq!(next(&all), "-live/b/c", "{world}");
        let expected = ["+live/b/c", "-live/a", "-live/b/c"];
        assert_eq!(expected.map(|_| next(&changes)), expected, "{world}");
        assert!(late.is_empty() && all.is_empty() && changes.is_empty());
        assert_eq!(alive(there, "**"), [""; 0], "{world}");
    });
}

#[test]
fn who_did_not_ask_for_history_is_told_of_changes_only_but_of_each_end() {
    worlds(|world, here, there| {
        let old = token(here, "live/old");
        let probe = listening(there, "live/*", true);
        assert_eq!(next(&probe), "+live/old", "{world}");
        drop(probe);
        let changes = listening(there, "live/*", false);
        until("it is asked for", || alive(there, "live/*").len() == 1);
        let new = token(here, "live/new");
        assert_eq!(next(&changes), "+live/new", "{world}");
        drop(old);
        assert_eq!(next(&changes), "-live/old", "{world}");
        drop(new);
        assert_eq!(next(&changes), "-live/new", "{world}");
    });
}

#[test]
fn what_a_gateway_learns_only_by_asking_is_not_news_either() {
    let top = router();
    let far = connected_to(&top, quick_client());
    let old = token(&far, "live/old");
    until("the token is there", || alive(&top, "live/*").len() == 1);
    let middle = connected_to(&top, Config::peer().listen(["tcp/127.0.0.1:0"]));
    let client = connected_to(&middle, quick_client());
    // The first one makes the peer ask its router.
    let (first, second) = (
        listening(&client, "live/*", false),
        listening(&client, "live/*", false),
    );
    assert_eq!(alive(&client, "live/*"), ["live/old"]);
    let new = token(&top, "live/new");
    drop(old);
    for changes in [&first, &second] {
        assert_eq!(next(changes), "+live/new");
        assert_eq!(next(changes), "-live/old");
    }
    drop(new);
}

#[test]
fn a_key_of_several_sessions_comes_once_and_goes_with_the_last() {
    let gateway = router();
    let watching = connected_to(&gateway, quick_client());
    let all = listening(&watching, "live/*", true);
    let sessions: Vec<Session> = (0..4)
        .map(|_| connected_to(&gateway, quick_client()))
        .collect();
    let own = token(&watching, "live/same");
    let tokens: Vec<LivelinessToken> = sessions.iter().map(|s| token(s, "live/same")).collect();
    assert_eq!(next(&all), "+live/same");
    for session in &sessions {
        assert_eq!(alive(session, "live/*"), ["live/same"]);
    }
    drop(own);
    for session in &sessions {
        session.close().wait().unwrap();
    }
    assert_eq!(next(&all), "-live/same");
    assert!(all.is_empty());
    drop(tokens);
    assert_eq!(alive(&watching, "live/*"), [""; 0]);
}

#[test]
fn tokens_end_with_their_session() {
    for close in [true, false] {
        let (here, there) = pair();
        let all = listening(&there, "**", true);
        let kept = token(&here, "live/kept");
        assert_eq!(next(&all), "+live/kept");
        match close {
            true => here.close().wait().unwrap(),
            false => drop(here),
        }
        assert_eq!(next(&all), "-live/kept");
        drop(kept);
        assert!(all.is_empty());
    }
}

#[test]
fn history_neither_misses_nor_doubles_what_comes_meanwhile() {
    const EARLY: usize = 3000;
    const LATE: usize = 1000;
    let gateway = router();
    let here = connected_to(&gateway, quick_client());
    let there = connected_to(&gateway, quick_client());
    let early: Vec<_> = (0..EARLY)
        .map(|n| token(&here, &format!("live/{n}")))
        .collect();
    until("the router knows", || alive(&gateway, "**").len() == EARLY);
    let declaring = std::thread::spawn({
        let here = here.clone();
        move || -> Vec<_> {
            let late = EARLY..EARLY + LATE;
            let late = late.map(|n| token(&here, &format!("live/{n}")));
            let late: Vec<_> = late.collect();
            drop(early);
            late
        }
    });
    let watch = |session: &Session| {
        let (tell, told) = mpsc::channel();
        let liveliness = session.liveliness();
        let declared = liveliness.declare_subscriber("live/*").history(true);
        let tell = move |sample: Sample| drop(tell.send(line(&sample)));
        (declared.callback(tell).wait().unwrap(), told)
    };
    let watched = [watch(&there), watch(&gateway)];
    let late = declaring.join().unwrap();
    for (subscriber, told) in watched {
        let mut alive = BTreeSet::new();
        let mut ends = 0;
        while alive.len() != LATE
            || !alive.contains(&format!("live/{}", EARLY + LATE - 1))
            || ends < 1
        {
            let line = told.recv_timeout(LONG).expect("another change");
            let (sign, key) = line.split_at(1);
            match sign {
                "+" => assert!(alive.insert(key.to_owned()), "{key} came twice"),
                _ => assert!(alive.remove(key), "{key} went and never came"),
            }
            ends += usize::from(sign == "-");
        }
        assert_eq!((subscriber.cancelled(), subscriber.panics()), (0, 0));
    }
    assert_eq!(alive(&there, "live/*").len(), LATE);
    drop(late);
}

/// Opens a router at the endpoint of an earlier one, once the port is free.
fn restarted(address: &str) -> Session {
    let mut session = None;
    until("the port is free again", || {
        let config = Config::router();
        session = zonda::open(config.listen([address])).wait().ok();
        session.is_some()
    });
    session.expect("the loop ended")
}

/// Changes that the end of one link causes are not queued for the other neighbours any more, or
/// they would count as lost.
#[test]
fn a_router_that_closes_loses_nothing_by_its_own_end() {
    for _ in 0..20 {
        let gateway = router();
        let clients = [0, 1, 2].map(|_| connected_to(&gateway, quick_client()));
        let mut kept = Vec::new();
        for (number, client) in clients.iter().enumerate() {
            kept.extend(
                (0..50).map(|token_number| token(client, &format!("live/{number}/{token_number}"))),
            );
        }
        let all = listening(&clients[0], "live/**", true);
        (0..150).for_each(|_| drop(next(&all)));
        gateway.close().wait().unwrap();
    }
}

#[test]
fn after_a_restart_of_the_router_both_sides_know_the_same() {
    let gateway = router();
    let address = gateway.info().locators().remove(0).to_string();
    let here = connected_to(&gateway, quick_client());
    let there = connected_to(&gateway, quick_client());
    let stays = token(&here, "live/stays");
    let goes = token(&here, "live/goes");
    let all = listening(&there, "live/**", true);
    let both = BTreeSet::from([next(&all), next(&all)]);
    assert_eq!(
        both,
        BTreeSet::from(["+live/goes".into(), "+live/stays".into()])
    );
    let changes = listening(&there, "live/**", false);
    assert_eq!(alive(&there, "live/**").len(), 2, "it is asked for");
    gateway.close().wait().unwrap();
    drop(gateway);
    // The route to them is lost, so the router cannot know that they live.
    for changes in [&all, &changes] {
        let both = BTreeSet::from([next(changes), next(changes)]);
        assert_eq!(
            both,
            BTreeSet::from(["-live/goes".into(), "-live/stays".into()])
        );
    }
    drop(goes);
    let new = token(&here, "live/new");
    let own = token(&there, "live/own");
    let gateway = restarted(&address);
    let expected = BTreeSet::from(["+live/new", "+live/own", "+live/stays"].map(String::from));
    for changes in [&all, &changes] {
        let came: BTreeSet<String> = (0..3).map(|_| next(changes)).collect();
        assert_eq!(came, expected);
    }
    for session in [&here, &there, &gateway] {
        until("all know the same", || {
            alive(session, "**") == ["live/new", "live/own", "live/stays"]
        });
    }
    assert!(all.is_empty() && changes.is_empty());
    drop((stays, new, own));
}

#[test]
fn a_client_without_its_router_holds_its_question() {
    let gateway = router();
    let address = gateway.info().locators().remove(0).to_string();
    let client = connected_to(&gateway, quick_client());
    gateway.close().wait().unwrap();
    drop(gateway);
    until("the link is gone", || client.info().links().is_empty());
    let begin = Instant::now();
    let limit = Duration::from_millis(150);
    let replies = client.liveliness().get("**").timeout(limit).wait().unwrap();
    let reply = replies.recv_timeout(LONG).unwrap().expect("an error");
    let error = reply.into_result().unwrap_err();
    assert_eq!(
        (error.to_string(), begin.elapsed() >= limit),
        ("Timeout".into(), true)
    );
    let end = replies
        .recv_timeout(LONG)
        .map(|reply: Option<Reply>| reply.is_some());
    assert_eq!(end, Err(RecvError::Closed));
    let replies = client.liveliness().get("**").timeout(LONG).wait().unwrap();
    let gateway = restarted(&address);
    let token = token(&gateway, "live/back");
    let mut told = Vec::new();
    while let Ok(Some(reply)) = replies.recv_timeout(LONG) {
        told.push(reply.into_result().expect("a token").key_expr().to_string());
    }
    // The query was sent as soon as there was a link, maybe before the token.
    assert!(told.is_empty() || told == ["live/back"], "{told:?}");
    until("a new question is answered", || {
        alive(&client, "**") == ["live/back"]
    });
    drop(token);
}

#[test]
fn a_question_can_be_cancelled() {
    let gateway = router();
    let client = connected_to(&gateway, quick_client());
    gateway.close().wait().unwrap();
    until("the link is gone", || client.info().links().is_empty());
    let token = CancellationToken::default();
    let ask = || {
        let get = client.liveliness().get("**").timeout(LONG);
        get.cancellation_token(token.clone()).wait().unwrap()
    };
    let (first, second) = (ask(), ask());
    token.cancel().wait().unwrap();
    let third = client
        .liveliness()
        .get("**")
        .cancellation_token(token.clone());
    assert_eq!(third.typed().wait().err(), Some(DeclareError::Cancelled));
    for replies in [first, second] {
        assert_eq!(replies.recv().map(drop), Err(RecvError::Closed));
    }
    // A get that has ended by itself has nothing left to cancel.
    let alone = alone();
    let token = CancellationToken::default();
    for _ in 0..10 {
        let get = alone
            .liveliness()
            .get("**")
            .cancellation_token(token.clone());
        assert_eq!(get.wait().unwrap().recv().map(drop), Err(RecvError::Closed));
    }
    token.cancel().wait().unwrap();
}

#[test]
fn a_question_of_a_new_peer_is_not_answered_too_early() {
    let first = alone();
    let tokens: Vec<_> = (0..200)
        .map(|n| token(&first, &format!("live/{n}")))
        .collect();
    let address = first.info().locators().remove(0);
    for _ in 0..5 {
        let config = Config::peer().listen(NOWHERE).connect([&address]);
        let second = zonda::open(config).wait().unwrap();
        assert_eq!(alive(&second, "live/*").len(), tokens.len());
    }
}

#[test]
fn callbacks_may_do_anything_and_a_panic_costs_one_change() {
    let (here, there) = pair();
    let (tell, told) = mpsc::channel();
    let own = there.clone();
    let inner: Mutex<Vec<Subscriber<()>>> = Mutex::default();
    let declared = there.liveliness().declare_subscriber("live/*");
    let subscriber = declared.callback(move |sample: Sample| {
        let nested = token(&own, "other/nested");
        let listener = own.liveliness().declare_subscriber("other/*").history(true);
        let listener = listener.callback(|_| ()).wait().unwrap();
        let old = std::mem::replace(&mut *inner.lock().unwrap(), vec![listener]);
        drop((nested, old));
        let _replies = own.liveliness().get("live/*").wait().unwrap();
        own.put("some/key", "value").wait().unwrap();
        let line = line(&sample);
        let panics = line == "+live/bad";
        tell.send(line).unwrap();
        assert!(!panics, "a bad callback (this panic belongs to the test)");
    });
    let subscriber = subscriber.wait().unwrap();
    let tokens = ["live/good", "live/bad", "live/after"].map(|key| token(&here, key));
    for key in ["+live/good", "+live/bad", "+live/after"] {
        assert_eq!(told.recv_timeout(LONG).unwrap(), key);
    }
    until("the panic is counted", || subscriber.panics() == 1);
    drop(tokens);
    until("all ends are told", || {
        told.recv_timeout(LONG).unwrap() == "-live/after"
    });
    drop(subscriber);
    until("the closure is dropped", || {
        told.recv_timeout(Duration::ZERO) == Err(mpsc::RecvTimeoutError::Disconnected)
    });
}

#[test]
fn a_callback_may_end_itself_or_its_session() {
    for close in [false, true] {
        let (here, there) = pair();
        let slot: Arc<Mutex<Option<Subscriber<()>>>> = Arc::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let (own, count, session) = (slot.clone(), calls.clone(), there.clone());
        let declared = there.liveliness().declare_subscriber("live/*");
        let subscriber = declared.callback(move |_| {
            let taken = own.lock().unwrap().take();
            if close {
                let _ = session.close().timeout(Duration::from_millis(300)).wait();
            }
            drop(taken);
            count.fetch_add(1, Ordering::SeqCst);
        });
        *slot.lock().unwrap() = Some(subscriber.wait().unwrap());
        let _tokens = [token(&here, "live/a"), token(&here, "live/b")];
        until("it was called", || calls.load(Ordering::SeqCst) > 0);
        until("its closure is dropped", || Arc::strong_count(&calls) == 1);
        assert_eq!(
            (calls.load(Ordering::SeqCst), there.is_closed()),
            (1, close)
        );
    }
}

#[test]
fn closing_ends_subscribers_and_questions() {
    let gateway = router();
    let client = connected_to(&gateway, quick_client());
    let subscriber = listening(&client, "**", true);
    let seen: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let in_callback = seen.clone();
    let background = client.liveliness().declare_subscriber("**");
    let background = background.callback(move |sample: Sample| {
        *in_callback
            .lock()
            .unwrap()
            .entry(line(&sample))
            .or_default() += 1;
    });
    background.background().wait().unwrap();
    let own = token(&client, "live/own");
    until("the background one is called", || {
        seen.lock().unwrap().len() == 1
    });
    gateway.close().wait().unwrap();
    let held = client.liveliness().get("**").timeout(LONG).wait().unwrap();
    client.close().wait().unwrap();
    while held.recv_timeout(LONG).is_ok_and(|reply| reply.is_some()) {}
    assert_eq!(held.try_recv().unwrap_err(), RecvError::Closed);
    while subscriber
        .recv_timeout(LONG)
        .is_ok_and(|sample| sample.is_some())
    {}
    assert_eq!(subscriber.try_recv().unwrap_err(), RecvError::Closed);
    until("the closure is dropped", || Arc::strong_count(&seen) == 1);
    assert!(client.liveliness().declare_token("late").wait().is_err());
    assert!(client.liveliness().get("late").wait().is_err());
    assert!(
        client
            .liveliness()
            .declare_subscriber("late")
            .wait()
            .is_err()
    );
    drop(own);
}

#[test]
fn a_full_queue_makes_nobody_else_wait() {
    let (here, there) = pair();
    let declared = there.liveliness().declare_subscriber("live/*");
    let full = declared.with(FifoChannel::new(1)).wait().unwrap();
    let other = listening(&there, "live/*", false);
    let data = there.declare_subscriber("data").wait().unwrap();
    let tokens: Vec<_> = (0..100)
        .map(|n| token(&here, &format!("live/{n}")))
        .collect();
    for n in 0..tokens.len() {
        assert_eq!(next(&other), format!("+live/{n}"));
    }
    let publisher = here.declare_publisher("data").wait().unwrap();
    crate::pair::until_matched(&publisher);
    publisher.put("x").wait().unwrap();
    assert!(data.recv_timeout(LONG).unwrap().is_some());
    for n in 0..tokens.len() {
        assert_eq!(next(&full), format!("+live/{n}"));
    }
}

/// A router that has just been opened knows the earlier tokens of its neighbour: a subscriber
/// without history gets new ones only.
#[test]
fn what_was_alive_before_a_router_was_opened_is_no_news_there() {
    let far = router();
    let client = connected_to(&far, quick_client());
    let old = |number| token(&client, &format!("live/old/{number}"));
    let mut alive_there: Vec<_> = (0..50).map(old).collect();
    until("its router knows them", || {
        alive(&far, "live/old/*").len() == 50
    });
    for round in 0..10 {
        let config = Config::router().listen(NOWHERE);
        // On a busy machine the neighbour takes its time.
        let config = config.connect([&far.info().locators().remove(0)]);
        let opened = zonda::open(config.with("scouting/delay", "30000")).wait();
        let near = opened.expect("a router");
        let changes = listening(&near, "live/**", false);
        let new = format!("live/new/{round}");
        alive_there.push(token(&client, &new));
        assert_eq!(next(&changes), format!("+{new}"));
    }
}
