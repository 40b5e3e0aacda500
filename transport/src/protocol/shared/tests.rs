// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handshakes of nodes with and without shared memory, and payloads over lanes and receivers of such links.

use std::sync::Arc;

use zonda_codec::{
    Encode, NetworkMessage, OpenExt, OpenSyn, Priority, Push, PushBody, Put, Reader, Reliability,
    TransportMessage, WhatAmI, WireExpr, ZSlice,
};

use super::{SharedMemory, SharedSettings};
use crate::protocol::{
    handshake::{AcceptStep, Acceptor, CookieKey, OpenStep, Opener},
    options::{Framing, LocalOptions},
    parameters::{Established, LocalParameters},
    rx::{Context, Deliver, Receiver},
    tx::{Lane, LaneConfig, Outgoing, SHARE_BYTES_MIN, Tail},
};

fn memory() -> SharedMemory {
    let settings = SharedSettings {
        pool_bytes: 1 << 20,
        size_min: 3072,
        copied: [true; 3],
        copies_out: false,
        at_open: false,
    };
    SharedMemory::open(&settings).expect("this system has shared memory")
}

fn node(id: &str, memory: Option<&SharedMemory>) -> LocalParameters {
    let mut local = LocalParameters::new(id.parse().unwrap(), WhatAmI::Peer);
    local.is_one_host = true;
    local.options = Arc::new(LocalOptions {
        shared: memory.cloned(),
        ..LocalOptions::default()
    });
    local
}

/// Makes a handshake, in which `tamper` may change the batches; returns what both sides agree on.
fn shake(
    opener: LocalParameters,
    acceptor: LocalParameters,
    mut tamper: impl FnMut(&mut Vec<u8>),
) -> Option<(Established, Established)> {
    let mut opener = Opener::new(opener, None);
    let mut acceptor = Acceptor::new(acceptor, Arc::new(CookieKey::new([7; 32])));
    let (mut forth, mut back) = (Vec::new(), Vec::new());
    opener.start(&mut forth);
    tamper(&mut forth);
    acceptor.handle_batch(&forth, &mut back).unwrap();
    tamper(&mut back);
    opener.handle_batch(&back, &mut forth).unwrap();
    tamper(&mut forth);
    let Ok(AcceptStep::Admit(accepted)) = acceptor.handle_batch(&forth, &mut back) else {
        return None;
    };
    acceptor.admit(&mut back);
    tamper(&mut back);
    let OpenStep::Done(opened) = opener.handle_batch(&back, &mut forth).unwrap() else {
        panic!("an OpenAck ends the handshake");
    };
    Some((opened, accepted))
}

#[test]
fn two_nodes_of_a_host_share_and_others_do_not() {
    let (a, b) = (memory(), memory());
    let is_shm = |near: LocalParameters, far: LocalParameters| {
        let (near, far) = shake(near, far, |_| ()).unwrap();
        assert_eq!(near.options.is_shm(), far.options.is_shm());
        near.options.is_shm()
    };
    assert!(is_shm(node("a1", Some(&a)), node("b1", Some(&b))));
    assert!(!is_shm(node("a1", Some(&a)), node("b1", None)));
    assert!(!is_shm(node("a1", None), node("b1", Some(&b))));
    let elsewhere = LocalParameters {
        is_one_host: false,
        ..node("b1", Some(&b))
    };
    assert!(!is_shm(node("a1", Some(&a)), elsewhere.clone()));
    assert!(!is_shm(elsewhere, node("a1", Some(&a))));
    assert_eq!((a.counts().links, b.counts().links), (0, 0), "given back");
}

#[test]
fn a_wrong_challenge_ends_the_handshake_of_an_opener_and_a_missing_segment_goes_on_without() {
    let (a, b, c) = (memory(), memory(), memory());
    // A segment that is not there.
    let mut step = 0;
    let other = c.offer();
    let agreed = shake(node("a1", Some(&a)), node("b1", Some(&b)), |batch| {
        if step == 0 {
            offer_another(batch, &other);
        }
        step += 1;
    });
    // The opener got the challenge of another segment, and did not go on with it.
    let (near, far) = agreed.unwrap();
    assert!(!near.options.is_shm() && !far.options.is_shm());
    // An opener that proves nothing.
    let mut step = 0;
    let refused = shake(node("a1", Some(&a)), node("b1", Some(&b)), |batch| {
        step += 1;
        if step == 3 {
            forge_proof(batch, &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    });
    assert!(refused.is_none());
}

fn offer_another(batch: &mut Vec<u8>, segment: &[u8]) {
    let message = TransportMessage::decode(&mut Reader::new(batch));
    let Ok(TransportMessage::InitSyn(mut syn)) = message else {
        panic!("the first message is InitSyn");
    };
    assert!(syn.ext.shm.is_some());
    syn.ext.shm = Some(segment);
    let forged = syn.to_vec().unwrap();
    *batch = forged;
}

fn forge_proof(batch: &mut Vec<u8>, proof: &[u8]) {
    let message = TransportMessage::decode(&mut Reader::new(batch));
    let Ok(TransportMessage::OpenSyn(syn)) = message else {
        panic!("the third message is OpenSyn");
    };
    assert!(syn.ext.shm.is_some());
    let ext = OpenExt {
        shm: Some(proof),
        ..OpenExt::default()
    };
    let forged = OpenSyn { ext, ..syn }.to_vec().unwrap();
    *batch = forged;
}

/// Delivered payloads, and if each lies in shared memory.
#[derive(Default)]
struct Seen(Vec<(ZSlice, bool)>);

impl Deliver for Seen {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        let PushBody::Put(put) = &push.body else {
            panic!("only puts are sent");
        };
        let part = zonda_codec::payload::shared_part(context.block, put.payload);
        let is_shared = zonda_shm::SharedBuffer::of(&part).is_some();
        assert_eq!(raw_body.is_empty(), is_shared);
        self.0.push((part, is_shared));
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        panic!("nothing else was sent: {message:?}");
    }
}

fn lane(established: &Established) -> Lane {
    let config = LaneConfig {
        priority: Priority::Data,
        batch_size: u16::MAX,
        sn_mask: established.sn_mask,
        initial_sn: established.initial_sn_tx,
        queue_bytes_max: 1 << 20,
        framing: Framing::Plain,
        share_bytes_min: SHARE_BYTES_MIN,
    };
    Lane::new(config).sharing(established.options.shared.clone())
}

fn put(lane: &mut Lane, payload: &ZSlice) {
    let body = PushBody::Put(Put::new(&[]));
    let head = zonda_codec::PushHead::new(
        WireExpr::full("a/b"),
        zonda_codec::Qos::DATA,
        zonda_codec::NodeId::ITSELF,
    );
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head.of(&body, payload.len()),
        payload: Tail::Shared(payload),
    };
    lane.push(&message).unwrap();
}

/// Moves everything from the lane to the receiver.
fn carry(lane: &mut Lane, receiver: &mut Receiver, seen: &mut Seen) -> usize {
    let mut bytes = 0;
    while let Some(batch) = lane.pop(&mut Vec::new()) {
        let mut whole = batch.head()[2..].to_vec();
        whole.extend_from_slice(batch.tail().map_or(&[], |tail| tail.as_slice()));
        bytes += whole.len();
        let block = ZSlice::from(whole);
        receiver
            .handle_batch(block.as_slice(), &block, seen)
            .unwrap();
    }
    bytes
}

#[test]
fn payloads_arrive_where_they_lie_and_come_home() {
    let (a, b) = (memory(), memory());
    let (near, far) = shake(node("a1", Some(&a)), node("b1", Some(&b)), |_| ()).unwrap();
    let (mut lane, mut receiver) = (lane(&near), Receiver::new(&far, 1 << 30));
    let provider = a.node().provider(1 << 22).unwrap();
    let mut seen = Seen::default();
    for round in 0..200_u8 {
        // A loan, a plain payload above and one below the threshold, and one that the pool has no room for.
        let mut loan = provider.loan(1 << 20).unwrap();
        loan.fill(round);
        put(&mut lane, loan.freeze().as_zslice());
        put(&mut lane, &ZSlice::from(vec![round; 5000]));
        put(&mut lane, &ZSlice::from(vec![round; 3000]));
        put(&mut lane, &ZSlice::from(vec![round; 2 << 20]));
        carry(&mut lane, &mut receiver, &mut seen);
        let told = seen.0.iter().map(|(payload, is_shared)| {
            assert!(payload.iter().all(|byte| *byte == round));
            (payload.len(), *is_shared)
        });
        let told: Vec<_> = told.collect();
        let expected = [
            (1 << 20, true),
            (5000, true),
            (3000, false),
            (2 << 20, false),
        ];
        assert_eq!(told, expected);
        assert_eq!(provider.lent(), 1, "held by the receiver");
        seen.0.clear();
        assert_eq!(provider.lent(), 0);
    }
    let (sent, taken) = (a.counts(), b.counts());
    assert_eq!((sent.sent, sent.copied_in, sent.pool_full), (400, 200, 200));
    assert_eq!((taken.taken, taken.held), (400, 0));
    assert_eq!(receiver.received().descriptors, 400);
    assert_eq!(receiver.received().messages, 800);
}

#[test]
fn a_shared_payload_goes_on_as_bytes_to_a_neighbour_that_shares_nothing() {
    let (a, b) = (memory(), memory());
    let (near, far) = shake(node("a1", Some(&a)), node("b1", Some(&b)), |_| ()).unwrap();
    let (mut first, mut receiver) = (lane(&near), Receiver::new(&far, 1 << 30));
    let mut seen = Seen::default();
    put(&mut first, &ZSlice::from(vec![5; 50_000]));
    assert!(carry(&mut first, &mut receiver, &mut seen) < 100);
    let payload = seen.0.pop().unwrap().0;
    let plain = Established::plain("c1".parse().unwrap(), WhatAmI::Peer);
    let (mut second, mut last) = (lane(&plain), Receiver::new(&plain, 1 << 30));
    put(&mut second, &payload);
    // The bytes are the node's own from here on: the publisher's memory is free while they are queued.
    drop(payload);
    assert_eq!(a.node().pool().unwrap().lent(), 0);
    assert!(carry(&mut second, &mut last, &mut seen) > 50_000);
    assert_eq!(seen.0[0].0.as_slice(), [5; 50_000]);
}
