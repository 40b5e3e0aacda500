// SPDX-License-Identifier: MIT OR Apache-2.0

//! `allowed_destination` and `allowed_origin`: the sessions between which puts, deletions, gets and
//! their counterparts pass; and callbacks that change what they have captured.

use std::future::IntoFuture;
use std::sync::mpsc;
use std::time::Duration;

use crate::pair::{LONG, alone, matched, pair, until};
use zonda::handlers::FifoChannelHandler;
use zonda::sample::{Locality, Sample};
use zonda::{Session, Wait};

use Locality::{Any, Remote, SessionLocal};

const ALL: [Locality; 3] = [Any, SessionLocal, Remote];

fn within(locality: Locality) -> bool {
    locality != Remote
}

fn beyond(locality: Locality) -> bool {
    locality != SessionLocal
}

/// Returns true if `session` knows a subscriber to `key` elsewhere.
fn knows(session: &Session, key: &'static str) -> bool {
    let publisher = session.declare_publisher(key);
    matched(&publisher.allowed_destination(Remote).wait().unwrap())
}

fn next<T>(queue: &FifoChannelHandler<T>) -> T {
    queue.recv_timeout(LONG).unwrap().expect("one more")
}

#[test]
fn puts_pass_where_both_ends_say_so() {
    let (first, second) = pair();
    for origin in ALL {
        let own = first.declare_subscriber("demo/*").allowed_origin(origin);
        let own = own.wait().unwrap();
        let mark = first.declare_subscriber("mark").wait().unwrap();
        let far = second.declare_subscriber("demo/**").wait().unwrap();
        until("the other is known", || knows(&first, "demo/a"));
        for destination in ALL {
            let case = format!("{origin:?} {destination:?}");
            let inside = within(origin) && within(destination);
            let to_session = first.declare_publisher("demo/a");
            let publisher = to_session.allowed_destination(destination).wait().unwrap();
            publisher.put("by a publisher").wait().unwrap();
            let put = first.put("demo/a", "by the session");
            put.allowed_destination(destination).wait().unwrap();
            async_io::block_on(
                first
                    .delete("demo/a")
                    .allowed_destination(destination)
                    .into_future(),
            )
            .unwrap();
            let came: Vec<Sample> = own.drain().collect();
            assert_eq!(came.len(), 3 * usize::from(inside), "{case}");
            first
                .put("demo/end", "")
                .allowed_destination(Remote)
                .wait()
                .unwrap();
            let mut count = 0;
            while next(&far).key_expr().as_str() != "demo/end" {
                count += 1;
            }
            assert_eq!(count, 3 * usize::from(beyond(destination)), "{case}");
        }
        until("the mark is known", || knows(&second, "mark"));
        assert_eq!(knows(&second, "demo/x"), beyond(origin), "{origin:?}");
        second.put("demo/x", "from elsewhere").wait().unwrap();
        second.put("mark", "").wait().unwrap();
        next(&mark);
        assert_eq!(
            own.drain().count(),
            usize::from(beyond(origin)),
            "{origin:?}"
        );
        drop((own, far, mark));
        until("all is forgotten", || {
            !knows(&first, "demo/a") && !knows(&second, "mark")
        });
    }
}

#[test]
fn gets_pass_where_both_ends_say_so() {
    let (first, second) = pair();
    let far = second.declare_queryable("demo/far");
    let answer = |query: zonda::query::Query| drop(query.reply("demo/far", "far").wait());
    let _far = far.callback(answer).wait().unwrap();
    for origin in ALL {
        let own = first.declare_queryable("demo/own").allowed_origin(origin);
        let answer = |query: zonda::query::Query| drop(query.reply("demo/own", "own").wait());
        let own = own.callback(answer).wait().unwrap();
        let querier = first.declare_querier("demo/*").allowed_destination(Remote);
        let querier = querier.wait().unwrap();
        let matching = || matches!(querier.matching_status().wait(), Ok(it) if it.matching());
        until("the other is known", matching);
        for destination in ALL {
            let case = format!("{origin:?} {destination:?}");
            let get = first.get("demo/*").allowed_destination(destination);
            let mut keys: Vec<String> = get.wait().unwrap().iter().map(key).collect();
            keys.sort();
            let inside = within(origin) && within(destination);
            let wanted = [("demo/far", beyond(destination)), ("demo/own", inside)];
            let wanted = wanted.iter().filter(|(_, is)| *is).map(|(key, _)| *key);
            assert_eq!(keys, wanted.collect::<Vec<_>>(), "{case}");
            let querier = first.declare_querier("demo/own");
            let querier = querier.allowed_destination(destination).wait().unwrap();
            let status = querier.matching_status().wait().unwrap();
            assert_eq!(status.matching(), inside, "{case}");
            assert_eq!(
                querier.get().wait().unwrap().iter().count(),
                usize::from(inside)
            );
        }
        if beyond(origin) {
            let asking = || second.get("demo/own").wait().unwrap().iter().count() == 1;
            until("it is known elsewhere", asking);
        } else {
            assert_eq!(second.get("demo/own").wait().unwrap().iter().count(), 0);
        }
        drop(own);
    }
}

fn key(reply: zonda::query::Reply) -> String {
    reply.result().expect("a sample").key_expr().to_string()
}

#[test]
fn a_listener_is_told_of_those_in_its_destination() {
    let session = alone();
    for (destination, origin) in [
        (SessionLocal, SessionLocal),
        (Any, SessionLocal),
        (SessionLocal, Any),
    ] {
        let publisher = session.declare_publisher("demo/a");
        let publisher = publisher.allowed_destination(destination).wait().unwrap();
        let listener = publisher.matching_listener().wait().unwrap();
        let deaf = session.declare_subscriber("demo/a").allowed_origin(Remote);
        let deaf = deaf.wait().unwrap();
        let own = session.declare_subscriber("demo/a").allowed_origin(origin);
        let own = own.wait().unwrap();
        assert!(next(&listener).matching());
        drop(own);
        assert!(!next(&listener).matching());
        drop(deaf);
        assert!(listener.is_empty());
    }
}

#[test]
fn a_callback_may_change_what_it_has_captured() {
    let session = alone();
    let (tell, told) = mpsc::channel();
    let mut sum = 0;
    let subscriber = session
        .declare_subscriber("demo/*")
        .callback_mut(move |sample| {
            sum += sample.payload().len();
            tell.send(sum).expect("the test listens");
        })
        .wait()
        .unwrap();
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..100).for_each(|_| drop(session.put("demo/a", "x").wait())));
        }
    });
    let sums: Vec<usize> = told.try_iter().collect();
    assert_eq!(sums, (1..=400).collect::<Vec<_>>());
    drop(subscriber);
    assert!(told.recv_timeout(LONG).is_err(), "it is dropped");
}

#[test]
fn what_a_callback_causes_itself_waits_until_it_has_returned() {
    let session = alone();
    let (tell, told) = mpsc::channel();
    let (inner, mut left, mut depth) = (session.clone(), 5, 0);
    let subscriber = session
        .declare_subscriber("demo/a")
        .callback_mut(move |_| {
            depth += 1;
            assert_eq!(depth, 1, "it is not called while it runs");
            if left > 0 {
                left -= 1;
                inner.put("demo/a", "again").wait().unwrap();
            }
            depth -= 1;
            let _ = tell.send(left);
            assert_ne!(left, 2, "as a program may have it");
        })
        .wait()
        .unwrap();
    session.put("demo/a", "first").wait().unwrap();
    let left: Vec<i32> = told.try_iter().collect();
    assert_eq!(left, [4, 3, 2, 1, 0, 0], "the panic costs one call");
    assert_eq!(subscriber.panics(), 1);
    session.put("demo/a", "last").wait().unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(0));
}
