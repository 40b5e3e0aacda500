// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocations on the path of a message: none for a small one, headers only for a large one.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use zonda::bytes::ZBytes;
use zonda::config::AnyRuntime;

use crate::counting::{Allocated, allocated};
use crate::scene::{Line, allocated_by};

/// Number of messages of a measurement, and how many of them may be under way at once: so few that
/// all stay in the buffers that a link keeps.
const MESSAGES: u64 = 2000;
const AHEAD: u64 = 20;

/// Counts the allocations on this thread by putting `MESSAGES` payloads like this, by a blocking
/// call or by a future.
fn by_putting(line: &Line, payload: &ZBytes, express: bool, awaited: bool) -> Allocated {
    let publisher = line.publisher(express);
    let put = || match awaited {
        false => Line::put(&publisher, payload),
        true => {
            let mut put = pin!(publisher.put(payload).into_future());
            let mut context = Context::from_waker(Waker::noop());
            let done = match put.as_mut().poll(&mut context) {
                // Other tasks run now and then; the next poll finds the put done.
                Poll::Pending => put.poll(&mut context),
                done => done,
            };
            assert!(matches!(done, Poll::Ready(Ok(()))), "there is room");
        }
    };
    line.pump(MESSAGES, AHEAD, put);
    let mut spent = Allocated::default();
    line.pump(MESSAGES, AHEAD, || {
        let before = allocated();
        put();
        let now = allocated() - before;
        spent = Allocated {
            times: spent.times + now.times,
            bytes: spent.bytes + now.bytes,
        };
    });
    spent
}

/// Counts the allocations on `thread` while `MESSAGES` payloads like this pass.
fn while_passing(line: &Line, payload: &ZBytes, thread: &AnyRuntime) -> Allocated {
    let publisher = line.publisher(false);
    let put = || Line::put(&publisher, payload);
    line.pump(MESSAGES, AHEAD, put);
    let before = allocated_by(thread);
    line.pump(MESSAGES, AHEAD, put);
    let after = allocated_by(thread);
    after - before
}

/// Buffers that a link may add when its messages follow more closely than before.
const BUFFERS_MAX: u64 = 4;

/// Maximum cost of two samples of a thread, and of the time between them.
const PROBE_MAX: u64 = 40;

#[test]
fn a_small_put_allocates_nothing() {
    for (line, size) in [
        (Line::direct(), 8),
        (Line::routed(), 8),
        (Line::direct(), 1024),
    ] {
        let payload = ZBytes::from(vec![7; size]);
        for (express, awaited) in [(false, false), (true, false), (false, true), (true, true)] {
            let spent = by_putting(&line, &payload, express, awaited);
            assert!(
                spent.times <= BUFFERS_MAX,
                "{size} bytes, express {express}, awaited {awaited}: {spent:?}"
            );
        }
    }
}

#[test]
fn a_large_put_copies_no_payload() {
    let line = Line::direct();
    let size = 1 << 20;
    let payload = ZBytes::from(vec![7; size]);
    let publisher = line.publisher(false);
    line.pump(20, 1, || Line::put(&publisher, &payload));
    for _ in 0..20 {
        let mut spent = Allocated::default();
        line.pump(1, 1, || {
            let before = allocated();
            Line::put(&publisher, &payload);
            spent = allocated() - before;
        });
        let fragments = (size as u64).div_ceil(65_000);
        assert!(
            spent.bytes < 8 * 1024,
            "of a payload of {size} bytes, {} were allocated",
            spent.bytes
        );
        assert!(
            spent.times <= 2 * fragments + 10,
            "{spent:?} for {fragments} fragments"
        );
    }
}

#[test]
fn delivering_a_small_sample_allocates_nothing() {
    let line = Line::direct();
    let spent = while_passing(&line, &ZBytes::from(vec![7; 8]), &line.sink_thread);
    assert!(
        spent.times <= PROBE_MAX,
        "{spent:?} for {MESSAGES} messages"
    );
}

#[test]
fn forwarding_a_small_message_allocates_nothing() {
    let line = Line::routed();
    for size in [8, 1024] {
        let spent = while_passing(&line, &ZBytes::from(vec![7; size]), line.router_thread());
        assert!(
            spent.times <= PROBE_MAX,
            "{spent:?} for {MESSAGES} messages of {size} bytes"
        );
    }
}

#[test]
fn forwarding_64_kib_allocates_a_few_times() {
    let line = Line::routed();
    let size = 64 * 1024;
    let spent = while_passing(&line, &ZBytes::from(vec![7; size]), line.router_thread());
    // Reassembly, its share, the head, the two fragments' headers; where blocks are still being
    // sent, new ones replace them.
    assert!(spent.times <= 8 * MESSAGES, "{spent:?}");
    assert!(spent.bytes <= 5 * size as u64 / 2 * MESSAGES, "{spent:?}");
}
