// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare messages made by hand.

use std::cell::Cell;

use zonda_codec::{Close, Encode};

use super::*;
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::Established;
use crate::protocol::rx::tests::{DATA, Seen, established, fragment, frame, put};

fn receiver() -> Receiver {
    let bare = Established {
        batch_size: 1000,
        qos: false,
        options: LinkOptions {
            low_latency: true,
            ..LinkOptions::default()
        },
        ..established()
    };
    Receiver::new(&bare, 1 << 20)
}

fn take(receiver: &mut Receiver, message: &[u8], seen: &mut Seen) -> Result<Flow, PeerMisbehaved> {
    let block = ZSlice::from(message.to_vec());
    receiver.handle_bare(block.as_slice(), &block, seen)
}

#[test]
fn messages_are_handed_on() {
    let (mut receiver, mut seen) = (receiver(), Seen::default());
    for message in [put(b"one"), vec![4], Vec::new(), put(b"")] {
        assert_eq!(take(&mut receiver, &message, &mut seen), Ok(Flow::Open));
    }
    let several = [put(b"two"), put(b"three"), vec![4], put(b"four")].concat();
    assert_eq!(take(&mut receiver, &several, &mut seen), Ok(Flow::Open));
    let expected: [&[u8]; 5] = [b"one", b"", b"two", b"three", b"four"];
    assert_eq!(seen.payloads, expected);
    assert_eq!(receiver.received().messages, 5);
    let close = Close {
        reason: 3,
        session: false,
    };
    let close = close.to_vec().expect("a wire form");
    let closed = Ok(Flow::Closed { reason: 3 });
    assert_eq!(take(&mut receiver, &close, &mut seen), closed);
}

#[test]
fn what_is_no_bare_message_costs_the_link() {
    let mut seen = Seen::default();
    for batch in [
        frame(DATA, 100, &[b"one"]),
        fragment(100, "f", b"x"),
        vec![0x1d],
        vec![0x08],
        put(b"cut")[..4].to_vec(),
    ] {
        let outcome = take(&mut receiver(), &batch, &mut seen);
        assert!(outcome.is_err(), "{outcome:?}: {batch:02x?}");
    }
    assert!(seen.payloads.is_empty());
    assert_eq!(receiver().check_bare(1000), Ok(1000));
    for length in [1001, 65_536, u32::MAX] {
        let refused = receiver().check_bare(length);
        let (length, max) = (length as usize, 1000);
        assert_eq!(refused, Err(PeerMisbehaved::BatchTooLarge { length, max }));
    }
}

/// Handler that wants a pause after each message.
#[derive(Default)]
struct Slow {
    seen: Seen,
    wants: Cell<bool>,
}

impl Deliver for Slow {
    fn push(
        &mut self,
        push: &zonda_codec::Push<'_>,
        raw_body: &[u8],
        context: &super::super::Context<'_>,
    ) {
        self.seen.push(push, raw_body, context);
        self.wants.set(true);
    }

    fn message(&mut self, message: NetworkMessage<'_>, context: &super::super::Context<'_>) {
        self.seen.message(message, context);
    }

    fn wants_pause(&self) -> bool {
        self.wants.get()
    }
}

#[test]
fn a_pause_loses_nothing() {
    let (mut receiver, mut slow) = (receiver(), Slow::default());
    let keep_alive = TransportMessage::KeepAlive.to_vec().expect("a wire form");
    let all = [put(b"one"), put(b"two"), keep_alive, put(b"three")].concat();
    let block = ZSlice::from(all);
    let mut flow = receiver.handle_bare(block.as_slice(), &block, &mut slow);
    let mut pauses = 0;
    while let Ok(Flow::Paused(pause)) = flow {
        pauses += 1;
        slow.wants.set(false);
        flow = receiver.resume_bare(pause, block.as_slice(), &block, &mut slow);
    }
    assert_eq!(flow, Ok(Flow::Open));
    let expected: [&[u8]; 3] = [b"one", b"two", b"three"];
    assert_eq!(slow.seen.payloads, expected);
    assert_eq!(pauses, 3);
}
