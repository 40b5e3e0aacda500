// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every golden vector of the layers that this crate decodes, in both directions.
//!
//! The vectors come from the reference's own encoder and from captures of live nodes. The layers `keyexpr`
//! and `locator` have test files of their own; of `derived`, the batches are decoded here, while initial
//! sequence numbers, the password hash, decompression and edge weights belong to the crates above.

use serde_json::Value;
use zonda_codec::{
    DecodeError, Encode, Encoding, LinkState, LinkStateList, LinkStates, NetworkMessage, Oam,
    OamBody, Reader, ScoutingMessage, Timestamp, TransportMessage, Writer, ZenohId,
};
use zonda_testkit::json::{self, hex, unhex};

struct Vector {
    name: String,
    bytes: Vec<u8>,
    decoded: Value,
    reencodes: bool,
    trailing: usize,
}

impl Vector {
    fn is_error(&self) -> bool {
        self.decoded["error"] == true
    }
}

/// Reads the vectors of one layer; the file holds `expected` of them.
fn vectors(layer: &str, expected: usize) -> Vec<Vector> {
    let all = json::golden_vectors();
    assert_eq!(all.len(), 1151, "vectors in the file");
    let vectors: Vec<Vector> = all
        .into_iter()
        .filter(|vector| vector["layer"] == layer)
        .map(|vector| Vector {
            name: vector["name"].as_str().expect("a name").to_owned(),
            bytes: unhex(vector["hex"].as_str().expect("hex")),
            reencodes: vector["reencode"] != false,
            trailing: vector["trailing_bytes"].as_u64().unwrap_or(0) as usize,
            decoded: vector["decoded"].clone(),
        })
        .collect();
    assert_eq!(vectors.len(), expected, "vectors of layer {layer}");
    vectors
}

type Parts = (Value, Vec<u8>);

/// Decodes one message with `decode`, which returns its JSON and its re-encoding, and compares both
/// with the vector.
fn check(vector: &Vector, decode: impl FnOnce(&mut Reader<'_>) -> Result<Parts, DecodeError>) {
    let mut reader = Reader::new(&vector.bytes);
    let result = decode(&mut reader);
    if vector.is_error() {
        assert!(result.is_err(), "{} was accepted: {result:?}", vector.name);
        return;
    }
    let (value, encoded) = result.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
    assert_eq!(value, vector.decoded, "{}", vector.name);
    assert_eq!(
        reader.remaining(),
        vector.trailing,
        "{}: bytes left",
        vector.name
    );
    if vector.reencodes {
        assert_eq!(hex(&encoded), hex(&vector.bytes), "{}", vector.name);
    }
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut buffer = [0; 512];
    let mut writer = Writer::new(&mut buffer);
    write(&mut writer);
    writer.written().to_vec()
}

#[test]
fn primitives() {
    for vector in vectors("primitive", 42) {
        let (kind, _) = vector
            .decoded
            .as_object()
            .and_then(|map| map.iter().next())
            .expect("a kind");
        check(&vector, |reader| match kind.as_str() {
            "vle" => {
                let value = reader.z64()?;
                let encoded = written(|writer| writer.vle(value).expect("room"));
                Ok((serde_json::json!({ "vle": value }), encoded))
            }
            "string" => {
                let text = reader.str_z64()?;
                let encoded = written(|writer| writer.bytes_vle(text.as_bytes()).expect("room"));
                Ok((serde_json::json!({ "string": text }), encoded))
            }
            "zid" => {
                let zid = ZenohId::read_sized(reader)?;
                let encoded = written(|writer| zid.write_sized(writer).expect("room"));
                Ok((serde_json::json!({ "zid": zid.to_string() }), encoded))
            }
            "encoding" => {
                let encoding = Encoding::read(reader)?;
                let encoded = written(|writer| encoding.write(writer).expect("room"));
                Ok((
                    serde_json::json!({ "encoding": json::encoding(&encoding) }),
                    encoded,
                ))
            }
            "timestamp" => {
                let timestamp = Timestamp::read(reader)?;
                let encoded = written(|writer| timestamp.write(writer).expect("room"));
                Ok((
                    serde_json::json!({ "timestamp": json::timestamp(&timestamp) }),
                    encoded,
                ))
            }
            other => panic!("{}: unknown primitive {other}", vector.name),
        });
    }
}

#[test]
fn scouting() {
    for vector in vectors("scouting", 29) {
        check(&vector, |reader| {
            let message = ScoutingMessage::decode(reader)?;
            Ok((
                json::scouting(&message),
                message.to_vec().expect("it has a wire form"),
            ))
        });
    }
}

#[test]
fn network() {
    for vector in vectors("network", 294) {
        check(&vector, |reader| {
            let message = NetworkMessage::decode(reader)?;
            Ok((
                json::network(&message),
                message.to_vec().expect("it has a wire form"),
            ))
        });
    }
}

/// Converts a network message with the link states in it spelled out, as the captures do.
fn network_with_link_states(message: &NetworkMessage<'_>) -> Value {
    let mut value = json::network(message);
    if let NetworkMessage::Oam(Oam {
        id: Oam::LINK_STATE,
        body: OamBody::Buf(body),
        ..
    }) = message
    {
        let list = LinkStateList::decode(&mut Reader::new(body)).expect("link states");
        value["linkstate"] = list.iter().map(|state| json::link_state(&state)).collect();
    }
    value
}

/// Reads one transport message, a frame with the network messages in it.
fn transport_message(
    reader: &mut Reader<'_>,
    network: fn(&NetworkMessage<'_>) -> Value,
) -> Result<Parts, DecodeError> {
    let message = TransportMessage::decode(reader)?;
    let (mut value, mut encoded) = (
        json::transport(&message),
        message.to_vec().expect("it has a wire form"),
    );
    if let TransportMessage::Frame(_) = message {
        let mut payload = Vec::new();
        while reader.peek().is_some_and(NetworkMessage::starts) {
            let mut attempt = *reader;
            let Ok(message) = NetworkMessage::decode(&mut attempt) else {
                break;
            };
            payload.push(network(&message));
            encoded.extend(message.to_vec().expect("it has a wire form"));
            *reader = attempt;
        }
        value["payload"] = Value::Array(payload);
    }
    Ok((value, encoded))
}

/// Random vectors whose priority extension carries bits above the three of the priority. No encoder writes
/// them; they are dropped here, so these come back shorter and are compared by their fields.
const RESERVED_PRIORITY_BITS: [&str; 12] = [
    "rand_fragment_0",
    "rand_fragment_1",
    "rand_fragment_2",
    "rand_fragment_3",
    "rand_fragment_4",
    "rand_fragment_5",
    "rand_fragment_6",
    "rand_fragment_7",
    "rand_toam_0",
    "rand_toam_1",
    "rand_toam_2",
    "rand_toam_3",
];

#[test]
fn transport() {
    let mut with_reserved_bits = 0;
    for mut vector in vectors("transport", 157) {
        if RESERVED_PRIORITY_BITS.contains(&vector.name.as_str()) {
            let (_, encoded) = transport_message(&mut Reader::new(&vector.bytes), json::network)
                .unwrap_or_else(|error| panic!("{}: {error}", vector.name));
            assert_ne!(encoded, vector.bytes, "{}", vector.name);
            vector.reencodes = false;
            check(&vector, |reader| transport_message(reader, json::network));
            vector.bytes = encoded;
            vector.reencodes = true;
            with_reserved_bits += 1;
        }
        check(&vector, |reader| transport_message(reader, json::network));
    }
    assert_eq!(with_reserved_bits, RESERVED_PRIORITY_BITS.len());
}

fn whole_batch(reader: &mut Reader<'_>) -> Result<Parts, DecodeError> {
    let (mut values, mut encoded) = (Vec::new(), Vec::new());
    while !reader.is_empty() {
        let (value, bytes) = transport_message(reader, network_with_link_states)?;
        values.push(value);
        encoded.extend(bytes);
    }
    Ok((Value::Array(values), encoded))
}

#[test]
fn batches() {
    for vector in vectors("batch", 212) {
        check(&vector, whole_batch);
    }
}

#[test]
fn derived_batches() {
    let mut batches = 0;
    for mut vector in vectors("derived", 13) {
        let Some(plain) = vector.decoded["plain_hex"].as_str() else {
            continue;
        };
        let compressed = vector.decoded["batch_header"] == 1;
        let plain = unhex(plain);
        if !compressed {
            assert_eq!(vector.bytes[1..], plain, "{}", vector.name);
        }
        vector.bytes = plain;
        vector.decoded = vector.decoded["messages"].clone();
        check(&vector, whole_batch);
        batches += 1;
    }
    assert_eq!(batches, 4);
}

#[test]
fn framing() {
    for mut vector in vectors("framing", 4) {
        let mut reader = Reader::new(&vector.bytes);
        let length = match vector.decoded["length_prefix"].as_str() {
            Some("u16le") => usize::from(reader.u16_le().expect("a prefix")),
            Some("u32le") => {
                let bytes = reader
                    .take(4)
                    .expect("a prefix")
                    .try_into()
                    .expect("four bytes");
                u32::from_le_bytes(bytes) as usize
            }
            other => panic!("{}: unknown prefix {other:?}", vector.name),
        };
        assert_eq!(reader.remaining(), length, "{}", vector.name);
        let batch = reader.rest().to_vec();
        assert_eq!(vector.decoded["batch_hex"], hex(&batch), "{}", vector.name);
        let encoded = if NetworkMessage::starts(batch[0]) {
            NetworkMessage::decode(&mut Reader::new(&batch))
                .expect("a message")
                .to_vec()
                .expect("it has a wire form")
        } else {
            TransportMessage::decode(&mut Reader::new(&batch))
                .expect("a message")
                .to_vec()
                .expect("it has a wire form")
        };
        assert_eq!(encoded, batch, "{}", vector.name);
        vector.bytes.clear();
    }
}

#[test]
fn link_states() {
    for vector in vectors("linkstate", 21) {
        check(&vector, |reader| {
            let list = LinkStateList::decode(reader)?;
            let states: Vec<LinkState<'_>> = list.iter().collect();
            assert_eq!(states.len(), list.len(), "{}", vector.name);
            Ok((
                states.iter().map(json::link_state).collect(),
                LinkStates(&states).to_vec().expect("it has a wire form"),
            ))
        });
    }
}

/// Every vector, cut anywhere, is read up to the cut or refused, never further.
#[test]
fn cut_vectors_are_survived() {
    for layer in [
        ("network", 294),
        ("transport", 157),
        ("scouting", 29),
        ("linkstate", 21),
    ] {
        for vector in vectors(layer.0, layer.1) {
            for cut in 0..vector.bytes.len() {
                let bytes = &vector.bytes[..cut];
                let _ = NetworkMessage::decode(&mut Reader::new(bytes));
                let _ = TransportMessage::decode(&mut Reader::new(bytes));
                let _ = ScoutingMessage::decode(&mut Reader::new(bytes));
                let _ = LinkStateList::decode(&mut Reader::new(bytes));
            }
        }
    }
}

/// A buffer one byte too small is refused, whatever the message, and the writer is as it was.
#[test]
fn messages_that_do_not_fit_leave_no_trace() {
    for vector in vectors("network", 294) {
        let Ok(message) = NetworkMessage::decode(&mut Reader::new(&vector.bytes)) else {
            continue;
        };
        let length = message.to_vec().expect("it has a wire form").len();
        for room in 0..length {
            let mut buffer = vec![0; room + 1];
            let mut writer = Writer::new(&mut buffer);
            writer.u8(7).expect("room");
            assert!(
                message.encode(&mut writer).is_err(),
                "{} in {room}",
                vector.name
            );
            assert_eq!(writer.written(), [7], "{}", vector.name);
        }
        let mut buffer = vec![0; length];
        assert!(
            message.encode(&mut Writer::new(&mut buffer)).is_ok(),
            "{}",
            vector.name
        );
    }
}
