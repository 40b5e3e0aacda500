// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishers and subscribers of one session, without any peer: local delivery, drops, closing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::pair::{LONG, alone, matched, pair, until};
use zonda::bytes::{Encoding, ZBytes};
use zonda::handlers::{CallbackDrop, RecvError, RingChannel};
use zonda::key_expr::KeyExpr;
use zonda::pubsub::Publisher;
use zonda::qos::Priority;
use zonda::sample::{Sample, SampleFields, SampleKind};
use zonda::{DeclareError, Operation, Outcome, PublishError, Wait};

#[test]
fn a_session_receives_what_it_publishes_itself() {
    let session = alone();
    let subscriber = session.declare_subscriber("demo/**").wait().unwrap();
    assert_eq!(subscriber.key_expr().as_str(), "demo/**");
    let outcome = session
        .put("demo/a", "value")
        .encoding("text/plain;utf-8")
        .attachment(Some("beside"))
        .priority(Priority::InteractiveHigh)
        .outcome()
        .wait();
    assert_eq!(outcome, Ok(Outcome::Sent));
    let sample = subscriber.recv_timeout(LONG).unwrap().expect("a sample");
    assert_eq!(sample.encoding(), &Encoding::from("text/plain;utf-8"));
    assert_eq!(sample.priority(), Priority::InteractiveHigh);
    let fields = SampleFields::from(sample);
    assert_eq!(
        (fields.payload, fields.attachment),
        ("value".into(), Some("beside".into()))
    );

    let publisher = session.declare_publisher("demo/b").wait().unwrap();
    assert!(matched(&publisher));
    publisher.delete().wait().unwrap();
    let sample = subscriber.recv_timeout(LONG).unwrap().expect("a deletion");
    assert_eq!(
        (sample.kind(), sample.key_expr().as_str()),
        (SampleKind::Delete, "demo/b")
    );
}

#[test]
fn large_payloads_are_shared_and_small_ones_are_detached_when_queued() {
    let session = alone();
    let seen = Arc::new(AtomicUsize::new(0));
    let queue = session.declare_subscriber("demo").wait().unwrap();
    let address = seen.clone();
    let inline = session
        .declare_subscriber("demo")
        .callback(move |sample: Sample| {
            address.store(
                sample.payload().as_slice().as_ptr().addr(),
                Ordering::Relaxed,
            );
        })
        .wait()
        .unwrap();
    for (length, shared) in [(100, false), (1024, false), (1025, true)] {
        let payload = ZBytes::from(vec![7; length]);
        session.put("demo", &payload).wait().unwrap();
        let sample = queue.recv_timeout(LONG).unwrap().expect("a sample");
        assert_eq!(sample.payload(), &payload);
        let queued = sample.payload().as_slice().as_ptr().addr();
        assert_eq!(
            queued == seen.load(Ordering::Relaxed),
            shared,
            "{length} bytes"
        );
    }
    inline.undeclare().wait().unwrap();
}

#[test]
fn dropping_undeclares() {
    let session = alone();
    let publisher = session.declare_publisher("demo").wait().unwrap();
    let ends = Arc::new(AtomicUsize::new(0));
    let counter = ends.clone();
    let handler = CallbackDrop {
        callback: |_: Sample| {},
        drop: move || {
            counter.fetch_add(1, Ordering::Relaxed);
        },
    };
    let subscriber = session
        .declare_subscriber("demo")
        .with(handler)
        .wait()
        .unwrap();
    assert!(matched(&publisher));
    drop(subscriber);
    until("nobody matches", || !matched(&publisher));
    until("the closure is dropped", || {
        ends.load(Ordering::Relaxed) == 1
    });
}

#[test]
fn a_background_subscriber_lives_as_long_as_its_session() {
    let session = alone();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    session
        .declare_subscriber("demo")
        .callback(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .background()
        .wait()
        .unwrap();
    session.put("demo", "1").wait().unwrap();
    until("it is called", || calls.load(Ordering::Relaxed) == 1);
    session.close().wait().unwrap();
    until("its closure is dropped", || Arc::strong_count(&calls) == 1);
}

#[test]
fn undeclaring_ends_what_is_in_the_background() {
    let session = alone();
    let held = Arc::new(());
    let (here, there, beside) = (held.clone(), held.clone(), held.clone());
    let subscriber = session
        .declare_subscriber("demo")
        .callback(move |_| drop(here.clone()));
    let mut subscriber = subscriber.wait().unwrap();
    let queryable = session
        .declare_queryable("demo")
        .callback(move |_| drop(there.clone()));
    let mut queryable = queryable.wait().unwrap();
    let publisher = session.declare_publisher("demo").wait().unwrap();
    let listener = publisher
        .matching_listener()
        .callback(move |_| drop(beside.clone()));
    let mut listener = listener.wait().unwrap();
    subscriber.set_background(true);
    queryable.set_background(true);
    listener.set_background(true);
    assert_eq!(Arc::strong_count(&held), 4);
    listener.undeclare().wait().unwrap();
    subscriber.undeclare().wait().unwrap();
    queryable.undeclare().wait().unwrap();
    until("their closures are dropped", || {
        Arc::strong_count(&held) == 1
    });
    assert!(!matched(&publisher));
}

#[test]
fn everything_after_a_close_says_closed() {
    let session = alone();
    let clone = session.clone();
    let publisher = session.declare_publisher("demo").wait().unwrap();
    let fifo = session.declare_subscriber("demo").wait().unwrap();
    let ring = session
        .declare_subscriber("demo")
        .with(RingChannel::new(2))
        .wait()
        .unwrap();
    publisher.put("before").wait().unwrap();
    assert_eq!((fifo.recv().is_ok(), ring.recv().is_ok()), (true, true));
    assert!(!session.is_closed());
    session.close().wait().unwrap();
    session.close().wait().unwrap();
    assert!(clone.is_closed());
    assert_eq!(
        clone.put("demo", "x").typed().wait(),
        Err(PublishError::Closed)
    );
    assert_eq!(publisher.put("x").typed().wait(), Err(PublishError::Closed));
    assert_eq!(publisher.try_put("x"), Err(PublishError::Closed));
    assert_eq!(
        clone.declare_subscriber("demo").typed().wait().err(),
        Some(DeclareError::Closed)
    );
    assert_eq!(
        clone.declare_publisher("demo").typed().wait().err(),
        Some(DeclareError::Closed)
    );
    assert_eq!(fifo.recv_timeout(LONG).err(), Some(RecvError::Closed));
    assert_eq!(ring.recv_timeout(LONG).err(), Some(RecvError::Closed));
    fifo.undeclare().wait().unwrap();
}

#[test]
fn what_was_queued_before_the_close_can_still_be_read() {
    let session = alone();
    let subscriber = session.declare_subscriber("demo").wait().unwrap();
    session.put("demo", "1").wait().unwrap();
    until("it is queued", || subscriber.len() == 1);
    session.close().wait().unwrap();
    assert_eq!(subscriber.iter().count(), 1);
}

#[test]
fn the_last_clone_closes_and_subscribers_do_not_keep_a_session_open() {
    let session = alone();
    let subscriber = session.declare_subscriber("demo").wait().unwrap();
    let clone = session.clone();
    drop(session);
    clone.put("demo", "still open").wait().unwrap();
    assert!(subscriber.recv_timeout(LONG).unwrap().is_some());
    drop(clone);
    assert_eq!(subscriber.recv_timeout(LONG).err(), Some(RecvError::Closed));
}

#[test]
fn many_threads_may_close_at_once() {
    let session = alone();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let session = session.clone();
            std::thread::spawn(move || session.close().timeout(Duration::from_secs(5)).wait())
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

#[test]
fn timestamps_rise() {
    let session = alone();
    let stamps: Vec<_> = (0..100).map(|_| session.new_timestamp()).collect();
    assert!(
        stamps
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a < b))
    );
}

#[test]
fn keys_are_taken_in_every_form() {
    let session = alone();
    let owned: KeyExpr<'static> = session.declare_keyexpr("demo/a").wait().unwrap();
    let text = String::from("demo/a");
    let subscriber = session.declare_subscriber(&owned).wait().unwrap();
    session.put("demo/a", 1u8.to_be_bytes()).wait().unwrap();
    session.put(&text, vec![1]).wait().unwrap();
    session.put(text, "x".to_owned()).wait().unwrap();
    session.put(&owned, &[1, 2][..]).wait().unwrap();
    session
        .put(subscriber.key_expr(), ZBytes::new())
        .wait()
        .unwrap();
    session.put(owned.clone(), &String::new()).wait().unwrap();
    session
        .put(owned, std::borrow::Cow::Borrowed("cow"))
        .wait()
        .unwrap();
    assert_eq!(subscriber.len(), 7);
    let publisher: Publisher<'static> = session.declare_publisher("demo/a").wait().unwrap();
    assert_eq!(publisher.key_expr().as_str(), "demo/a");
    session.undeclare(publisher).wait().unwrap();
}

#[test]
fn a_second_subscriber_to_a_key_is_reached_at_once() {
    let (first, second) = pair();
    let one = first.declare_subscriber("demo/a").wait().unwrap();
    let own = first.declare_publisher("demo/a").wait().unwrap();
    let far = second.declare_publisher("demo/a").wait().unwrap();
    until("it is known", || matched(&far));
    own.put("1").wait().unwrap();
    far.put("1").wait().unwrap();
    for _ in 0..2 {
        assert!(one.recv_timeout(LONG).unwrap().is_some());
    }
    let two = first.declare_subscriber("demo/a").wait().unwrap();
    own.put("2").wait().unwrap();
    assert!(two.try_recv().unwrap().is_some());
    far.put("2").wait().unwrap();
    assert!(two.recv_timeout(LONG).unwrap().is_some());
}

/// A put that matches no subscriber returns so, on each way a put can take, and is counted.
#[test]
fn a_put_to_nobody_says_that_there_is_no_subscriber() {
    let session = alone();
    let nobody = Ok(Outcome::NoSubscriber);
    assert_eq!(session.put("nobody/here", "x").outcome().wait(), nobody);
    assert_eq!(session.delete("nobody/here").outcome().wait(), nobody);
    assert_eq!(session.put("nobody/here", "x").try_publish(), nobody);
    let publisher = session.declare_publisher("nobody/here").wait().unwrap();
    for _ in 0..2 {
        assert_eq!(publisher.put("x").outcome().wait(), nobody);
        assert_eq!(publisher.put("x").try_publish(), nobody);
        assert_eq!(publisher.put("x").attachment("y").outcome().wait(), nobody);
        let later = async { publisher.put("x").outcome().await };
        assert_eq!(async_io::block_on(later), nobody);
        let blocking = publisher.put("x").timeout(LONG);
        assert_eq!(
            async_io::block_on(async { blocking.outcome().await }),
            nobody
        );
    }
    let counts = publisher.counters();
    assert_eq!(
        (counts.offered, counts.no_subscriber, counts.sent),
        (10, 10, 0)
    );
    assert_eq!(counts.undecided(), 0);
    let _subscriber = session.declare_subscriber("nobody/*").wait().unwrap();
    assert_eq!(publisher.put("x").outcome().wait(), Ok(Outcome::Sent));
}
