// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching of publishers with subscribers: status and listeners, within one session, between
//! peers, and through a router; and nothing is sent where no subscriber is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::pair::{LONG, alone, connected_to, matched, pair, until, until_matched};
use zonda::handlers::{FifoChannelHandler, RecvError};
use zonda::matching::{MatchingListener, MatchingStatus};
use zonda::qos::CongestionControl;
use zonda::query::{Querier, QueryTarget};
use zonda::{Config, Session, Wait};

const NOWHERE: [&str; 0] = [];

fn next(listener: &FifoChannelHandler<MatchingStatus>) -> bool {
    let status = listener.recv_timeout(LONG).expect("it is open");
    status.expect("a change").matching()
}

fn quick_client() -> Config {
    Config::client(NOWHERE).with("connect/retry", "{ period_init_ms: 10, period_max_ms: 50 }")
}

fn router() -> Session {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    zonda::open(config).wait().expect("a router")
}

/// Runs a case in pairs of sessions that can reach each other.
fn worlds(case: impl Fn(&str, &Session, &Session)) {
    let (first, second) = pair();
    case("peers", &first, &second);
    case("one session", &first, &first);
    let gateway = router();
    let first = connected_to(&gateway, quick_client());
    let second = connected_to(&gateway, quick_client());
    case("clients of a router", &first, &second);
    case("client and router", &first, &gateway);
    case("router and client", &gateway, &first);
    let peer = connected_to(&gateway, Config::peer().listen(NOWHERE));
    case("peer and client of its router", &peer, &second);
}

#[test]
fn a_listener_is_told_of_the_first_and_of_the_last_subscriber() {
    worlds(|world, publishing, subscribing| {
        let publisher = publishing.declare_publisher("demo/a").wait().unwrap();
        let listener = publisher.matching_listener().wait().unwrap();
        assert!(!matched(&publisher), "{world}");
        let other = subscribing.declare_subscriber("other").wait().unwrap();
        let first = subscribing.declare_subscriber("demo/*").wait().unwrap();
        assert!(next(&listener), "{world}");
        assert!(matched(&publisher), "{world}");
        let late = publisher.matching_listener().wait().unwrap();
        assert!(next(&late), "it begins with how it stands, {world}");
        let second = subscribing.declare_subscriber("demo/a").wait().unwrap();
        let third = subscribing.declare_subscriber("**").wait().unwrap();
        drop((first, third, second));
        assert!(!next(&listener) && !next(&late), "{world}");
        assert!(!matched(&publisher), "{world}");
        let again = subscribing.declare_subscriber("demo/**").wait().unwrap();
        assert!(next(&listener) && next(&late), "{world}");
        drop((again, other));
        assert!(!next(&listener) && !next(&late), "{world}");
        assert!(listener.is_empty() && late.is_empty(), "{world}");
        assert_eq!((listener.panics(), listener.cancelled()), (0, 0));
    });
}

#[test]
fn a_listener_is_told_when_the_link_to_the_last_subscriber_ends() {
    let (publishing, subscribing) = pair();
    let publisher = publishing.declare_publisher("demo").wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    let kept = subscribing.declare_subscriber("demo").wait().unwrap();
    assert!(next(&listener));
    subscribing.close().wait().unwrap();
    assert!(!next(&listener));
    drop(kept);

    let gateway = router();
    let address = gateway.info().locators().remove(0).to_string();
    let publishing = connected_to(&gateway, quick_client());
    let subscribing = connected_to(&gateway, quick_client());
    let publisher = publishing.declare_publisher("demo").wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    let kept = subscribing.declare_subscriber("demo").wait().unwrap();
    assert!(next(&listener));
    gateway.close().wait().unwrap();
    drop(gateway);
    assert!(!next(&listener));
    let mut again = None;
    until("the port is free again", || {
        again = zonda::open(Config::router().listen([&address])).wait().ok();
        again.is_some()
    });
    assert!(next(&listener));
    drop(kept);
    assert!(!next(&listener) && listener.is_empty());
}

#[test]
fn a_querier_s_listener_is_told_of_queryables_that_would_answer() {
    worlds(|world, asking, answering| {
        let any = asking.declare_querier("demo/a").wait().unwrap();
        let complete = asking.declare_querier("demo/a");
        let complete = complete.target(QueryTarget::AllComplete).wait().unwrap();
        let of_any = any.matching_listener().wait().unwrap();
        let of_complete = complete.matching_listener().wait().unwrap();
        let status = |querier: &Querier<'_>| {
            let status = querier.matching_status().wait().unwrap();
            status.matching()
        };
        assert!(!status(&any) && !status(&complete), "{world}");
        let declare = |key: &'static str, complete| {
            let queryable = answering.declare_queryable(key).complete(complete);
            queryable.callback(drop).wait().unwrap()
        };
        let partial = declare("demo/*", false);
        assert!(next(&of_any), "{world}");
        let elsewhere = declare("other/**", true);
        let all = declare("demo/**", true);
        assert!(next(&of_complete), "{world}");
        assert!(status(&any) && status(&complete), "{world}");
        drop(partial);
        drop(all);
        assert!(!next(&of_any) && !next(&of_complete), "{world}");
        assert!(of_any.is_empty() && of_complete.is_empty(), "{world}");
        drop(any);
        assert_eq!(of_any.recv_timeout(LONG), Err(RecvError::Closed));
        drop(elsewhere);
    });
}

#[test]
fn a_listener_ends_with_its_publisher_and_with_the_session() {
    let session = alone();
    let publisher = session.declare_publisher("demo").wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let in_callback = calls.clone();
    let background = publisher.matching_listener().callback(move |_| {
        in_callback.fetch_add(1, Ordering::SeqCst);
    });
    background.background().wait().unwrap();
    let ended = publisher.matching_listener().wait().unwrap();
    ended.undeclare().wait().unwrap();
    let subscriber = session.declare_subscriber("demo").wait().unwrap();
    until("the background one is called", || {
        calls.load(Ordering::SeqCst) == 1
    });
    assert!(next(&listener));
    drop(publisher);
    until("its closure is dropped", || Arc::strong_count(&calls) == 1);
    assert_eq!(listener.recv_timeout(LONG), Err(RecvError::Closed));
    let publisher = session.declare_publisher("demo").wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    assert!(next(&listener));
    session.close().wait().unwrap();
    assert_eq!(listener.recv_timeout(LONG), Err(RecvError::Closed));
    assert!(publisher.matching_listener().wait().is_err());
    drop(subscriber);
}

#[test]
fn callbacks_may_do_anything_and_a_panic_costs_one_change() {
    let (publishing, subscribing) = pair();
    let publisher = Arc::new(publishing.declare_publisher("demo").wait().unwrap());
    let (tell, told) = mpsc::channel();
    let slot: Arc<Mutex<Vec<MatchingListener<()>>>> = Arc::default();
    let (own, session, keep) = (publisher.clone(), publishing.clone(), slot.clone());
    let listener = publisher.matching_listener().callback(move |status| {
        own.put("from inside").wait().unwrap();
        let nested = own.matching_listener().callback(|_| ()).wait().unwrap();
        let old = std::mem::replace(&mut *keep.lock().unwrap(), vec![nested]);
        drop(old);
        let another = session.declare_publisher("another").wait().unwrap();
        drop(session.declare_subscriber("another").wait().unwrap());
        drop(another);
        tell.send(status.matching()).unwrap();
        assert!(
            status.matching(),
            "a bad callback (this panic belongs to the test)"
        );
    });
    let listener = listener.wait().unwrap();
    for _ in 0..3 {
        let subscriber = subscribing.declare_subscriber("demo").wait().unwrap();
        assert_eq!(told.recv_timeout(LONG), Ok(true));
        drop(subscriber);
        assert_eq!(told.recv_timeout(LONG), Ok(false));
    }
    until("the panics are counted", || listener.panics() == 3);
    // One that closes its own session.
    let session = publishing.clone();
    let closed = Arc::new(AtomicUsize::new(0));
    let count = closed.clone();
    let closing = publisher.matching_listener().callback(move |_| {
        let _ = session.close().timeout(Duration::from_millis(300)).wait();
        count.fetch_add(1, Ordering::SeqCst);
    });
    let closing = closing.wait().unwrap();
    let subscriber = subscribing.declare_subscriber("demo").wait().unwrap();
    until("it closed the session", || {
        closed.load(Ordering::SeqCst) == 1
    });
    assert!(publishing.is_closed());
    drop(std::mem::take(&mut *slot.lock().unwrap()));
    drop((subscriber, listener, closing));
}

/// Several sessions subscribe and unsubscribe as fast as they can: the notices of each listener
/// alternate, and the last is right.
#[test]
fn changes_alternate_and_the_last_is_right() {
    const ROUNDS: usize = 200;
    let gateway = router();
    let publishing = connected_to(&gateway, quick_client());
    let publisher = publishing.declare_publisher("demo/a").wait().unwrap();
    let (tell, told) = mpsc::channel();
    let listener = publisher.matching_listener();
    let listener = listener.callback(move |status| tell.send(status.matching()).unwrap());
    let listener = listener.wait().unwrap();
    let sessions = [
        publishing.clone(),
        gateway.clone(),
        connected_to(&gateway, quick_client()),
        connected_to(&gateway, quick_client()),
    ];
    let threads = sessions.map(|session| {
        std::thread::spawn(move || {
            for round in 0..ROUNDS {
                let key = ["demo/*", "demo/a", "*/a", "other"][round % 4];
                drop(session.declare_subscriber(key).wait().unwrap());
            }
            session
        })
    });
    let sessions = threads.map(|thread| thread.join().unwrap());
    let kept = sessions[3].declare_subscriber("demo/a").wait().unwrap();
    // The last declaration of each is known, so every earlier one is.
    let settled = |name: &str| {
        for (at, session) in sessions.iter().enumerate() {
            let key = format!("{name}/{at}");
            let last = session.declare_subscriber(key.clone()).wait().unwrap();
            let known = publishing.declare_publisher(key).wait().unwrap();
            until_matched(&known);
            drop(last);
        }
    };
    let mut all = Vec::new();
    let mut until_told = |expected: bool| {
        until("the last change is right", || {
            all.extend(told.try_iter());
            all.last() == Some(&expected)
        });
    };
    settled("first");
    assert!(matched(&publisher));
    until_told(true);
    drop(kept);
    settled("second");
    assert!(!matched(&publisher));
    until_told(false);
    drop(listener);
    all.extend(told.iter());
    for (at, matching) in all.iter().enumerate() {
        assert_eq!(*matching, at % 2 == 0, "each is a change");
    }
    assert_eq!(all.last(), Some(&false));
}

/// Returns the number of bytes that a session has sent.
fn sent(session: &Session) -> u64 {
    session
        .info()
        .links()
        .iter()
        .map(|link| link.sent.bytes)
        .sum()
}

#[test]
fn nothing_is_sent_where_nobody_subscribes() {
    worlds(|world, publishing, subscribing| {
        if publishing.zid() == subscribing.zid() {
            return;
        }
        // Unique keys: changes of the previous world, still under way, would match before the
        // gateway has answered.
        let place = world.replace(' ', "-");
        let (data, all) = (format!("{place}/data"), format!("{place}/*"));
        let publisher = publishing
            .declare_publisher(data.as_str())
            .congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
        // Once one has come and gone, all neighbours have sent their declarations.
        let early = subscribing
            .declare_subscriber(data.as_str())
            .wait()
            .unwrap();
        until_matched(&publisher);
        drop(early);
        until("it is gone", || !matched(&publisher));
        // Less than what leaves in shared memory.
        let value = vec![7u8; 3000];
        // Headers, and keep-alives that are sent during the measurement.
        const SLACK: u64 = 6000;
        let before = sent(publishing);
        for _ in 0..20 {
            publisher.put(&value[..]).wait().unwrap();
        }
        let subscriber = subscribing.declare_subscriber(all.as_str()).wait().unwrap();
        until_matched(&publisher);
        for _ in 0..20 {
            publisher.put(&value[..]).wait().unwrap();
        }
        for _ in 0..20 {
            assert!(subscriber.recv_timeout(LONG).unwrap().is_some(), "{world}");
        }
        // The bytes are counted a moment after they are written. Puts without a subscriber would be
        // among them, too.
        until("all is counted", || sent(publishing) - before >= 20 * 3000);
        let spent = sent(publishing) - before;
        assert!(spent < 21 * 3000 + SLACK, "{spent} bytes, {world}");
    });
}
