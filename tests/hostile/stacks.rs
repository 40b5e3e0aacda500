// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time-stamp stacks of a hostile neighbour: a router bounds their growth, counts the records that
//! it leaves out, and refuses those that are no stacks.

use zonda_codec::{NetworkMessage, Push, PushBody, Put, TsStack, TsStackBuf, WireExpr};

use crate::hand::{Hand, bytes};
use crate::scene::{Scene, until};

fn put(stack: &TsStackBuf) -> Vec<u8> {
    let put = Put::new(b"value");
    bytes(&Push {
        ts_stack: Some(stack.view()),
        ..Push::new(WireExpr::full("stacks/a"), PushBody::Put(put))
    })
}

/// Returns the next stack that a subscriber gets.
fn next(subscriber: &mut Hand) -> TsStackBuf {
    let mut got = None;
    assert!(subscriber.read_until(|message| {
        if let NetworkMessage::Push(push) = message {
            got = push.ts_stack.map(TsStackBuf::of);
        }
        got.is_some()
    }));
    got.expect("a stack")
}

/// A stack of this many records of this many bytes, which the router is to continue.
fn stack(count: usize, bytes: usize) -> TsStackBuf {
    let mut stack = TsStackBuf::new(TsStack::ROUTE).expect("a stack");
    for _ in 0..count {
        assert!(stack.push(TsStack::SEND | TsStack::CUSTOM, &vec![9; bytes]));
    }
    stack
}

#[test]
fn a_stack_that_is_full_is_forwarded_as_it_is() {
    let scene = Scene::open();
    let mut subscriber = scene.guest();
    subscriber.subscribe(1, "stacks/*");
    until("it is known", || subscriber.is_served());
    let mut source = scene.guest();
    for (full, grows) in [
        (stack(0, 0), true),
        (stack(254, 20), true),
        (stack(255, 20), false),
    ] {
        assert!(source.frame(&put(&full)));
        let got = next(&mut subscriber);
        let (before, after) = (full.view().entries(), got.view().entries());
        assert!(before.eq(after.take(full.view().entries().count())));
        assert_eq!(got == full, !grows);
    }
    let metrics = scene.node.metrics();
    let missing = metrics
        .iter()
        .find(|sample| sample.metric().name == "zonda_timestamps_not_recorded");
    assert_eq!(missing.expect("it is reported").value(), 1);
    scene.is_well();
}

#[test]
fn what_is_no_stack_ends_the_link() {
    let scene = Scene::open();
    let good = put(&stack(1, 2));
    let raw = stack(1, 2).view().as_bytes().to_vec();
    let at = good
        .windows(raw.len())
        .position(|part| part == raw)
        .expect("it is there");
    for (place, byte) in [(0, 0), (1, 2), (1, 0x7f), (3, 0x7f)] {
        let mut bad = good.clone();
        bad[at + place] = byte;
        let mut guest = scene.guest();
        // the link may have ended already
        let _ = guest.frame(&bad);
        assert!(guest.is_hung_up_on(), "{place} {byte}");
    }
    scene.is_well();
}
