// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timestamps by routers: they stamp puts that have no timestamp or an impossible one, and nothing
//! else.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::environment;
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::router::Router;
use crate::scene::{self, Scene};

fn put(stamp_shift: Option<f64>) -> Message {
    Message {
        stamp_shift,
        ..Message::put(Pattern::short(1))
    }
}

/// Checks the timestamps by a router between two parties, of either implementation.
fn a_router_stamps(scene: &Scene) {
    let router = scene.router.as_ref().expect("there is one");
    let subscription = scene.to.subscribe("stamping/**");
    let publisher = scene.from.matched_publisher("stamping/x");
    let mut last = 0;
    for _ in 0..20 {
        publisher.publish(&put(None));
        let seen = subscription.next();
        assert_eq!(seen.stamped_by(), Some(&*router.zid));
        let time = ticks(seen.timestamp.as_deref());
        assert!(time > last, "the clock stands still: {time}");
        last = time;
    }
    assert!(seconds_from_now(last).abs() < 10.0);

    for shift in [-3600.0, -1.0, 0.0, 0.2] {
        let receipt = publisher.publish(&put(Some(shift)));
        assert_eq!(
            subscription.next().timestamp,
            receipt.timestamp,
            "{shift} s"
        );
    }
    // the clock has seen 0.2 s from now, and continues from there
    publisher.publish(&put(None));
    let stamp = ticks(subscription.next().timestamp.as_deref());
    assert!(stamp > last && seconds_from_now(stamp) < 1.0);

    for shift in [3600.0, 86_400.0] {
        let receipt = publisher.publish(&put(Some(shift)));
        let seen = subscription.next();
        assert_ne!(seen.timestamp, receipt.timestamp);
        assert_eq!(seen.stamped_by(), Some(&*router.zid));
        let shift = seconds_from_now(ticks(seen.timestamp.as_deref()));
        assert!(shift.abs() < 10.0, "{shift} s from now");
    }

    publisher.publish(&Message::delete());
    assert_eq!(subscription.next().timestamp, None);
    for shift in [-3600.0, 3600.0] {
        let message = Message {
            stamp_shift: Some(shift),
            ..Message::delete()
        };
        let receipt = publisher.publish(&message);
        assert_eq!(
            subscription.next().timestamp,
            receipt.timestamp,
            "{shift} s"
        );
    }
}

/// Returns the time of `<time>/<node>`.
fn ticks(timestamp: Option<&str>) -> u64 {
    let time = timestamp.and_then(|t| t.split('/').next()?.parse().ok());
    time.unwrap_or_else(|| panic!("no time in {timestamp:?}"))
}

fn seconds_from_now(ticks: u64) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    ticks as f64 / 2f64.powi(32) - now.expect("after 1970").as_secs_f64()
}

#[test]
fn our_router_stamps() {
    if environment::python().is_some() {
        a_router_stamps(&scene::theirs_our_router_theirs());
        a_router_stamps(&scene::ours_our_router_theirs());
    }
}

/// The reference's router meets the same expectations, which shows that they are the protocol's and
/// not ours.
#[test]
fn their_router_stamps_alike() {
    if environment::python().is_some() {
        a_router_stamps(&scene::ours_their_router_ours());
    }
}

/// Peers add no timestamps, and pass on even impossible ones.
#[test]
fn peers_stamp_nothing() {
    if environment::python().is_some() {
        for scene in [scene::ours_dials_theirs(), scene::theirs_dials_ours()] {
            let subscription = scene.to.subscribe("stamping/**");
            let publisher = scene.from.matched_publisher("stamping/x");
            for shift in [None, Some(-3600.0), Some(3600.0)] {
                let receipt = publisher.publish(&put(shift));
                assert_eq!(subscription.next().timestamp, receipt.timestamp);
            }
        }
    }
}

/// Publications of a router itself are stamped, deletes too.
#[test]
fn a_router_stamps_its_own() {
    if environment::python().is_some() {
        let router = Router::library();
        let own = Party::Ours(router.session().expect("it is in this process").clone());
        let client = Party::Theirs(Setup::client(&router.endpoint).theirs());
        let subscription = client.subscribe("stamping/own");
        drop(own.matched_publisher("stamping/own"));
        for message in [put(None), Message::delete()] {
            own.publish("stamping/own", Service::BLOCK, &message);
            assert_eq!(subscription.next().stamped_by(), Some(&*router.zid));
        }
    }
}

#[test]
fn our_router_does_not_stamp_when_told_so() {
    if environment::python().is_some() {
        let router = Router::process_with(&["--no-timestamp"]);
        let client = Party::Theirs(Setup::client(&router.endpoint).theirs());
        let other = Party::Theirs(Setup::client(&router.endpoint).theirs());
        let subscription = client.subscribe("stamping/none");
        let publisher = other.matched_publisher("stamping/none");
        for shift in [None, Some(-1.0), Some(3600.0)] {
            let receipt = publisher.publish(&put(shift));
            assert_eq!(subscription.next().timestamp, receipt.timestamp);
        }
    }
}

crate::environment::against_older! {
    our_router_stamps
    their_router_stamps_alike
    peers_stamp_nothing
    a_router_stamps_its_own
    our_router_does_not_stamp_when_told_so
}
