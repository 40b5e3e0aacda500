// SPDX-License-Identifier: MIT OR Apache-2.0
//! In which order addresses are tried, for how long each, and what is said when none answers.

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};

use super::*;

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts
        .iter()
        .map(|text| text.parse().expect("an address"))
        .collect()
}

#[test]
fn families_take_turns_and_the_favourite_begins() {
    let found = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
    let mixed = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
    assert_eq!(alternate(found), mixed);
    let found = addresses(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
    assert_eq!(alternate(found.clone()), found);
    assert_eq!(alternate(vec![]), vec![]);
}

#[test]
fn each_address_has_its_share_and_the_last_has_the_rest() {
    let now = Instant::now();
    let seconds = |seconds| now + Duration::from_secs(seconds);
    assert_eq!(share(now, seconds(10), 2), seconds(5));
    assert_eq!(share(now, seconds(10), 1), seconds(10));
    assert_eq!(share(now, seconds(10), 1000), now + ATTEMPT_MIN);
    assert_eq!(
        share(now, now + Duration::from_millis(100), 3),
        now + Duration::from_millis(100)
    );
    assert_eq!(share(seconds(1), now, 3), seconds(1));
}

#[test]
fn several_failures_are_told_with_their_addresses() {
    let failure = |kind| IoFailure::from(Error::from(kind));
    let failures = [
        (
            addresses(&["[::1]:7447"])[0],
            failure(ErrorKind::ConnectionRefused),
        ),
        (
            addresses(&["127.0.0.1:7447"])[0],
            failure(ErrorKind::TimedOut),
        ),
    ];
    let expected = "[::1]:7447: connection refused, 127.0.0.1:7447: timed out";
    assert_eq!(list(&failures), expected);
}

#[test]
fn waits_grow_by_the_endpoints_factor_up_to_its_limit() {
    let endpoint =
        "tcp/a:1#retry_period_init_ms=100;retry_period_max_ms=700;retry_period_increase_factor=1.5";
    let mut backoff = Backoff::of(&endpoint.parse().expect("an endpoint")).expect("valid");
    let waits: Vec<_> = (0..7).map(|_| backoff.next_wait().as_millis()).collect();
    assert_eq!(waits, [100, 150, 225, 337, 506, 700, 700]);
    backoff.reset();
    assert_eq!(backoff.next_wait().as_millis(), 100);
}

#[test]
fn waits_never_make_a_busy_loop_nor_shrink() {
    let policy = RetryPolicy {
        init: Duration::ZERO,
        max: Duration::ZERO,
        factor: 0.5,
    };
    let mut backoff = Backoff::new(policy);
    assert!((0..5).all(|_| backoff.next_wait() == Duration::from_millis(10)));
    let policy = RetryPolicy {
        init: Duration::from_secs(5),
        max: Duration::MAX,
        factor: f64::INFINITY,
    };
    let mut backoff = Backoff::new(policy);
    assert_eq!(
        [backoff.next_wait(), backoff.next_wait()],
        [Duration::from_secs(5), Duration::MAX]
    );
    for wrong in [
        "retry_period_init_ms=-1",
        "retry_period_max_ms=x",
        "retry_period_increase_factor=0.9",
    ] {
        let endpoint = format!("tcp/a:1#{wrong}").parse().expect("an endpoint");
        let error = Backoff::of(&endpoint).expect_err(wrong).to_string();
        assert!(
            error.starts_with(&format!("option {wrong} is invalid; write a number")),
            "{error}"
        );
    }
}
