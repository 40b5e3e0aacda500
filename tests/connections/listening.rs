// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of listeners: in order and one at a time, never with a lock held, bounded, until the
//! session's end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex};

use zonda::handlers::RingChannel;
use zonda::sample::SampleKind;
use zonda::session::{ConnectionEvent, Loss, LossKind};
use zonda::{Config, Wait};

use crate::scene::{LONG, dialing, endpoint, events, listening, next, until};

#[test]
fn links_that_are_there_come_first() {
    let session = listening(Config::peer());
    let other = dialing(&endpoint(&session));
    until("they are connected", || !session.info().links().is_empty());
    let info = session.info();
    let transports = info
        .transport_events_listener()
        .history(true)
        .wait()
        .expect("open");
    let links = info
        .link_events_listener()
        .history(true)
        .wait()
        .expect("open");
    let later = info.link_events_listener().wait().expect("open");

    let event = transports.recv().expect("an event");
    assert_eq!(event.kind(), SampleKind::Put);
    assert_eq!(*event.transport().zid(), other.zid());
    assert!(event.transport().is_qos() && !event.transport().is_multicast());
    let event = links.recv().expect("an event");
    assert_eq!(
        (event.kind(), *event.link().zid()),
        (SampleKind::Put, other.zid())
    );
    assert_eq!(event.link().src().address(), info.locators()[0].address());
    assert!(event.link().is_streamed() && event.link().mtu() > 0);
    assert_eq!(event.reason(), None);

    let known: Vec<_> = info.transports().wait().map(|t| *t.zid()).collect();
    assert_eq!(known, [other.zid()]);
    other.close().wait().expect("it closes");
    assert_eq!(
        transports.recv().expect("an event").kind(),
        SampleKind::Delete
    );
    assert_eq!(links.recv().expect("an event").kind(), SampleKind::Delete);
    let lost = later.recv().expect("an event");
    assert_eq!(
        lost.reason().map(|loss| loss.kind),
        Some(LossKind::ClosedByPeer(0))
    );
}

#[test]
fn calls_are_in_order_and_one_at_a_time() {
    let session = listening(Config::peer());
    let (told, inside) = (Arc::new(Mutex::new(Vec::new())), AtomicUsize::new(0));
    let log = told.clone();
    let listener = session.info().events_listener().callback(move |event| {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
        log.lock().unwrap().push(event);
        inside.fetch_sub(1, Ordering::SeqCst);
    });
    let listener = listener.wait().expect("open");
    for _ in 0..5 {
        let others: Vec<_> = (0..3).map(|_| dialing(&endpoint(&session))).collect();
        until("all are connected", || session.info().links().len() == 3);
        drop(others);
        until("all are gone", || session.info().links().is_empty());
    }
    until("all is told", || told.lock().unwrap().len() == 30);
    let mut open = Vec::new();
    for event in told.lock().unwrap().iter() {
        match event {
            ConnectionEvent::Connected(link) => open.push(link.zid),
            ConnectionEvent::Lost { link, .. } => {
                let index = open.iter().position(|zid| *zid == link.zid);
                open.swap_remove(index.expect("it was told to be open"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(listener.missed(), 0);
}

#[test]
fn a_listener_may_do_anything() {
    let session = listening(Config::peer());
    let (done, is_done) = channel();
    let own = session.clone();
    let slot = Arc::new(Mutex::new(None));
    let itself = slot.clone();
    let listener = session.info().events_listener().callback(move |event| {
        let ConnectionEvent::Connected(_) = event else {
            return;
        };
        own.put("a", "b").wait().expect("open");
        let subscriber = own.declare_subscriber("a").wait().expect("open");
        drop(own.info().events_listener().wait().expect("open"));
        drop(subscriber);
        drop(itself.lock().unwrap().take());
        own.close().wait().expect("it closes");
        done.send(()).expect("it is waited for");
    });
    *slot.lock().unwrap() = Some(listener.wait().expect("open"));
    let other = dialing(&endpoint(&session));
    is_done.recv_timeout(LONG).expect("it is called");
    assert!(session.is_closed());
    drop(other);
}

#[test]
fn a_panic_costs_one_event() {
    let session = listening(Config::peer());
    let (send, receive) = channel();
    let listener = session.info().events_listener().callback(move |event| {
        send.send(event.name()).expect("it is waited for");
        assert_ne!(event.name(), "connected");
    });
    let listener = listener.wait().expect("open");
    drop(dialing(&endpoint(&session)));
    assert_eq!(receive.recv_timeout(LONG), Ok("connected"));
    assert_eq!(receive.recv_timeout(LONG), Ok("lost"));
    drop(listener);
}

#[test]
fn who_does_not_listen_holds_nobody_up() {
    let session = listening(Config::peer());
    // takes one event, and blocks for ever with the next
    let listener = session.info().events_listener().with(sync_channel(0));
    let listener = listener.wait().expect("open");
    let ring = session
        .info()
        .events_listener()
        .with(RingChannel::new(1))
        .wait()
        .expect("open");
    for _ in 0..3 {
        let other = dialing(&endpoint(&session));
        until("it is connected", || session.info().links().len() == 1);
        drop(other);
        until("it is gone", || session.info().links().is_empty());
    }
    until("the latest is kept", || {
        ring.try_recv()
            .is_ok_and(|event| event.is_some_and(|event| event.name() == "lost"))
    });
    assert_eq!(
        listener.recv_timeout(LONG).expect("an event").name(),
        "connected"
    );
    session.close().wait().expect("it closes");
}

#[test]
fn the_end_of_the_session_is_the_last_to_be_told() {
    let session = listening(Config::peer());
    let events = events(&session);
    let other = dialing(&endpoint(&session));
    next(&events, "connected");
    let (send, receive) = channel();
    let in_background = session
        .info()
        .events_listener()
        .history(true)
        .callback(move |event| {
            // it is dropped at the end
            send.send(event.name()).expect("it is waited for");
        });
    in_background.background().wait().expect("open");
    session.close().wait().expect("it closes");
    let ConnectionEvent::Lost {
        reason: Loss { kind, .. },
        ..
    } = next(&events, "lost")
    else {
        panic!("not a loss");
    };
    assert_eq!(kind, LossKind::ClosedHere);
    until("the queue ends", || events.try_recv().is_err());
    assert_eq!(receive.iter().collect::<Vec<_>>(), ["connected", "lost"]);
    assert!(session.info().events_listener().wait().is_err());
    drop(other);
}
