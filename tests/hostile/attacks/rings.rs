// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers in a ring whose links are all full: each waits for the next one, and the last one for
//! the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

use crate::scene::{LONG, until};
use crate::world::{Process, Setup};

const ROUTERS: usize = 5;

/// Number of routers that a message passes after its first one: with two, each link carries
/// messages from two routers.
const HOPS: usize = 2;

/// Time without a lost message after which the trees of a new mesh do not change any more.
const REST: Duration = Duration::from_secs(1);

/// Time for which the flows are watched.
const WATCHED: Duration = Duration::from_secs(3);

/// Starts routers, each linked to the next one; returns them with their endpoints.
fn ring() -> (Vec<Process>, Vec<String>) {
    let mut places: Vec<String> = Vec::new();
    let mut routers = Vec::new();
    for number in 0..ROUTERS {
        let first = places.first().filter(|_| number == ROUTERS - 1);
        let to: Vec<&String> = places.last().into_iter().chain(first).collect();
        let setup = Setup::router().with(&format!("connect/endpoints:{to:?}"));
        let (router, port) = setup.start(0);
        places.push(format!("tcp/127.0.0.1:{port}"));
        routers.push(router);
    }
    (routers, places)
}

fn client(place: &str) -> Session {
    let config = Config::client([place]);
    zonda::open(config).wait().expect("the router is there")
}

/// Counts of the messages of one publisher.
#[derive(Default)]
struct Flow {
    received: AtomicU64,
    /// Number of the next message. Messages before the first received one may be lost: the mesh did
    /// not know the subscriber yet.
    next: AtomicU64,
    missed: AtomicU64,
}

/// Declares a subscriber that counts the received and the missing messages.
fn subscribed(session: &Session, key: &str) -> Arc<Flow> {
    let flow = Arc::new(Flow::default());
    let noted = Arc::clone(&flow);
    let count = move |sample: zonda::sample::Sample| {
        let bytes = sample.payload().to_bytes();
        let number = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
        let number = number.expect("eight bytes");
        let next = noted.next.swap(number + 1, Ordering::SeqCst);
        assert!(next <= number, "{number} comes after {next}");
        if noted.received.fetch_add(1, Ordering::SeqCst) > 0 {
            noted.missed.fetch_add(number - next, Ordering::SeqCst);
        }
    };
    let subscriber = session.declare_subscriber(key.to_owned()).callback(count);
    subscriber.background().wait().expect("open");
    flow
}

/// Waits until the routers have their final trees: while these change, messages are lost on links
/// that are not full, too.
fn await_rest(clients: &[Session], readers: &[Session]) {
    let keys: Vec<String> = (0..ROUTERS).map(|at| format!("rest/{at}")).collect();
    let flows: Vec<Arc<Flow>> = (readers.iter().zip(&keys))
        .map(|(reader, key)| subscribed(reader, key))
        .collect();
    let (mut number, mut lost, mut since) = (0_u64, 0, Instant::now());
    until("the mesh is at rest", || {
        for (client, key) in clients.iter().zip(&keys) {
            let put = client.put(key.as_str(), number.to_le_bytes().to_vec());
            put.wait().expect("open");
        }
        number += 1;
        thread::sleep(Duration::from_millis(10));
        // a flow that has stopped has not lost anything yet
        let flow_on = |flow: &Arc<Flow>| flow.next.load(Ordering::SeqCst) + 20 > number;
        let missed = flows.iter().map(|flow| flow.missed.load(Ordering::SeqCst));
        let now = missed.sum();
        if now != lost || !flows.iter().all(flow_on) || number < 20 {
            (lost, since) = (now, Instant::now());
        }
        since.elapsed() > REST
    });
}

/// Guard that ends the floods when it is dropped, also if the test has failed.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Publishes as fast as possible until `over` is set, or a message is refused; returns how many
/// were accepted.
fn flood(session: &Session, key: &str, over: &AtomicBool) -> u64 {
    let publisher = session.declare_publisher(key.to_owned());
    let publisher = publisher.congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().expect("open");
    until("the mesh knows the subscriber", || {
        let status = publisher.matching_status().wait();
        status.expect("open").matching()
    });
    let mut number = 0_u64;
    while !over.load(Ordering::Relaxed) {
        let mut payload = number.to_le_bytes().to_vec();
        payload.resize(8192, 7);
        if let Err(error) = publisher.put(payload).wait() {
            println!("  {key}: {error}");
            break;
        }
        number += 1;
    }
    number
}

/// Returns the longest pause of any of the flows, from the time at which all have begun.
fn longest_silence(flows: &[Arc<Flow>]) -> Duration {
    let count = |flow: &Arc<Flow>| flow.received.load(Ordering::SeqCst);
    until("all flow", || flows.iter().all(|flow| count(flow) > 0));
    let begin = Instant::now();
    let mut last: Vec<(u64, Instant)> = flows.iter().map(|f| (count(f), begin)).collect();
    let mut longest = Duration::ZERO;
    while begin.elapsed() < WATCHED {
        thread::sleep(Duration::from_millis(2));
        for (flow, (seen, since)) in flows.iter().zip(&mut last) {
            longest = longest.max(since.elapsed());
            if count(flow) != *seen {
                (*seen, *since) = (count(flow), Instant::now());
            }
        }
    }
    longest
}

#[test]
fn i8_a_ring_of_full_links() {
    let (routers, places) = ring();
    let clients: Vec<Session> = places.iter().map(|place| client(place)).collect();
    let keys: Vec<String> = (0..ROUTERS).map(|at| format!("ring/{at}")).collect();
    let far = |at: usize| client(&places[(at + HOPS) % ROUTERS]);
    let readers: Vec<Session> = (0..ROUTERS).map(far).collect();
    await_rest(&clients, &readers);
    let flows: Vec<Arc<Flow>> = (readers.iter().zip(&keys))
        .map(|(reader, key)| subscribed(reader, key))
        .collect();
    let over = AtomicBool::new(false);
    let (silence, sent, refused) = thread::scope(|scope| {
        let floods: Vec<_> = (clients.iter().zip(&keys))
            .map(|(client, key)| scope.spawn(|| flood(client, key, &over)))
            .collect();
        let ends = Ends(&over);
        let silence = longest_silence(&flows);
        let refused = floods.iter().filter(|flood| flood.is_finished()).count();
        drop(ends);
        let sent = floods
            .into_iter()
            .map(|flood| flood.join().expect("a flood"));
        (silence, sent.collect::<Vec<u64>>(), refused)
    });
    let sum = |count: fn(&Flow) -> &AtomicU64| {
        let counts = flows.iter().map(|flow| count(flow).load(Ordering::SeqCst));
        counts.sum::<u64>()
    };
    println!(
        "  silence {silence:?}, {} of {} messages by then, {} lost between others",
        sum(|flow| &flow.received),
        sent.iter().sum::<u64>(),
        sum(|flow| &flow.missed),
    );
    assert_eq!(refused, 0, "messages were refused");
    assert!(silence < LONG / 4, "{silence:?}");
    until("all of them have come", || {
        let mut flows = flows.iter().zip(&sent);
        flows.all(|(flow, sent)| flow.next.load(Ordering::SeqCst) == *sent)
    });
    assert_eq!(sum(|flow| &flow.missed), 0);
    for router in &routers {
        let mut log = router.errors();
        log.retain(|line| !line.contains(" INFO "));
        assert_eq!(log, [""; 0], "no link was cut");
    }
}
