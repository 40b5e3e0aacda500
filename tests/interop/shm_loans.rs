// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads that lie in shared memory, between nodes of the reference and ours: none is copied, all arrive, and all come
//! home to their owner, also from a receiver that was killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use zonda::{Session, Wait};

use crate::environment;
use crate::party::Setup;
use crate::positions::has_reference;
use crate::router::Router;

const COUNT: u32 = 1000;
const SIZE: usize = 5000;

/// Opens a client of the reference.
const OPEN: &str = "
import json, sys, time, zenoh, zenoh.shm
endpoint, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
config = zenoh.Config()
config.insert_json5('mode', '\"client\"')
config.insert_json5('connect/endpoints', json.dumps([endpoint]))
config.insert_json5('scouting/multicast/enabled', 'false')
config.insert_json5('transport/shared_memory/transport_optimization/enabled', 'false')
session = zenoh.open(config)
";

/// Publishes loans from a pool that has room for a few, and tells how many it has room for before and after.
const PUBLISH: &str = "
publisher = session.declare_publisher('shm/t', congestion_control=zenoh.CongestionControl.BLOCK)
while not publisher.matching_status.matching: time.sleep(.01)
pool = zenoh.shm.ShmProvider.default_backend(65536)
def room():
    loans = []
    try:
        while True: loans.append(pool.alloc(size, zenoh.shm.GarbageCollect()))
    except Exception:
        return len(loans)
before = room()
end = time.time() + 30
for number in range(count):
    while True:
        try:
            loan = pool.alloc(size, zenoh.shm.GarbageCollect())
            break
        except Exception:
            if time.time() > end: sys.exit('stuck at %d' % number)
            time.sleep(.001)
    loan[:] = number.to_bytes(4, 'little') + bytes([number & 255]) * (size - 4)
    publisher.put(loan)
    del loan
end = time.time() + 10
after = room()
while after < before and time.time() < end:
    time.sleep(.05)
    after = room()
print(json.dumps({'before': before, 'after': after}), flush=True)
sys.stdin.read()
";

/// Counts what it gets, and how much of it lies in shared memory.
const SUBSCRIBE: &str = "
got = {'all': 0, 'shared': 0, 'wrong': 0}
def hear(sample):
    payload = bytes(sample.payload.to_bytes())
    number = int.from_bytes(payload[:4], 'little')
    got['shared'] += sample.payload.as_shm() is not None
    got['wrong'] += payload[4:] != bytes([number & 255]) * (size - 4)
    got['all'] += 1
subscriber = session.declare_subscriber('shm/t', hear)
print(json.dumps('ready'), flush=True)
end = time.time() + 60
while got['all'] < count and time.time() < end: time.sleep(.01)
print(json.dumps(got), flush=True)
sys.stdin.read()
";

/// Keeps what it gets.
const HOLD: &str = "
kept = []
subscriber = session.declare_subscriber('shm/t', kept.append)
print(json.dumps('ready'), flush=True)
while len(kept) < count or not all(k.payload.as_shm() for k in kept): time.sleep(.01)
print(json.dumps('held'), flush=True)
sys.stdin.read()
";

/// Process of the reference. Dropping it kills it.
struct Reference {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Reference {
    fn start(script: &str, endpoint: &str, count: u32) -> Reference {
        let python = environment::python().expect("it was looked for");
        let mut child = Command::new(python)
            .args(["-c", &format!("{OPEN}{script}")])
            .args([endpoint, &count.to_string(), &SIZE.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the reference starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Reference { child, lines }
    }

    /// Returns its next line.
    fn told(&mut self) -> Value {
        let line = self.lines.next().expect("it tells").expect("text");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn client(router: &Router) -> Session {
    Setup::client(&router.endpoint).ours()
}

fn payload(number: u32) -> Vec<u8> {
    let mut payload = vec![number as u8; SIZE];
    payload[..4].copy_from_slice(&number.to_le_bytes());
    payload
}

#[test]
fn two_nodes_of_the_reference_share_through_our_router() {
    if has_reference() {
        let router = Router::process();
        let mut to = Reference::start(SUBSCRIBE, &router.endpoint, COUNT);
        assert_eq!(to.told(), "ready");
        let mut from = Reference::start(PUBLISH, &router.endpoint, COUNT);
        let got = to.told();
        assert_eq!(
            (&got["all"], &got["shared"], &got["wrong"]),
            (&COUNT.into(), &COUNT.into(), &0.into())
        );
        let room = from.told();
        assert_eq!(room["before"], room["after"], "{room}");
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn loans_of_the_reference_arrive_where_they_lie() {
    if has_reference() {
        let router = Router::process();
        let session = client(&router);
        let subscriber = session
            .declare_subscriber("shm/t")
            .wait()
            .expect("it opens");
        let mut from = Reference::start(PUBLISH, &router.endpoint, COUNT);
        for number in 0..COUNT {
            let sample = subscriber.recv().expect("it arrives");
            assert!(sample.payload().is_shm(), "{number}");
            assert_eq!(sample.payload().to_bytes(), payload(number));
        }
        let room = from.told();
        assert_eq!(room["before"], room["after"], "{room}");
    }
}

#[test]
fn our_loans_arrive_at_the_reference_where_they_lie() {
    if has_reference() {
        let router = Router::process();
        let session = client(&router);
        let publisher = session.declare_publisher("shm/t");
        let publisher = publisher.congestion_control(zonda::qos::CongestionControl::Block);
        let publisher = publisher.wait().expect("it opens");
        let mut to = Reference::start(SUBSCRIBE, &router.endpoint, COUNT);
        assert_eq!(to.told(), "ready");
        wait("the subscription", || {
            publisher
                .matching_status()
                .wait()
                .expect("it is asked")
                .matching()
        });
        let provider = session.shm_provider(65536).expect("memory");
        for number in 0..COUNT {
            let mut lent = None;
            wait("room", || {
                lent = provider.loan(SIZE).ok();
                lent.is_some()
            });
            let mut loan = lent.expect("room");
            loan.copy_from_slice(&payload(number));
            publisher.put(loan).wait().expect("it is sent");
        }
        let got = to.told();
        assert_eq!(
            (&got["all"], &got["shared"], &got["wrong"]),
            (&COUNT.into(), &COUNT.into(), &0.into())
        );
        wait("all come home", || provider.lent() == 0);
    }
}

#[test]
fn a_killed_holder_gives_back_within_a_second() {
    if has_reference() {
        let router = Router::process();
        let session = client(&router);
        let publisher = session.declare_publisher("shm/t").wait().expect("it opens");
        let mut to = Reference::start(HOLD, &router.endpoint, 8);
        assert_eq!(to.told(), "ready");
        wait("the subscription", || {
            publisher
                .matching_status()
                .wait()
                .expect("it is asked")
                .matching()
        });
        let provider = session.shm_provider(65536).expect("memory");
        for number in 0..8 {
            let mut loan = provider.loan(SIZE).expect("room");
            loan.copy_from_slice(&payload(number));
            publisher.put(loan).wait().expect("it is sent");
        }
        assert_eq!(to.told(), "held");
        // The holder confirms what it keeps.
        std::thread::sleep(Duration::from_secs(2));
        assert_eq!(provider.lent(), 8);
        drop(to);
        let start = Instant::now();
        wait("all come home", || provider.lent() == 0);
        assert!(
            start.elapsed() <= Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
    }
}

fn wait(what: &str, mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
