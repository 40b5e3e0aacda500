// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random messages against the reference's own codec: their bytes decode here to the same fields, our bytes
//! decode there to the same message. A failure prints the bytes, which reproduce it.

use crate::dice::Dice;
use proptest::prelude::*;
use serde_json::Value;
use zenoh_buffers::{ZSlice, writer::HasWriter};
use zenoh_codec::{RCodec, WCodec, Zenoh080};
use zenoh_protocol::common::ZExtZ64;
use zenoh_protocol::network as their_network;
use zenoh_protocol::network::timestamp_stack::{self, Interception, TimestampStack, TsStackType};
use zenoh_protocol::network::{Mapping as TheirMapping, NetworkBody};
use zenoh_protocol::scouting as their_scouting;
use zenoh_protocol::transport as their_transport;
use zenoh_protocol::transport::TransportBody;
use zonda_codec::{
    DecodeError, Encode, NetworkMessage, Reader, ScoutingMessage, TransportMessage, TsStackBuf,
};
use zonda_testkit::json::{self, hex};
use zonda_testkit::reference;

const ROUNDS: usize = 1500;

macro_rules! their_bytes {
    ($message:expr) => {{
        let mut bytes = Vec::new();
        let mut writer = bytes.writer();
        Zenoh080::new()
            .write(&mut writer, $message)
            .expect("a vector grows");
        bytes
    }};
}

/// Reads one of their messages from our bytes, all of which it must take.
fn read_theirs<T>(bytes: &[u8]) -> T
where
    Zenoh080: for<'r> RCodec<T, &'r mut ZSlice>,
{
    let mut slice = ZSlice::from(bytes.to_vec());
    let message = Zenoh080::new()
        .read(&mut slice)
        .unwrap_or_else(|_| panic!("the reference refuses {}", hex(bytes)));
    let left = zenoh_buffers::reader::Reader::remaining(&slice);
    assert_eq!(left, 0, "the reference leaves bytes of {}", hex(bytes));
    message
}

/// Decodes one of our messages, which must take all bytes, and compares its fields with theirs.
fn compare<'a, T: Encode>(
    bytes: &'a [u8],
    theirs: &Value,
    decode: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    to_json: impl FnOnce(&T) -> Value,
) -> Vec<u8> {
    let mut reader = Reader::new(bytes);
    let ours = decode(&mut reader).unwrap_or_else(|error| panic!("{error}: {}", hex(bytes)));
    assert!(reader.is_empty(), "bytes left of {}", hex(bytes));
    assert_eq!(to_json(&ours), *theirs, "{}", hex(bytes));
    ours.to_vec().expect("it has a wire form")
}

/// Sets the sender's mapping, as their random keys all have the receiver's.
fn set_sender_mapping(message: &mut their_network::NetworkMessage) {
    match &mut message.body {
        NetworkBody::Push(push) => push.wire_expr.mapping = TheirMapping::Sender,
        NetworkBody::Request(request) => request.wire_expr.mapping = TheirMapping::Sender,
        NetworkBody::Response(response) => response.wire_expr.mapping = TheirMapping::Sender,
        _ => {}
    }
}

#[test]
fn network_messages_of_the_reference() {
    for round in 0..ROUNDS {
        let mut theirs = match round % 7 {
            0 => NetworkBody::Interest(their_network::Interest::rand()).into(),
            _ => their_network::NetworkMessage::rand(),
        };
        if round % 2 == 0 {
            set_sender_mapping(&mut theirs);
        }
        let bytes = their_bytes!(&theirs);
        let fields = reference::network(&theirs);
        let ours = compare(&bytes, &fields, NetworkMessage::decode, json::network);
        assert_eq!(hex(&ours), hex(&bytes), "our encoding of {fields}");
        assert_eq!(read_theirs::<their_network::NetworkMessage>(&ours), theirs);
    }
}

/// Reads the stack of a push that the reference has encoded.
fn stack_of(bytes: &[u8]) -> TsStackBuf {
    let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("a push");
    let NetworkMessage::Push(push) = message else {
        panic!("no push: {message:?}");
    };
    TsStackBuf::of(push.ts_stack.expect("a stack"))
}

/// A stack to which a node here adds its record is, byte by byte, what a node of the reference makes
/// of it, up to the largest number of records.
#[test]
fn stacks_grow_as_those_of_the_reference() {
    let stacked = |stack: &TimestampStack| -> their_network::NetworkMessage {
        let mut push = their_network::Push::rand();
        push.ext_ts_stack = Some(TsStackType {
            ts_stack: stack.clone(),
        });
        NetworkBody::Push(push).into()
    };
    let mut theirs = TimestampStack {
        conf_flags: 0b111,
        stack: Vec::new(),
    };
    let mut ours = stack_of(&their_bytes!(&stacked(&theirs)));
    for number in 0..timestamp_stack::MAX_STACK_SIZE {
        let flags = [0x01, 0x02, 0x84, 0x82][number % 4];
        let timestamp = vec![number as u8; number];
        assert!(ours.push(flags, &timestamp));
        theirs.stack.push(Interception { flags, timestamp });
        let message = stacked(&theirs);
        let bytes = their_bytes!(&message);
        assert_eq!(stack_of(&bytes), ours, "{number} records");
        let NetworkMessage::Push(mut push) =
            NetworkMessage::decode(&mut Reader::new(&bytes)).expect("a push")
        else {
            panic!("no push");
        };
        push.ts_stack = Some(ours.view());
        assert_eq!(push.to_vec().expect("it has a form"), bytes);
    }
    assert!(!ours.push(0x02, b"one too many"));
}

/// Turns a random transport message into one that a node can send: no bits without meaning.
fn make_meaningful(message: &mut their_transport::TransportMessage) {
    let bound = |ext: &mut Option<ZExtZ64<{ their_transport::open::ext::RemoteBound::ID }>>| {
        if let Some(ext) = ext {
            ext.value %= 2;
        }
    };
    match &mut message.body {
        TransportBody::InitSyn(init) => {
            if let Some(name) = &mut init.ext_region_name {
                name.value = b"eu-west".to_vec().into();
            }
        }
        TransportBody::InitAck(init) => {
            if let Some(name) = &mut init.ext_region_name {
                name.value = b"eu-west".to_vec().into();
            }
        }
        TransportBody::OpenSyn(open) => bound(&mut open.ext_remote_bound),
        TransportBody::OpenAck(open) => bound(&mut open.ext_remote_bound),
        TransportBody::Frame(frame) => {
            let priority = frame.ext_qos.priority();
            frame.ext_qos = their_transport::frame::ext::QoSType::new(priority);
        }
        TransportBody::Fragment(fragment) => {
            let priority = fragment.ext_qos.priority();
            fragment.ext_qos = their_transport::fragment::ext::QoSType::new(priority);
        }
        TransportBody::OAM(oam) => {
            let priority = oam.ext_qos.priority();
            oam.ext_qos = their_transport::oam::ext::QoSType::new(priority);
        }
        _ => {}
    }
}

/// A transport message with the network messages of a frame.
struct WithPayload<'a>(TransportMessage<'a>, Vec<NetworkMessage<'a>>);

impl<'a> WithPayload<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let message = TransportMessage::decode(reader)?;
        let mut payload = Vec::new();
        if matches!(message, TransportMessage::Frame(_)) {
            while !reader.is_empty() {
                payload.push(NetworkMessage::decode(reader)?);
            }
        }
        Ok(WithPayload(message, payload))
    }

    fn to_json(&self) -> Value {
        let mut value = json::transport(&self.0);
        if matches!(self.0, TransportMessage::Frame(_)) {
            value["payload"] = self.1.iter().map(json::network).collect();
        }
        value
    }
}

impl Encode for WithPayload<'_> {
    fn encode(&self, writer: &mut zonda_codec::Writer<'_>) -> Result<(), zonda_codec::EncodeError> {
        writer.all_or_nothing(|writer| {
            self.0.encode(writer)?;
            self.1.iter().try_for_each(|message| message.encode(writer))
        })
    }
}

#[test]
fn transport_messages_of_the_reference() {
    for _ in 0..ROUNDS {
        let mut theirs = their_transport::TransportMessage::rand();
        make_meaningful(&mut theirs);
        let bytes = their_bytes!(&theirs);
        let fields = reference::transport(&theirs);
        let ours = compare(&bytes, &fields, WithPayload::decode, WithPayload::to_json);
        assert_eq!(hex(&ours), hex(&bytes), "our encoding of {fields}");
        assert_eq!(
            read_theirs::<their_transport::TransportMessage>(&ours),
            theirs
        );
    }
}

#[test]
fn scouting_messages_of_the_reference() {
    for _ in 0..ROUNDS {
        let theirs = their_scouting::ScoutingMessage::rand();
        let bytes = their_bytes!(&theirs);
        let fields = reference::scouting(&theirs);
        let ours = compare(&bytes, &fields, ScoutingMessage::decode, json::scouting);
        assert_eq!(hex(&ours), hex(&bytes), "our encoding of {fields}");
        assert_eq!(
            read_theirs::<their_scouting::ScoutingMessage>(&ours),
            theirs
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Messages of ours with fields that the reference's generator never picks.
    #[test]
    fn network_messages_of_ours(entropy in proptest::collection::vec(any::<u8>(), 0..600)) {
        let ours = Dice::new(&entropy).network();
        let bytes = ours.to_vec().expect("it has a wire form");
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(NetworkMessage::decode(&mut reader), Ok(ours));
        prop_assert!(reader.is_empty());
        let theirs: their_network::NetworkMessage = read_theirs(&bytes);
        prop_assert_eq!(reference::network(&theirs), json::network(&ours));
    }
}
