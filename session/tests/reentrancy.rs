// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks may call anything of their session, locally and on the receiving task, and a faulty
//! one harms only itself.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::callbacks::{Slot, counter, empty, here_and_remote};
use crate::pair::{LONG, alone, pair, until};
use zonda::handlers::CallbackDrop;
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda::{Session, Wait};

/// Publishes until `done`.
fn publish_until(session: &Session, what: &str, done: impl Fn() -> bool) {
    until(what, || {
        // A case may close the publishing session too.
        let _ = session
            .put("case", "x")
            .congestion_control(CongestionControl::Block)
            .wait();
        done()
    });
}

#[test]
fn a_callback_may_undeclare_itself() {
    here_and_remote(|publishing, subscribing| {
        let slot = Slot::<Subscriber<()>>::default();
        let (count, in_callback) = counter();
        let own = slot.clone();
        let subscriber = subscribing.declare_subscriber("case").callback(move |_| {
            if empty(&own) {
                in_callback.fetch_add(1, Ordering::SeqCst);
            }
        });
        *slot.lock().unwrap() = Some(subscriber.wait().unwrap());
        publish_until(publishing, "it undeclared itself", || {
            count.load(Ordering::SeqCst) == 1
        });
        until("its closure is dropped", || Arc::strong_count(&count) == 1);
    });
}

#[test]
fn a_callback_may_undeclare_another() {
    here_and_remote(|publishing, subscribing| {
        let (count, in_other) = counter();
        let other = subscribing.declare_subscriber("case").callback(move |_| {
            in_other.fetch_add(1, Ordering::SeqCst);
        });
        let slot: Slot<Subscriber<()>> = Arc::new(Mutex::new(Some(other.wait().unwrap())));
        let victim = slot.clone();
        let killer = subscribing.declare_subscriber("case").callback(move |_| {
            empty(&victim);
        });
        let _killer = killer.wait().unwrap();
        let gone = || slot.lock().unwrap().is_none() && Arc::strong_count(&count) == 1;
        publish_until(publishing, "the other one is gone", gone);
    });
}

#[test]
fn a_callback_may_declare_and_publish() {
    here_and_remote(|publishing, subscribing| {
        let (count, in_inner) = counter();
        let inner: Arc<Mutex<Vec<Subscriber<()>>>> = Arc::default();
        let (session, keep) = (subscribing.clone(), inner.clone());
        let outer = subscribing.declare_subscriber("case").callback(move |_| {
            let count = in_inner.clone();
            let declared = session.declare_subscriber("inner").callback(move |_| {
                count.fetch_add(1, Ordering::SeqCst);
            });
            let subscriber = declared.wait().unwrap();
            session
                .declare_publisher("inner")
                .wait()
                .unwrap()
                .put("y")
                .wait()
                .unwrap();
            session.put("inner", "z").wait().unwrap();
            let older = std::mem::replace(&mut *keep.lock().unwrap(), vec![subscriber]);
            drop(older);
        });
        let outer = outer.wait().unwrap();
        publish_until(publishing, "the inner one is called", || {
            count.load(Ordering::SeqCst) >= 2
        });
        assert_eq!(outer.panics(), 0);
        drop(outer);
        drop(std::mem::take(&mut *inner.lock().unwrap()));
    });
}

#[test]
fn a_callback_may_publish_on_its_own_key() {
    let session = alone();
    let (count, in_callback) = counter();
    let own = session.clone();
    let echo = session.declare_subscriber("case").callback(move |_| {
        if in_callback.fetch_add(1, Ordering::SeqCst) < 5 {
            own.put("case", "again").wait().unwrap();
        }
    });
    let _echo = echo.wait().unwrap();
    session.put("case", "x").wait().unwrap();
    until("each put called it once", || {
        count.load(Ordering::SeqCst) == 6
    });
}

#[test]
fn a_callback_may_close_its_session() {
    here_and_remote(|publishing, subscribing| {
        let (count, in_callback) = counter();
        let own = subscribing.clone();
        let begin = Instant::now();
        let closer = subscribing.declare_subscriber("case").callback(move |_| {
            // The result depends on whether this callback itself counts as unfinished business.
            let _ = own.close().timeout(Duration::from_millis(500)).wait();
            in_callback.fetch_add(1, Ordering::SeqCst);
        });
        let closer = closer.wait().unwrap();
        publish_until(publishing, "the close returned", || {
            count.load(Ordering::SeqCst) >= 1
        });
        assert!(subscribing.is_closed() && begin.elapsed() < LONG / 2);
        assert_eq!(closer.panics(), 0);
    });
}

#[test]
fn a_callback_may_drop_the_last_clone_of_its_session() {
    let (publishing, subscribing) = pair();
    let last = Arc::new(Mutex::new(Some(subscribing.clone())));
    let in_callback = last.clone();
    let subscriber = subscribing.declare_subscriber("case").callback(move |_| {
        let session = in_callback.lock().unwrap().take();
        drop(session);
    });
    let subscriber = subscriber.wait().unwrap();
    drop(subscribing);
    publish_until(&publishing, "it let go", || last.lock().unwrap().is_none());
    until("the session closed", || {
        publishing.info().links().is_empty()
    });
    assert_eq!(subscriber.panics(), 0);
}

#[test]
fn a_panic_costs_only_the_sample_it_happens_on() {
    here_and_remote(|publishing, subscribing| {
        let bad = subscribing
            .declare_subscriber("case")
            .callback(|sample: Sample| {
                if sample.payload() == &"bad".into() {
                    panic!("a bad callback (this panic belongs to the test)");
                }
            });
        let bad = bad.wait().unwrap();
        let good = subscribing.declare_subscriber("case").wait().unwrap();
        publish_until(publishing, "the good one is served", || !good.is_empty());
        while good.try_recv().unwrap().is_some() {}
        publishing
            .put("case", "bad")
            .congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
        publishing
            .put("case", "end")
            .congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
        until("the last one arrives", || {
            good.try_recv()
                .unwrap()
                .is_some_and(|s| s.payload() == &"end".into())
        });
        until("the panic is counted", || bad.panics() == 1);
        assert!(!subscribing.is_closed());
    });
}

#[test]
fn a_closure_may_use_the_session_while_it_is_dropped() {
    here_and_remote(|publishing, subscribing| {
        let heard = subscribing.declare_subscriber("farewell").wait().unwrap();
        let (own, other) = (
            subscribing.clone(),
            subscribing.declare_subscriber("x").wait().unwrap(),
        );
        let mut other = Some(other);
        let handler = CallbackDrop {
            callback: |_: Sample| {},
            drop: move || {
                drop(other.take());
                own.put("farewell", "bye").wait().unwrap();
            },
        };
        let subscriber = subscribing
            .declare_subscriber("case")
            .with(handler)
            .wait()
            .unwrap();
        publishing.put("case", "x").wait().unwrap();
        drop(subscriber);
        assert!(heard.recv_timeout(LONG).unwrap().is_some());
    });
}
