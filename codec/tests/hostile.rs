// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that no correct node sends: nothing panics, and accepted bytes survive a round trip
//! unchanged.

use std::sync::OnceLock;

use proptest::prelude::*;
use zonda_codec::{
    Encode, LinkState, LinkStateList, LinkStates, NetworkMessage, NodeId, Push, PushBody, PushHead,
    Reader, ScoutingMessage, Timestamp, TransportMessage, WireExpr,
};
use zonda_testkit::json;

/// Returns the bytes of all golden vectors that hold messages.
fn vectors() -> &'static [Vec<u8>] {
    static VECTORS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let all = json::golden_vectors();
        let layers = ["scouting", "transport", "network", "batch", "linkstate"];
        all.iter()
            .filter(|vector| layers.iter().any(|layer| vector["layer"] == *layer))
            .map(|vector| json::unhex(vector["hex"].as_str().expect("hex")))
            .collect()
    })
}

/// Reads `bytes` as each kind of message; each that is accepted must come back equal.
fn survive(bytes: &[u8]) {
    if let Ok(message) = NetworkMessage::decode(&mut Reader::new(bytes)) {
        let again = message.to_vec().expect("it has a wire form");
        assert_eq!(
            NetworkMessage::decode(&mut Reader::new(&again)),
            Ok(message)
        );
    }
    if let Ok(message) = TransportMessage::decode(&mut Reader::new(bytes)) {
        let again = message.to_vec().expect("it has a wire form");
        assert_eq!(
            TransportMessage::decode(&mut Reader::new(&again)),
            Ok(message)
        );
    }
    if let Ok(message) = ScoutingMessage::decode(&mut Reader::new(bytes)) {
        let again = message.to_vec().expect("it has a wire form");
        assert_eq!(
            ScoutingMessage::decode(&mut Reader::new(&again)),
            Ok(message)
        );
    }
    if let Ok(list) = LinkStateList::decode(&mut Reader::new(bytes)) {
        let states: Vec<LinkState<'_>> = list.iter().collect();
        assert_eq!(states.len(), list.len());
        let again = LinkStates(&states).to_vec().expect("it has a wire form");
        let list = LinkStateList::decode(&mut Reader::new(&again)).expect("our own bytes");
        assert!(list.iter().eq(states));
    }
    cut_through(bytes);
}

/// Checks that the raw body of a push is the body, and that a new head in front of it, with or
/// without another timestamp, changes nothing else.
fn cut_through(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok((push, raw)) = Push::decode_with_raw(&mut reader) else {
        return;
    };
    assert!(bytes[..reader.position()].ends_with(raw));
    let timestamp: Timestamp = "7386690599959157260/a1b2".parse().expect("a timestamp");
    for stamp in [None, Some(timestamp)] {
        let head = PushHead::new(WireExpr::full("another/key"), push.qos, NodeId::of(3));
        let mut forwarded = head.passing(&push, raw, stamp).to_vec().expect("a form");
        let mut expected = push;
        expected.wire_expr = WireExpr::full("another/key");
        expected.node_id = NodeId::of(3);
        if let PushBody::Put(put) = &mut expected.body {
            forwarded.extend_from_slice(put.payload);
            put.timestamp = stamp.or(put.timestamp);
        }
        let decoded = NetworkMessage::decode(&mut Reader::new(&forwarded)).expect("a push");
        assert_eq!(decoded, NetworkMessage::Push(expected));
    }
}

#[test]
fn golden_vectors_survive() {
    for bytes in vectors() {
        survive(bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        survive(&bytes);
    }

    /// Bytes that begin like a message get further.
    #[test]
    fn random_bytes_behind_a_header(
        header in prop_oneof![0u8..8, 0x19u8..0x20],
        flags in 0u8..8,
        bytes in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..60),
    ) {
        let mut input = vec![flags << 5 | header];
        input.extend(bytes);
        survive(&input);
    }

    #[test]
    fn mutated_vectors(
        index in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..5),
    ) {
        let mut bytes = index.get(vectors()).clone();
        for (place, value, kind) in changes {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match kind {
                0 => bytes[place] = value,
                1 => bytes.insert(place, value),
                _ => drop(bytes.remove(place)),
            }
        }
        survive(&bytes);
    }
}
