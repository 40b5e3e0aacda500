// SPDX-License-Identifier: MIT OR Apache-2.0

//! A router waits for a slow subscriber as long as no other node waits because of that; next to
//! another subscriber it has its stall budget, and is cut off.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::pair::{LONG, blocking, connected_to, until};
use zonda::bytes::ZBytes;
use zonda::{Config, Session, Wait};

const STALL_MS: u64 = 100;

/// Opens a router that waits shortly for a slow neighbour and parks little for it.
fn router() -> Session {
    let config = Config::router()
        .listen(["tcp/127.0.0.1:0#so_sndbuf=65536"])
        .with("isolation/stall_ms", &STALL_MS.to_string())
        .with("isolation/backlog_bytes", "65536");
    zonda::open(config).wait().unwrap()
}

fn client(router: &Session) -> Session {
    connected_to(router, Config::client([] as [&str; 0]))
}

/// Counts the messages that a session gets on `demo`.
fn counted(session: &Session) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&received);
    let callback = move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let subscriber = session.declare_subscriber("demo").callback(callback);
    subscriber.background().wait().unwrap();
    received
}

/// Counts the messages of a subscriber that stops at its first one until the sender is dropped.
fn stopped(session: &Session) -> (Arc<AtomicU64>, mpsc::Sender<()>) {
    let received = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&received);
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let callback = move |_| {
        // ends with an error when the sender goes
        let _ = held.lock().unwrap().recv();
        count.fetch_add(1, Ordering::SeqCst);
    };
    let subscriber = session.declare_subscriber("demo").callback(callback);
    subscriber.background().wait().unwrap();
    (received, release)
}

/// Publishes so many messages on a thread; returns the count of published ones.
fn publish(session: &Session, messages: u64) -> (Arc<AtomicU64>, JoinHandle<()>) {
    let publisher = blocking(session);
    let done = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&done);
    let payload = ZBytes::from(vec![0; 1 << 14]);
    let thread = thread::spawn(move || {
        for _ in 0..messages {
            publisher.put(&payload).timeout(LONG).wait().unwrap();
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (done, thread)
}

/// Waits until the source has stood still for ten times the stall budget of a neighbour next to
/// other ones.
fn until_it_stands_still(published: &AtomicU64) {
    let (mut last, mut since) = (0, Instant::now());
    until("the source waits", || {
        let now = published.load(Ordering::SeqCst);
        if now != last {
            (last, since) = (now, Instant::now());
        }
        since.elapsed() >= 10 * Duration::from_millis(STALL_MS)
    });
}

fn slow_consumers(router: &Session) -> u64 {
    let metrics = router.info().metrics();
    let found = metrics
        .iter()
        .find(|sample| sample.metric().name == "zonda_slow_consumers");
    found.expect("it is counted").value()
}

const MESSAGES: u64 = 4000;

#[test]
fn alone_it_gets_everything() {
    let router = router();
    let (source, sink, idle) = (client(&router), client(&router), client(&router));
    let (received, release) = stopped(&sink);
    let (published, publishing) = publish(&source, MESSAGES);
    until_it_stands_still(&published);
    assert!(
        published.load(Ordering::SeqCst) < MESSAGES,
        "it waits for room"
    );
    drop(release);
    publishing.join().unwrap();
    until("all arrives", || {
        received.load(Ordering::SeqCst) == MESSAGES
    });
    assert_eq!(slow_consumers(&router), 0);
    drop((idle, sink));
}

#[test]
fn beside_another_subscriber_it_is_cut_off_in_time() {
    let router = router();
    let (source, sink, other) = (client(&router), client(&router), client(&router));
    let (_, release) = stopped(&sink);
    let got = counted(&other);
    let (_, publishing) = publish(&source, MESSAGES);
    publishing.join().unwrap();
    until("all arrives", || got.load(Ordering::SeqCst) == MESSAGES);
    assert!(slow_consumers(&router) > 0);
    drop(release);
}

/// The wait began when no other node existed; once one does, the budget counts.
#[test]
fn a_subscriber_that_comes_meanwhile_ends_the_patience() {
    let router = router();
    let (source, sink) = (client(&router), client(&router));
    let (_, release) = stopped(&sink);
    let (published, publishing) = publish(&source, MESSAGES);
    until_it_stands_still(&published);
    assert_eq!(slow_consumers(&router), 0);
    let other = client(&router);
    let got = counted(&other);
    publishing.join().unwrap();
    until("the newcomer is served", || got.load(Ordering::SeqCst) > 0);
    assert!(slow_consumers(&router) > 0);
    drop(release);
}
