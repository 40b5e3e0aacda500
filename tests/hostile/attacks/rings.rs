// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routers in a ring whose links are all full: each waits for the next one, and the last one for
//! the first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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

/// The messages of one publisher that a subscriber has received. The ring closes while they flow:
/// those along the trees of the ring overtake those that wait on the full links of the line.
#[derive(Default)]
struct Flow {
    received: AtomicU64,
    came: Mutex<Came>,
}

#[derive(Default)]
struct Came {
    /// True for the numbers that have come.
    numbers: Vec<bool>,
    /// Number of messages that came again.
    doubled: u64,
    /// Number of messages that came after a later one.
    late: u64,
}

impl Came {
    fn note(&mut self, number: usize) {
        self.late += u64::from(number < self.numbers.len());
        self.numbers
            .resize(self.numbers.len().max(number + 1), false);
        let again = std::mem::replace(&mut self.numbers[number], true);
        self.doubled += u64::from(again);
    }

    /// Returns the number of missing messages among those that were sent. Messages before the first
    /// received one may be lost: the mesh did not know the subscriber yet.
    fn missed(&self, sent: u64) -> u64 {
        let rest = self.numbers.iter().skip_while(|has_come| !**has_come);
        let missing = rest.filter(|has_come| !**has_come).count() as u64;
        missing + sent - self.numbers.len() as u64
    }
}

/// Declares a subscriber that records the received messages.
fn subscribed(session: &Session, key: &str) -> Arc<Flow> {
    let flow = Arc::new(Flow::default());
    let noted = Arc::clone(&flow);
    let count = move |sample: zonda::sample::Sample| {
        let bytes = sample.payload().to_bytes();
        let number = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
        let number = number.expect("eight bytes");
        noted.came.lock().expect("alive").note(number as usize);
        noted.received.fetch_add(1, Ordering::SeqCst);
    };
    let subscriber = session.declare_subscriber(key.to_owned()).callback(count);
    subscriber.background().wait().expect("open");
    flow
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
    let received = |flow: &Arc<Flow>| flow.received.load(Ordering::SeqCst);
    println!(
        "  silence {silence:?}, {} of {} messages by then",
        flows.iter().map(received).sum::<u64>(),
        sent.iter().sum::<u64>(),
    );
    assert_eq!(refused, 0, "messages were refused");
    assert!(silence < LONG / 4, "{silence:?}");
    // Everything comes, once.
    let came = |flow: &Arc<Flow>, sent| {
        let came = flow.came.lock().expect("alive");
        (came.missed(sent), came.doubled, came.late)
    };
    let begin = Instant::now();
    let ends = loop {
        let flows = flows.iter().zip(&sent);
        let ends: Vec<_> = flows.map(|(flow, sent)| came(flow, *sent)).collect();
        if ends.iter().all(|(missed, ..)| *missed == 0) || begin.elapsed() > LONG {
            break ends;
        }
        thread::sleep(Duration::from_millis(10));
    };
    println!("  missed, doubled, late of each flow: {ends:?}");
    let are_whole = ends
        .iter()
        .all(|(missed, doubled, _)| missed + doubled == 0);
    assert!(are_whole, "missed, doubled, late: {ends:?}");
    for router in &routers {
        let mut log = router.errors();
        log.retain(|line| !line.contains(" INFO "));
        assert_eq!(log, [""; 0], "no link was cut");
    }
}
