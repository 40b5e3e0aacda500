// SPDX-License-Identifier: MIT OR Apache-2.0
//! Order of the addresses that are tried, the time for each, and the error when none answers.

use std::io::{Error, ErrorKind};
use std::time::Duration;

use super::*;
use crate::link::Protocol;

#[test]
fn several_failures_are_told_with_their_addresses() {
    let failure = |kind| IoFailure::from(Error::from(kind));
    let failures = [
        (
            LinkAddress::internet(Protocol::Tcp, ([0, 0, 0, 0, 0, 0, 0, 1], 7447).into()),
            failure(ErrorKind::ConnectionRefused),
        ),
        (
            LinkAddress::internet(Protocol::Tcp, ([127, 0, 0, 1], 7447).into()),
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
fn waits_of_many_are_apart() {
    let waits = || Backoff::new(RetryPolicy::default()).next_wait_apart();
    let mut waits: Vec<_> = (0..1000).map(|_| waits().as_millis()).collect();
    waits.sort_unstable();
    assert!(waits[0] >= 500 && waits[999] <= 1000, "{waits:?}");
    // Of a thousand waits within half a second about two hundred fall within a tenth.
    let fullest = waits.iter().map(|first| {
        waits
            .iter()
            .filter(|wait| (*first..first + 100).contains(wait))
            .count()
    });
    assert!(fullest.max() < Some(300));
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
