// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links of one connection that are for different priorities: each message takes the link that is
//! for its priority, a link that is stopped stops no other, and each has a lease of its own.

#![cfg(feature = "multilink")]

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use zonda::handlers::FifoChannelHandler;
use zonda::pubsub::Subscriber;
use zonda::qos::{CongestionControl, Priority};
use zonda::sample::Sample;
use zonda::{Outcome, Session, Wait};

use crate::multilink::{SEVERAL, count, listener, peer, places};
use crate::pair::{LONG, until, until_matched};
use crate::relay::{Passing, Relay};

/// Most bytes of keep-alives and declarations on a link that is not for a message.
const ASIDE: u64 = 5_000;

/// Two sessions with a link for the priorities 1 to 3 and one for 4 to 7.
struct Pair {
    near: Session,
    far: Session,
    urgent: Line,
    rest: Line,
}

/// Relay of one link.
struct Line {
    relay: Relay,
    passing: Arc<Passing>,
}

impl Line {
    fn to(address: &str) -> Line {
        let passing = Arc::default();
        let relay = Relay::with(address, &passing);
        Line { relay, passing }
    }
}

impl Pair {
    fn open(settings: &[(&str, &str)]) -> Pair {
        let settings = [SEVERAL, settings].concat();
        let far = listener(&settings);
        let address = far.info().locators().remove(0).to_string();
        let [urgent, rest] = [0, 1].map(|_| Line::to(&address));
        let endpoints = [
            format!("{}?prio=1-3", urgent.relay.endpoint),
            format!("{}?prio=4-7", rest.relay.endpoint),
        ];
        let config = peer(&settings).listen([] as [&str; 0]).connect(endpoints);
        let pair = Pair {
            near: zonda::open(config).wait().expect("it opens"),
            far,
            urgent,
            rest,
        };
        pair.until_two();
        pair
    }

    fn until_two(&self) {
        until("two links", || {
            count(&self.near) == 2 && count(&self.far) == 2
        });
    }

    /// Returns the bytes that have passed each link.
    fn passed(&self) -> [u64; 2] {
        [self.urgent.passing.bytes(), self.rest.passing.bytes()]
    }

    /// Sends messages of a priority and returns how many bytes passed each link until they came.
    fn cost(&self, flow: &Flow<'_>, number: u8, payload: usize) -> [u64; 2] {
        let before = self.passed();
        flow.send(number, payload);
        let mut after = self.passed();
        for (after, before) in after.iter_mut().zip(before) {
            *after -= before;
        }
        after
    }
}

/// Messages from one session to the other.
struct Flow<'s> {
    from: &'s Session,
    key: &'static str,
    got: Subscriber<FifoChannelHandler<Sample>>,
}

impl<'s> Flow<'s> {
    fn new(from: &'s Session, to: &Session, key: &'static str) -> Flow<'s> {
        let got = to.declare_subscriber(key).wait().expect("open");
        Flow { from, key, got }
    }

    /// Sends three messages of a priority, and waits for them.
    fn send(&self, number: u8, payload: usize) {
        let priority = Priority::try_from(number).expect("a priority");
        let publisher = self.from.declare_publisher(self.key).priority(priority);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().expect("open");
        until_matched(&publisher);
        for _ in 0..3 {
            publisher
                .put(vec![number; payload])
                .wait()
                .expect("it is taken");
        }
        for _ in 0..3 {
            let sample = self.got.recv_timeout(LONG).expect("open");
            let sample = sample.expect("it arrives");
            assert_eq!(sample.priority(), priority);
            assert_eq!(sample.payload().len(), payload);
        }
    }
}

#[test]
fn each_priority_takes_the_link_that_is_for_it() {
    let pair = Pair::open(&[]);
    let there = Flow::new(&pair.near, &pair.far, "divided/there");
    let back = Flow::new(&pair.far, &pair.near, "divided/back");
    for flow in [&there, &back] {
        for number in 1..=7 {
            // whole messages, and one in fragments
            for payload in [10_000, 200_000] {
                let [urgent, rest] = pair.cost(flow, number, payload);
                let (own, other) = match number {
                    ..=3 => (urgent, rest),
                    _ => (rest, urgent),
                };
                let what = format!("{number} of {}: {own} and {other} bytes", flow.key);
                assert!(own >= 3 * payload as u64 && other < ASIDE, "{what}");
            }
        }
    }
    pair.near.close().wait().expect("it closes");
    until("no link is left", || count(&pair.far) == 0);
}

/// A lost link leaves its priorities to the other one, until there are two again.
#[test]
fn the_priorities_of_a_lost_link_take_the_other_one() {
    let pair = Pair::open(&[("transport/link/tx/lease", "2000")]);
    let flow = Flow::new(&pair.near, &pair.far, "divided/lost");
    for round in 0..4 {
        let (line, number, own) = match round % 2 {
            0 => (&pair.urgent, 2, 0),
            _ => (&pair.rest, 5, 1),
        };
        assert!(pair.cost(&flow, number, 10_000)[own] >= 30_000, "{round}");
        line.passing.refuse(true);
        line.relay.cut();
        until("one link", || {
            count(&pair.near) == 1 && count(&pair.far) == 1
        });
        let cost = pair.cost(&flow, number, 10_000);
        assert!(cost[1 - own] >= 30_000 && cost[own] < ASIDE, "{cost:?}");
        line.passing.refuse(false);
        pair.until_two();
        // A priority returns once it has sent nothing for a second.
        until("its own link has it again", || {
            thread::sleep(Duration::from_secs(2));
            pair.cost(&flow, number, 10_000)[own] >= 30_000
        });
    }
    pair.far.close().wait().expect("it closes");
    until("no link is left", || count(&pair.near) == 0);
}

#[test]
fn a_link_that_is_stopped_stops_no_other() {
    let pair = Pair::open(&[]);
    let slow = Flow::new(&pair.near, &pair.far, "divided/slow");
    let quick = Flow::new(&pair.near, &pair.far, "divided/quick");
    slow.send(7, 100);
    pair.rest.passing.pause(true);
    let publisher = pair.near.declare_publisher("divided/slow");
    let publisher = publisher.priority(Priority::Background).wait();
    let publisher = publisher.expect("open");
    // more than the sockets on the way take
    let mut taken = 0;
    for _ in 0..2_000 {
        let outcome = publisher.put(vec![7; 50_000]).outcome().wait();
        taken += usize::from(!matches!(outcome, Ok(Outcome::Dropped { .. })));
    }
    assert!(taken < 2_000, "the link is not stopped");
    let begin = Instant::now();
    for _ in 0..20 {
        quick.send(1, 1_000);
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    // what the link has kept comes once it goes on
    pair.rest.passing.pause(false);
    for _ in 0..taken {
        let sample = slow.got.recv_timeout(LONG).expect("open");
        assert_eq!(sample.expect("it comes").payload().len(), 50_000);
    }
    slow.send(7, 100);
    pair.near.close().wait().expect("it closes");
}

/// Traffic on one link does not replace the keep-alives of the other.
#[test]
fn each_link_has_its_own_keep_alives() {
    let pair = Pair::open(&[("transport/link/tx/lease", "500")]);
    let before = places(&pair.near);
    let flow = Flow::new(&pair.near, &pair.far, "divided/alive");
    let end = Instant::now() + Duration::from_secs(3);
    while Instant::now() < end {
        flow.send(2, 100);
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(places(&pair.near), before);
    assert_eq!(count(&pair.far), 2);
}

/// A link that joins takes over priorities whose messages are under way on the other one.
#[test]
fn a_link_that_joins_loses_no_message() {
    const COUNT: u32 = 40_000;
    for round in 0..4 {
        let pair = Pair::open(&[]);
        let flow = Flow::new(&pair.near, &pair.far, "divided/joins");
        let publisher = pair.near.declare_publisher("divided/joins");
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let publisher = publisher.wait().expect("open");
        until_matched(&publisher);
        // the link of the priority is lost, with nothing under way
        pair.rest.passing.refuse(true);
        pair.rest.relay.cut();
        until("one link", || {
            count(&pair.near) == 1 && count(&pair.far) == 1
        });
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..COUNT {
                    let payload = [&number.to_le_bytes()[..], &[0; 600]].concat();
                    publisher.put(payload).wait().expect("it is taken");
                    if number == COUNT / 8 {
                        pair.rest.passing.refuse(false);
                    }
                }
            });
            let mut missing = 0;
            let mut expected = 0;
            while expected < COUNT {
                let sample = flow.got.recv_timeout(LONG).expect("open");
                let sample =
                    sample.unwrap_or_else(|| panic!("{missing} are missing, then silence"));
                let bytes = sample.payload().to_bytes();
                let number = u32::from_le_bytes(bytes[..4].try_into().expect("four"));
                missing += number - expected;
                expected = number + 1;
            }
            assert_eq!(missing, 0, "round {round}");
        });
        pair.until_two();
    }
}
