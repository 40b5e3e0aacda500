// SPDX-License-Identifier: MIT OR Apache-2.0

//! `Duration::MAX` is a timeout like any other: it means for ever, and overflows nowhere.

use std::sync::mpsc;
use std::time::Duration;

use crate::pair::{LONG, pair, until_matched};
use zonda::bytes::ZBytes;
use zonda::handlers::{FifoChannel, Overflow, RingChannel};
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};

const FOR_EVER: Duration = Duration::MAX;

/// Returns more than a queue and a socket hold, so that the second put finds no room.
fn large() -> ZBytes {
    ZBytes::from(vec![0; 8 << 20])
}

/// Opens two sessions, the second of which reads nothing from `demo` before the returned sender
/// sends or is dropped.
fn stopped() -> (Session, Session, mpsc::Sender<()>) {
    let (a, b) = pair();
    let (go, waits) = mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    b.declare_subscriber("demo")
        .callback(move |_| {
            // ends with an error when the sender is gone
            let _ = waits.lock().unwrap().recv();
        })
        .background()
        .wait()
        .unwrap();
    let publisher = a.declare_publisher("demo").wait().unwrap();
    until_matched(&publisher);
    drop(publisher);
    (a, b, go)
}

/// Runs a test that waits for ever where it fails.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, told) = mpsc::channel();
    std::thread::spawn(move || {
        test();
        // the receiver is gone if the message came too late
        let _ = done.send(());
    });
    assert_eq!(told.recv_timeout(LONG), Ok(()));
}

/// Publishes until there is no room, and then once more without a timeout, while the peer reads
/// again.
#[test]
fn a_put_may_wait_for_ever() {
    let (a, _b, go) = stopped();
    let block = CongestionControl::Block;
    let full = Duration::from_millis(100);
    let put = |limit| {
        let put = a.put("demo", large()).congestion_control(block);
        put.timeout(limit).wait()
    };
    while put(full).is_ok() {}
    std::thread::scope(|scope| {
        let patient = scope.spawn(|| {
            let deleted = a.delete("demo").congestion_control(block);
            let deleted = deleted.timeout(FOR_EVER).wait();
            (put(FOR_EVER), deleted)
        });
        drop(go);
        let (put, deleted) = patient.join().expect("no panic");
        assert!(put.is_ok() && deleted.is_ok(), "{put:?} {deleted:?}");
    });
    assert!(a.close().timeout(FOR_EVER).wait().is_ok());
}

#[tokio::test]
async fn an_awaited_put_may_wait_for_ever() {
    let (a, _b, go) = stopped();
    let publisher = a
        .declare_publisher("demo")
        .congestion_control(CongestionControl::Block)
        .await
        .unwrap();
    let full = Duration::from_millis(100);
    while publisher.put(large()).timeout(full).await.is_ok() {}
    let release = async {
        tokio::time::sleep(full).await;
        drop(go);
    };
    let (put, ()) = tokio::join!(
        async { publisher.put(large()).timeout(FOR_EVER).await },
        release
    );
    assert!(put.is_ok(), "{put:?}");
    assert!(a.close().timeout(FOR_EVER).await.is_ok());
}

#[test]
fn questions_and_answers_may_take_for_ever() {
    in_time(|| {
        let (a, b) = pair();
        let token = b.liveliness().declare_token("alive").wait().unwrap();
        b.declare_queryable("demo")
            .callback(|query| {
                let reply = query.reply("demo", "yes");
                reply.timeout(FOR_EVER).wait().unwrap();
            })
            .background()
            .wait()
            .unwrap();
        let querier = a.declare_querier("demo").timeout(FOR_EVER).wait().unwrap();
        crate::pair::until("the queryable is known", || {
            let status = querier.matching_status().wait().unwrap();
            status.matching()
        });
        let replies = [
            a.get("demo").timeout(FOR_EVER).wait().unwrap(),
            querier.get().wait().unwrap(),
            a.liveliness()
                .get("alive")
                .timeout(FOR_EVER)
                .wait()
                .unwrap(),
        ];
        for replies in replies {
            assert!(replies.recv_timeout(FOR_EVER).unwrap().is_some());
        }
        drop(token);
    });
}

#[test]
fn reading_a_queue_may_wait_for_ever() {
    in_time(|| {
        let (a, b) = pair();
        let patient = FifoChannel::new(1).overflow(Overflow::WaitAtMost(FOR_EVER));
        let fifo = b.declare_subscriber("demo").with(patient).wait().unwrap();
        let ring = b
            .declare_subscriber("demo")
            .with(RingChannel::new(1))
            .wait()
            .unwrap();
        let publisher = a.declare_publisher("demo").wait().unwrap();
        until_matched(&publisher);
        for _ in 0..3 {
            publisher.put("x").wait().unwrap();
            assert!(ring.recv_timeout(FOR_EVER).unwrap().is_some());
            assert!(fifo.recv_timeout(FOR_EVER).unwrap().is_some());
        }
        assert!(ring.recv_timeout(LONG / 1000).unwrap().is_none());
    });
}
