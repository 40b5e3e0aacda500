// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches in the order in which several streams may bring them.

use std::collections::BTreeSet;

use zonda_codec::{
    Declaration, Declare, Encode, Fragment, FrameHeader, Mapping, NetworkMessage, Push, PushBody,
    Put, WhatAmI, WireExpr,
};

use super::*;
use crate::protocol::parameters::Established;

const PATIENCE: Duration = Duration::from_secs(5);
const SIZE_MAX: usize = 1 << 20;

/// Handler that knows ids as a node does.
#[derive(Default)]
struct Node {
    known: BTreeSet<u16>,
    /// Delivered messages: priority, id, payload.
    came: Vec<(Priority, u16, Vec<u8>)>,
    dropped: usize,
    is_early: bool,
    is_over: bool,
    /// Set if it wants a pause after each message.
    is_slow: bool,
    is_tired: bool,
}

impl Deliver for Node {
    fn push(&mut self, push: &Push<'_>, _: &[u8], context: &Context<'_>) {
        let PushBody::Put(put) = push.body else {
            panic!("only puts are sent")
        };
        let id = push.wire_expr.scope;
        if id == 0 || self.known.contains(&id) {
            let payload = put.payload.to_vec();
            self.came.push((context.priority, id, payload));
        } else if self.is_over || context.priority == Priority::Control {
            self.dropped += 1;
        } else {
            self.is_early = true;
            return;
        }
        self.is_tired = self.is_slow;
    }

    fn message(&mut self, message: NetworkMessage<'_>, _: &Context<'_>) {
        if let NetworkMessage::Declare(declare) = message
            && let Declaration::KeyExpr { id, .. } = declare.body
        {
            self.known.insert(id);
        }
    }

    fn wants_pause(&self) -> bool {
        self.is_early || self.is_tired
    }

    fn take_early(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.is_early).then_some(PATIENCE)
    }

    fn wait_no_more(&mut self, is_over: bool) {
        self.is_over = is_over;
    }
}

impl Node {
    /// Returns ids and payloads of the delivered messages of a priority.
    fn of(&self, priority: Priority) -> Vec<(u16, &[u8])> {
        let of_it = self.came.iter().filter(|came| came.0 == priority);
        of_it.map(|(_, id, payload)| (*id, &payload[..])).collect()
    }
}

fn bytes(message: &impl Encode) -> Vec<u8> {
    message.to_vec().expect("it has a wire form")
}

fn push(id: u16, payload: &[u8]) -> Vec<u8> {
    let expr = WireExpr {
        scope: id,
        suffix: if id == 0 { "a" } else { "" },
        mapping: Mapping::Sender,
    };
    bytes(&Push::new(expr, PushBody::Put(Put::new(payload))))
}

fn declaration(id: u16) -> Vec<u8> {
    bytes(&Declare::new(Declaration::KeyExpr {
        id,
        wire_expr: WireExpr::full("a"),
    }))
}

/// Receiver, its handler, and the next number of each priority.
struct Scene {
    receiver: Receiver,
    node: Node,
    next: [u32; LANES],
}

impl Scene {
    fn new() -> Self {
        let established = Established::plain("a1".parse().expect("a valid id"), WhatAmI::Client);
        Scene {
            receiver: Receiver::new(&established, SIZE_MAX),
            node: Node::default(),
            next: [0; LANES],
        }
    }

    fn sn(&mut self, priority: Priority) -> u32 {
        let next = &mut self.next[priority as usize];
        *next += 1;
        *next - 1
    }

    /// Returns a frame with these messages.
    fn frame(&mut self, priority: Priority, messages: &[Vec<u8>]) -> Vec<u8> {
        let sn = self.sn(priority);
        let header = FrameHeader {
            reliability: Reliability::Reliable,
            priority,
            sn,
        };
        [bytes(&header), messages.concat()].concat()
    }

    fn take(&mut self, batch: &[u8]) -> Flow {
        let block = ZSlice::from(batch.to_vec());
        let mut flow = self
            .receiver
            .handle_batch(block.as_slice(), &block, &mut self.node);
        // The driver does the same.
        while let Ok(Flow::Paused(pause)) = flow {
            self.node.is_tired = false;
            flow = self
                .receiver
                .resume_batch(pause, block.as_slice(), &block, &mut self.node);
        }
        flow.expect("the peer behaves")
    }

    fn sends(&mut self, priority: Priority, messages: &[Vec<u8>]) {
        let batch = self.frame(priority, messages);
        assert_eq!(self.take(&batch), Flow::Open);
    }

    fn gives_up(&mut self, now: Option<Instant>) {
        self.receiver.give_up_held(now);
        while self.receiver.read_held(&mut self.node) != Ok(Flow::Open) {
            self.node.is_tired = false;
        }
    }
}

/// The order holds at any pace of the handler.
#[test]
fn a_message_waits_for_its_declaration_and_what_follows_in_its_priority_behind_it() {
    for is_slow in [false, true] {
        let mut scene = Scene::new();
        scene.node.is_slow = is_slow;
        scene.sends(
            Priority::Data,
            &[push(0, b"0"), push(1, b"1"), push(1, b"2")],
        );
        scene.sends(Priority::Data, &[push(2, b"3"), push(0, b"4")]);
        scene.sends(Priority::RealTime, &[push(0, b"fast")]);
        assert_eq!(scene.node.of(Priority::Data), [(0, &b"0"[..])]);
        assert_eq!(scene.node.of(Priority::RealTime), [(0, &b"fast"[..])]);
        assert_eq!(scene.receiver.held_lanes(), 1 << Priority::Data as u8);
        scene.sends(Priority::Control, &[declaration(1)]);
        let three: [(u16, &[u8]); 3] = [(0, b"0"), (1, b"1"), (1, b"2")];
        assert_eq!(
            scene.node.of(Priority::Data),
            three,
            "the next id is missing"
        );
        scene.sends(Priority::Control, &[declaration(2)]);
        let all = [&three[..], &[(2, b"3"), (0, b"4")]].concat();
        assert_eq!(scene.node.of(Priority::Data), all);
        assert_eq!((scene.receiver.held_lanes(), scene.node.dropped), (0, 0));
        assert!(scene.receiver.held.is_none());
        let received = scene.receiver.received();
        assert_eq!((received.lanes_held, received.messages), (1, 8));
    }
}

#[test]
fn a_message_in_fragments_waits_as_well() {
    let mut scene = Scene::new();
    let message = push(1, &[7; 3000]);
    let (first, second) = message.split_at(1000);
    for (payload, more) in [(first, true), (second, false)] {
        let sn = scene.sn(Priority::Data);
        let fragment = bytes(&Fragment {
            reliability: Reliability::Reliable,
            priority: Priority::Data,
            sn,
            more,
            first: more,
            drop: false,
            payload,
        });
        assert_eq!(scene.take(&fragment), Flow::Open);
    }
    scene.sends(Priority::Data, &[push(0, b"behind")]);
    assert_eq!(scene.node.of(Priority::Data), []);
    scene.sends(Priority::Control, &[declaration(1)]);
    let [(1, whole), (0, b"behind")] = scene.node.of(Priority::Data)[..] else {
        panic!("{:?}", scene.node.of(Priority::Data))
    };
    assert_eq!(whole, [7; 3000]);
}

/// A sender may put a keep-alive into the batch that it fills.
#[test]
fn a_frame_behind_a_keep_alive_waits_behind_its_priority() {
    let mut scene = Scene::new();
    scene.sends(Priority::Data, &[push(1, b"1")]);
    let frame = scene.frame(Priority::Data, &[push(0, b"2")]);
    let batch = [&[0x04][..], &frame].concat();
    assert_eq!(scene.take(&batch), Flow::Open);
    assert_eq!(scene.node.of(Priority::Data), []);
    scene.sends(Priority::Control, &[declaration(1)]);
    let both: [(u16, &[u8]); 2] = [(1, b"1"), (0, b"2")];
    assert_eq!(scene.node.of(Priority::Data), both);
    assert_eq!(scene.receiver.received().frames_dropped, 0);
}

/// The memory of the message is counted by itself, and once.
#[test]
fn a_message_in_fragments_is_charged_once_while_it_waits() {
    let ledger = crate::ledger::Ledger::new(64 << 20, true);
    let share = crate::ledger::Share::of(&ledger);
    let mut scene = Scene::new();
    scene.receiver = scene.receiver.within(share, 2 * SIZE_MAX, PATIENCE);
    let message = push(1, &[7; 500_000]);
    let pieces = message.len().div_ceil(50_000);
    for (at, payload) in message.chunks(50_000).enumerate() {
        let fragment = Fragment {
            reliability: Reliability::Reliable,
            priority: Priority::Data,
            sn: scene.sn(Priority::Data),
            more: at + 1 < pieces,
            first: at == 0,
            drop: false,
            payload,
        };
        assert_eq!(scene.take(&bytes(&fragment)), Flow::Open);
    }
    let held = 1 << Priority::Data as u8;
    assert_eq!(scene.receiver.held_lanes(), held);
    assert!(ledger.received() < 900_000, "{}", ledger.received());
    // The message is delivered again and continues to wait.
    scene.sends(Priority::Control, &[declaration(2)]);
    assert_eq!(scene.receiver.held_lanes(), held);
    assert!(ledger.received() < 900_000, "{}", ledger.received());
    scene.sends(Priority::Control, &[declaration(1)]);
    assert_eq!(scene.node.of(Priority::Data).len(), 1);
}

#[test]
fn what_is_never_declared_waits_its_time_and_no_other_priority_does() {
    let mut scene = Scene::new();
    scene.sends(Priority::Data, &[push(1, b"never"), push(0, b"behind")]);
    let begin = Instant::now();
    let until = scene.receiver.held_until(|| begin).expect("it is held");
    assert_eq!(until, begin + PATIENCE);
    scene.sends(Priority::DataLow, &[push(2, b"never"), push(0, b"low")]);
    scene.sends(Priority::Control, &[declaration(3), push(9, b"lost")]);
    assert_eq!(scene.node.dropped, 1, "the one that came with declarations");
    let later = begin + PATIENCE / 2;
    assert_eq!(
        scene.receiver.held_until(|| later),
        Some(until),
        "the first"
    );
    scene.gives_up(Some(until - Duration::from_millis(1)));
    assert_eq!(scene.node.came, []);
    scene.gives_up(Some(until));
    assert_eq!(scene.node.of(Priority::Data), [(0, &b"behind"[..])]);
    assert_eq!(scene.node.of(Priority::DataLow), []);
    assert_eq!(scene.receiver.held_lanes(), 1 << Priority::DataLow as u8);
    // No more batches arrive.
    scene.gives_up(None);
    assert_eq!(scene.node.of(Priority::DataLow), [(0, &b"low"[..])]);
    assert_eq!((scene.node.dropped, scene.receiver.held_lanes()), (3, 0));
}

#[test]
fn what_waits_is_bounded_and_charged() {
    let ledger = crate::ledger::Ledger::new(64 << 20, true);
    let share = crate::ledger::Share::of(&ledger);
    let mut scene = Scene::new();
    scene.receiver = scene.receiver.within(share, 2 * SIZE_MAX, PATIENCE);
    let (mut sent, mut most) = (0, 0);
    scene.sends(Priority::Data, &[push(1, b"never")]);
    while scene.receiver.held_lanes() != 0 {
        assert!(sent < 2 * HELD_BYTES_MAX, "it ends");
        let large = push(0, &[1; 60_000]);
        sent += large.len();
        scene.sends(Priority::Data, &[large]);
        most = most.max(ledger.received());
        assert!(ledger.received() <= HELD_BYTES_MAX);
    }
    assert!(
        sent > HELD_BYTES_MAX && most > HELD_BYTES_MAX / 2,
        "{sent} {most}"
    );
    assert_eq!((scene.node.dropped, ledger.received()), (1, 0));
    assert_eq!(scene.node.came.len(), sent / push(0, &[1; 60_000]).len());
}
