// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captured sessions of the reference: their handshakes pass through this implementation's
//! acceptor, and all further batches through its receiver, which must find every message and
//! nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use zonda_codec::ZSlice;
use zonda_codec::{NetworkMessage, Push, Reader, TransportMessage, WhatAmI, ZenohId};
use zonda_testkit::json;
use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey};
use zonda_transport::protocol::parameters::{Established, LocalParameters};
use zonda_transport::protocol::rx::{Context, Deliver, Flow, Received, Receiver};

/// Batches of one direction of one session, in order: bytes, and messages as the reference reads
/// them.
type Direction = Vec<(Vec<u8>, Value)>;

fn directions() -> BTreeMap<(String, String), Direction> {
    let mut found = BTreeMap::<_, Direction>::new();
    for vector in json::golden_vectors() {
        let name = vector["name"].as_str().expect("a name");
        let way = name.rsplit_once('_').map_or("", |(_, way)| way);
        if vector["layer"] == "batch" && matches!(way, "c2s" | "s2c") {
            let session = name.split('_').next().expect("a session name");
            let entry = found
                .entry((session.to_owned(), way.to_owned()))
                .or_default();
            entry.push((
                bytes(vector["hex"].as_str().expect("bytes")),
                vector["decoded"].clone(),
            ));
        }
    }
    found
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

#[derive(Default)]
struct Count {
    pushes: u64,
    others: u64,
}

impl Deliver for Count {
    fn push(&mut self, _push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {
        self.pushes += 1;
    }

    fn message(&mut self, _message: NetworkMessage<'_>, _context: &Context<'_>) {
        self.others += 1;
    }
}

/// Returns the agreement of the session, from its InitAck and from the Open of the direction's sender.
fn established(
    session: &BTreeMap<(String, String), Direction>,
    name: &str,
    way: &str,
) -> Established {
    let of = |way: &str, index: usize| {
        let (batch, _) = &session[&(name.to_owned(), way.to_owned())][index];
        batch.clone()
    };
    let (init, open) = (of("s2c", 0), of(way, 1));
    let decode = |batch| TransportMessage::decode(&mut Reader::new(batch)).expect("a message");
    let TransportMessage::InitAck(init) = decode(&init) else {
        panic!("{name}: no InitAck")
    };
    let initial_sn_rx = match decode(&open) {
        TransportMessage::OpenSyn(open) => open.initial_sn,
        TransportMessage::OpenAck(open) => open.initial_sn,
        other => panic!("{name} {way}: {other:?}"),
    };
    Established {
        batch_size: init.batch_size,
        sn_mask: init.resolution.frame_sn_mask(),
        qos: init.ext.qos || init.ext.qos_link.is_some(),
        patch: init.ext.patch,
        initial_sn_rx,
        ..Established::plain(init.zid, WhatAmI::Peer)
    }
}

#[test]
fn captured_sessions_are_received_whole() {
    let sessions = directions();
    let mut total = 0;
    for ((name, way), batches) in &sessions {
        let mut receiver = Receiver::new(&established(&sessions, name, way), 1 << 20);
        let (mut count, mut pushes, mut others) = (Count::default(), 0, 0);
        let mut transport_messages = 0;
        for (batch, decoded) in &batches[2..] {
            let block = ZSlice::from(batch.clone());
            let flow = receiver.handle_batch(block.as_slice(), &block, &mut count);
            let messages = decoded.as_array().expect("messages");
            transport_messages += messages.len() as u64;
            let closes = messages.iter().any(|message| message["msg"] == "Close");
            assert_eq!(
                matches!(flow, Ok(Flow::Closed { reason: 0 })),
                closes,
                "{name} {way}: {flow:?}"
            );
            for message in messages
                .iter()
                .filter_map(|message| message["payload"].as_array())
            {
                let is_push = |message: &&Value| message["msg"] == "Push";
                pushes += message.iter().filter(is_push).count() as u64;
                others += message.iter().filter(|message| !is_push(message)).count() as u64;
            }
        }
        assert_eq!(
            (count.pushes, count.others),
            (pushes, others),
            "{name} {way}"
        );
        let batches = batches.len() as u64 - 2;
        let received = receiver.received();
        let by_priority = received.messages_by_priority;
        assert_eq!(by_priority.iter().sum::<u64>(), pushes + others);
        let expected = Received {
            batches,
            transport_messages,
            messages: pushes + others,
            messages_by_priority: by_priority,
            ..Received::default()
        };
        assert_eq!(
            received, expected,
            "{name} {way}: nothing is lost or ignored"
        );
        total += pushes + others;
    }
    assert!(total > 150, "only {total} messages");
}

#[test]
fn captured_openers_are_accepted() {
    let sessions = directions();
    let mut accepted = 0;
    for ((name, way), batches) in &sessions {
        if way != "c2s" {
            continue;
        }
        let zid: ZenohId = "f00d".parse().expect("a valid id");
        let local = LocalParameters::new(zid, WhatAmI::Router);
        let mut acceptor = Acceptor::new(local, Arc::new(CookieKey::new([9; 32])));
        let mut out = Vec::new();
        let step = acceptor.handle_batch(&batches[0].0, &mut out);
        assert_eq!(step, Ok(AcceptStep::Continue), "{name}");
        let decode = |batch| TransportMessage::decode(&mut Reader::new(batch)).expect("a message");
        let TransportMessage::InitAck(ack) = decode(&out) else {
            panic!("{name}: no InitAck")
        };
        let exts = &batches[0].1[0]["exts"];
        assert_eq!(Value::from(ack.ext.qos), exts["qos"], "{name}");
        assert_eq!(Value::from(ack.ext.patch), exts["patch"], "{name}");
        let answer = (ack.ext.shm, ack.ext.auth, ack.ext.multilink);
        assert_eq!(
            answer,
            (None, None, None),
            "{name}: offered but not supported"
        );
        accepted += 1;
    }
    assert!(accepted >= 12, "only {accepted} sessions");
}
