// SPDX-License-Identifier: MIT OR Apache-2.0

//! A peer whose callback never returns: puts return the truth, and close keeps its deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::pair::{LONG, blocking, pair, until, until_matched};
use bytes::Bytes;
use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda::qos::{CongestionControl, Priority};
use zonda::{CloseError, Operation, Outcome, PublishError, Session, Wait};

/// Opens two peers; the second's callback on `demo` waits until the sender is dropped.
fn stuck() -> (Session, Session, mpsc::Sender<()>) {
    let (a, b) = pair();
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    b.declare_subscriber("demo")
        .callback(move |_| {
            // Ends with an error when the sender goes.
            let _ = held.lock().unwrap().recv();
        })
        .background()
        .wait()
        .unwrap();
    (a, b, release)
}

/// Declares a publisher to the stuck peer, and puts until nothing moves any more.
fn stuffed<'a>(a: &Session, payload: &ZBytes) -> Publisher<'a> {
    let publisher = a
        .declare_publisher("demo")
        .congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().unwrap();
    until_matched(&publisher);
    let begin = Instant::now();
    while publisher.put(payload).timeout(LIMIT).wait().is_ok() {
        assert!(begin.elapsed() < LONG, "never full");
    }
    publisher
}

/// Short for a test, long for a loopback socket.
const LIMIT: Duration = Duration::from_millis(200);

#[test]
fn puts_to_a_stuck_peer_tell_the_truth_and_name_it() {
    let (a, b, release) = stuck();
    let payload = ZBytes::from(vec![0; 1 << 20]);
    let blocking = stuffed(&a, &payload);
    let peer = b.zid();

    let begin = Instant::now();
    let refused = blocking.put(&payload).timeout(LIMIT).typed().wait();
    assert_eq!(refused, Err(PublishError::Timeout { peer, after: LIMIT }));
    assert!(begin.elapsed() >= LIMIT && begin.elapsed() < LONG / 4);
    assert_eq!(
        blocking.try_put(&payload),
        Err(PublishError::WouldBlock { peer })
    );

    let dropping = a.declare_publisher("demo").wait().unwrap();
    assert_eq!(
        dropping.put(&payload).outcome().wait(),
        Ok(Outcome::Dropped { peer })
    );
    assert_eq!(
        dropping.try_put(&payload),
        Err(PublishError::Dropped { peer })
    );
    assert_eq!(
        a.put("demo", &payload).outcome().wait(),
        Ok(Outcome::Dropped { peer })
    );
    drop(release);
}

#[tokio::test]
async fn an_awaited_put_keeps_its_limit_without_holding_the_thread() {
    let (a, b, release) = stuck();
    let payload = ZBytes::from(vec![0; 1 << 20]);
    let publisher = stuffed(&a, &payload);
    let expected = Err(PublishError::Timeout {
        peer: b.zid(),
        after: LIMIT,
    });
    let ticks = async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        biased;
        _ = ticks => unreachable!("it never ends"),
        refused = publisher.put(&payload).timeout(LIMIT).typed() => assert_eq!(refused, expected),
    }
    let control = CongestionControl::Block;
    let refused = a
        .put("demo", &payload)
        .congestion_control(control)
        .timeout(LIMIT)
        .typed()
        .await;
    assert_eq!(refused, expected);
    drop(release);
}

/// Awaited puts that find room take the fast path, the other ones wait by waker: between them no
/// message is lost, doubled or overtaken.
#[tokio::test]
async fn awaited_puts_to_a_slow_peer_arrive_once_each_in_their_order() {
    const MESSAGES: u32 = 400;
    let (a, b) = pair();
    let (arrived, arrivals) = mpsc::channel();
    b.declare_subscriber("demo")
        .callback(move |sample| {
            let number: [u8; 4] = sample.payload().to_bytes()[..4].try_into().unwrap();
            let number = u32::from_le_bytes(number);
            // The queue of the publisher is full in between.
            if number.is_multiple_of(100) {
                std::thread::sleep(LIMIT);
            }
            arrived.send(number).unwrap();
        })
        .background()
        .wait()
        .unwrap();
    let publisher = a
        .declare_publisher("demo")
        .congestion_control(CongestionControl::Block)
        .await
        .unwrap();
    until_matched(&publisher);
    let begin = Instant::now();
    for number in 0..MESSAGES {
        let mut payload = vec![0; 100_000];
        payload[..4].copy_from_slice(&number.to_le_bytes());
        publisher.put(payload).await.unwrap();
    }
    assert!(begin.elapsed() > 2 * LIMIT, "none had to wait");
    for number in 0..MESSAGES {
        assert_eq!(arrivals.recv_timeout(LONG), Ok(number));
    }
    assert!(arrivals.try_recv().is_err());
}

#[test]
fn close_keeps_its_deadline_in_front_of_a_stuck_peer() {
    let (a, _b, release) = stuck();
    let payload = ZBytes::from(vec![0; 1 << 20]);
    let _publisher = stuffed(&a, &payload);
    let begin = Instant::now();
    let result = a.close().timeout(LIMIT).wait();
    assert!(begin.elapsed() < LIMIT * 10, "took {:?}", begin.elapsed());
    assert!(
        result.is_err(),
        "the unsent messages were lost, which must be told"
    );
    assert!(a.is_closed());
    drop(release);
}

/// Owner of a payload; it publishes when its last reference is dropped.
struct Publishing {
    session: Session,
    bytes: Vec<u8>,
    done: mpsc::Sender<bool>,
}

impl AsRef<[u8]> for Publishing {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        let more = vec![0; 1 << 20];
        // more than any queue and socket holds, so it has to wait for room
        let taken = (0..16).all(|_| {
            let put = self.session.put("demo", &more);
            let put = put.congestion_control(CongestionControl::Block);
            put.timeout(LONG).wait().is_ok()
        });
        // the receiver is gone where the test has failed
        let _ = self.done.send(taken);
    }
}

/// The task that writes when the peer reads again drops the last reference. It once did so with the
/// right to write locked, and the owner waited for its own thread.
#[test]
fn the_owner_of_a_payload_may_publish_when_it_is_out() {
    let (a, _b, release) = stuck();
    let filling = ZBytes::from(vec![0; 1 << 20]);
    let _publisher = stuffed(&a, &filling);
    let (done, told) = mpsc::channel();
    let owner = Publishing {
        session: a.clone(),
        bytes: vec![1; 1 << 16],
        done,
    };
    let payload = ZBytes::from(Bytes::from_owner(owner));
    let put = a.put("demo", payload).priority(Priority::RealTime);
    assert_eq!(put.outcome().wait(), Ok(Outcome::Queued));
    drop(release);
    assert_eq!(told.recv_timeout(LONG), Ok(true));
}

/// Declares a subscriber in `b` whose first message takes it that long, and returns the count of
/// its messages.
fn dozing(b: &Session, first: Duration) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&received);
    b.declare_subscriber("demo")
        .callback(move |_| {
            if seen.fetch_add(1, Ordering::SeqCst) == 0 {
                std::thread::sleep(first);
            }
        })
        .background()
        .wait()
        .unwrap();
    received
}

/// Counts the messages that are accepted until there is no room.
fn accepted(a: &Session, payload: &ZBytes) -> u64 {
    let publisher = blocking(a);
    let mut count = 0;
    while publisher.put(payload).timeout(LIMIT).wait().is_ok() {
        count += 1;
        assert!(count < 10_000, "never full");
    }
    count
}

/// The reader needs three seconds, more than the limit of a link that is closed without a deadline.
#[test]
fn a_close_gives_a_slow_peer_the_time_it_promises() {
    let (a, b) = pair();
    let received = dozing(&b, Duration::from_secs(3));
    let count = accepted(&a, &ZBytes::from(vec![0; 1 << 18]));
    assert_eq!(a.close().typed().wait(), Ok(()));
    until("all of it arrives", || {
        received.load(Ordering::SeqCst) == count
    });
}

/// The deadline is longer than the limit of a link that is closed without one, and the reader
/// slower.
#[test]
fn a_close_says_what_is_lost_and_for_whom() {
    let (a, b, release) = stuck();
    let count = accepted(&a, &ZBytes::from(vec![0; 1 << 18]));
    let limit = Duration::from_millis(1500);
    let begin = Instant::now();
    let Err(CloseError::Timeout { lost, after }) = a.close().timeout(limit).typed().wait() else {
        panic!("nothing was lost");
    };
    assert!(begin.elapsed() >= limit && begin.elapsed() < LONG / 4);
    assert_eq!((lost.len(), after), (1, limit));
    let lost = lost[0];
    assert_eq!(lost.peer, b.zid());
    assert!(lost.messages > 0 && lost.messages <= count, "{lost:?}");
    assert!(lost.bytes > (lost.messages - 1) << 18, "{lost:?}");
    until("the link is counted", || a.info().ended_links().links == 1);
    assert_eq!(a.info().ended_links().lost(), lost.messages);
    drop(release);
}
