// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each head against the same message encoded field by field.

use proptest::prelude::*;

use super::*;
use crate::{
    body::Del,
    encoding::Encoding,
    id::{SourceInfo, ZenohId},
    network::TsStackBuf,
    reader::Reader,
    timestamp::Ntp64,
    wire_expr::Mapping,
};

const LONG: &str = "a/key/of/which/the/text/is/so/long/that/no/block/takes/it/in/front/of/a/timestamp/and/even/less/so/with/one";
const SHARE_BYTES_MIN: usize = 16 * 1024;

fn head(pick: u8, node_id: u16) -> PushHead<'static> {
    let suffix = match pick {
        0 => "",
        1 => "a/key/that/is/longer/than/an/id",
        _ => LONG,
    };
    let wire_expr = WireExpr {
        scope: 300,
        suffix,
        mapping: Mapping::Sender,
    };
    PushHead::new(wire_expr, Qos::DATA, NodeId::of(node_id))
}

fn stamp(time: u64) -> Timestamp {
    Timestamp::new(Ntp64(time), ZenohId::random_from(9))
}

fn push(payload: &[u8], (stamped, encoded): (bool, bool)) -> Push<'_> {
    let mut put = Put::new(payload);
    if stamped {
        put.timestamp = Some(Timestamp::new(Ntp64(1 << 60), ZenohId::random_from(3)));
    }
    if encoded {
        put.encoding = Encoding {
            id: 7,
            schema: None,
        };
    }
    Push::new(WireExpr::full("here/it/has/this/key"), PushBody::Put(put))
}

/// Returns `push` as a neighbour with `head` is to get it.
fn expected(mut push: Push<'_>, head: &PushHead<'static>, stamp: Option<Timestamp>) -> Vec<u8> {
    push.wire_expr = head.wire_expr;
    push.node_id = head.node_id;
    if let PushBody::Put(put) = &mut push.body {
        put.timestamp = stamp.or(put.timestamp);
    }
    push.to_vec().expect("it has a form")
}

/// Returns the messages of `bytes` after the first.
fn run(bytes: &[u8]) -> Option<PushRun<'_>> {
    let start = Reader::new(bytes);
    let mut reader = start;
    let (push, raw) = Push::decode_with_raw(&mut reader).expect("a push");
    PushRun::following(start, &push, raw, reader)
}

proptest! {
    /// Whatever the room, as many whole copies are written as the result has, and the next message
    /// is as it was. Messages that are left to the caller are written alike.
    #[test]
    fn copies_are_what_one_by_one_would_be(
        sizes in prop::collection::vec(
            prop_oneof![8 => 0_usize..200, 1 => 200_usize..3000, 1 => 16_000_usize..17_000],
            1..40,
        ),
        form in (0_u8..3, prop_oneof![Just(0), any::<u16>()]),
        body in any::<(bool, bool)>(),
        first in prop_oneof![Just(None), (1_u64 << 55..=1 << 62).prop_map(Some), Just(Some(u64::MAX - 3))],
        room in prop_oneof![0_usize..500, 0_usize..60_000],
    ) {
        let payload = [0xa5; 17_000];
        let stamped = body.0 && first.is_none();
        let one = |size| push(&payload[..size], (stamped, body.1 && !stamped));
        let messages: Vec<_> = sizes.iter().copied().map(one).collect();
        // the last ones of a batch are not recognised
        let end = push(&payload[..64], (!stamped, false));
        let all = messages.iter().chain([&end]).map(|push| push.to_vec().expect("it has a form"));
        let bytes = [messages[0].to_vec().expect("it has a form")].into_iter().chain(all).collect::<Vec<_>>().concat();
        let mut rest = run(&bytes).expect("they are alike");
        let head = head(form.0, form.1);
        let (mut whole, mut ends) = (Vec::new(), Vec::new());
        for (place, push) in messages.iter().enumerate() {
            let stamp = first.map(|first| stamp(first.saturating_add(place as u64)));
            whole.extend(expected(*push, &head, stamp));
            ends.push(whole.len());
        }

        let stencil = head.stencil(first.map(stamp), SHARE_BYTES_MIN, &rest);
        let mut written = Vec::new();
        let mut number = 0;
        loop {
            let mut buffer = vec![0; room];
            let mut writer = Writer::new(&mut buffer);
            let copied = stencil.copy(number, &mut writer, &mut rest);
            prop_assert!(copied.number >= number);
            written.extend_from_slice(writer.written());
            number = copied.number;
            prop_assert_eq!(written.len(), number.checked_sub(1).map_or(0, |last| ends[last as usize]));
            let Some(again) = copied.left else { break };
            written.extend(stencil.one(&again, number).to_vec().expect("it has a form"));
            written.extend_from_slice(again.payload);
            number += 1;
        }
        prop_assert_eq!(number as usize, messages.len());
        prop_assert!(written == whole, "the bytes differ");
    }
}

/// Messages with and without the fields that make it necessary to write them anew, and in any room.
#[test]
fn a_message_that_passes_through_differs_in_key_node_id_and_timestamp_alone() {
    let del = Del {
        timestamp: Some(stamp(1 << 60)),
        ..Del::default()
    };
    let deleting = Push::new(WireExpr::full("k"), PushBody::Del(del));
    let mut messages = vec![deleting];
    for shape in [(false, false), (false, true), (true, false), (true, true)] {
        messages.push(push(b"value", shape));
    }
    for mut push in messages {
        for (hop_time, given) in [(false, false), (false, true), (true, false), (true, true)] {
            push.node_id = NodeId::marked(7, 40_000);
            push.timestamp = hop_time.then(|| stamp(3));
            let given = given.then(|| stamp(1 << 61));
            let bytes = push.to_vec().expect("it has a form");
            let (read, raw) = Push::decode_with_raw(&mut Reader::new(&bytes)).expect("a push");
            for head in [head(0, 0), head(1, 300)] {
                let passed = head.passing(&read, raw, given);
                let mut written = passed.to_vec().expect("it has a form");
                let len = written.len();
                let mut tight = vec![0; len - 1];
                let mut writer = Writer::new(&mut tight);
                assert_eq!(passed.encode(&mut writer), Err(EncodeError::NoRoom));
                assert_eq!(writer.position(), 0);
                if let PushBody::Put(put) = &read.body {
                    written.extend_from_slice(put.payload);
                }
                assert_eq!(written, expected(read, &head, given));
            }
        }
    }
}

/// A prepared head has the bytes of one that was written for its message, whatever it stands for.
#[test]
fn a_completed_head_is_the_head_written_anew() {
    for scope in [1, 127, 128, 65_535] {
        for mapping in [Mapping::Sender, Mapping::Receiver] {
            for (encoding, qos) in [
                (0, Qos::DATA),
                (7, Qos::DECLARE),
                (65_535, Qos::from_bits(0x1d)),
            ] {
                let wire_expr = WireExpr {
                    scope,
                    suffix: "",
                    mapping,
                };
                let head = PushHead::new(wire_expr, qos, NodeId::ITSELF);
                let mut put = Put::new(&[]);
                put.encoding.id = encoding;
                let mut prepared = head.prepare(&put).expect("room");
                for payload_len in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
                    let anew = head.of(&PushBody::Put(put), payload_len).to_vec();
                    prepared.complete(payload_len).expect("room");
                    let completed = prepared.whole();
                    assert_eq!(completed.to_vec(), anew);
                    let mut tight = vec![0; anew.as_ref().expect("a form").len()];
                    assert_eq!(completed.encode(&mut Writer::new(&mut tight)), Ok(()));
                    assert_eq!(Ok(&tight), anew.as_ref());
                    tight.pop();
                    let cut = completed.encode(&mut Writer::new(&mut tight));
                    assert_eq!(cut, Err(EncodeError::NoRoom));
                }
            }
        }
    }
}

/// Numbers of every length, and those around which the length changes.
fn number() -> impl Strategy<Value = u32> {
    let edge = prop::sample::select(vec![7, 14, 21, 28]);
    let near = (edge, 0_u32..4).prop_map(|(bits, step)| (1 << bits) - 2 + step);
    let any = (any::<u32>(), 0_u32..32).prop_map(|(number, shift)| number >> shift);
    prop_oneof![1 => near, 2 => any, 1 => (u32::MAX - 2)..=u32::MAX]
}

proptest! {
    /// Messages follow each other under one head, and each has the bytes of one that was written
    /// for it alone, in any room.
    #[test]
    fn a_numbered_head_is_the_head_written_anew(
        (scope, mapping) in (1_u16.., prop::sample::select(vec![Mapping::Sender, Mapping::Receiver])),
        (encoding, qos) in (prop_oneof![Just(0), any::<u16>()], 0_u8..=0x1f),
        (id, eid) in ((any::<u128>(), 0_u32..128).prop_map(|(id, shift)| id >> shift), number()),
        messages in prop::collection::vec((number(), 0_u32..300, 0_usize..70_000), 1..8),
    ) {
        let wire_expr = WireExpr { scope, suffix: "", mapping };
        let head = PushHead::new(wire_expr, Qos::from_bits(qos), NodeId::ITSELF);
        let source = EntityGlobalId { zid: ZenohId::random_from(id), eid };
        let mut put = Put::new(&[]);
        put.encoding.id = encoding;
        let mut numbered = head.prepare_numbered(&put, &source).expect("room");
        for (first, count, payload_len) in messages {
            numbered.complete(payload_len, first).expect("room");
            let mut written = first;
            for sn in (0..count).map_while(|step| first.checked_add(step)) {
                if sn >> NumberedHead::NUMBER_BITS != written >> NumberedHead::NUMBER_BITS {
                    numbered.complete(payload_len, sn).expect("room");
                    written = sn;
                }
                put.source_info = Some(SourceInfo { id: source, sn });
                let body = PushBody::Put(put);
                let anew = head.of(&body, payload_len).to_vec().expect("a form");
                let front = numbered.numbered(sn);
                prop_assert_eq!(&front.to_vec().expect("a form"), &anew);
                let mut tight = vec![0; anew.len()];
                prop_assert_eq!(front.encode(&mut Writer::new(&mut tight)), Ok(()));
                prop_assert_eq!(&tight, &anew);
                tight.pop();
                let mut writer = Writer::new(&mut tight);
                prop_assert_eq!(front.encode(&mut writer), Err(EncodeError::NoRoom));
                prop_assert_eq!(writer.position(), 0);
            }
        }
    }
}

#[test]
fn a_key_in_full_has_no_prepared_head() {
    let long = PushHead::new(
        WireExpr::full("a/key/that/has/no/id/here"),
        Qos::DATA,
        NodeId::ITSELF,
    );
    assert!(long.prepare(&Put::new(&[])).is_none());
    let source = EntityGlobalId {
        zid: ZenohId::random_from(u128::MAX),
        eid: u32::MAX,
    };
    assert!(long.prepare_numbered(&Put::new(&[]), &source).is_none());
    let short = head(0, 0);
    assert!(short.prepare_numbered(&Put::new(&[]), &source).is_some());
    let beside = Put {
        attachment: Some(b"beside"),
        ..Put::new(&[])
    };
    assert!(short.prepare_numbered(&beside, &source).is_none());
}

/// A forwarded message keeps its stack, and has the QoS of the neighbour's filters.
#[test]
fn a_head_has_the_stack_of_its_message() {
    let mut stack = TsStackBuf::new(3).expect("a stack");
    assert!(stack.push(TsStack::SEND, b"now"));
    let mut given = push(b"the payload", (true, true));
    given.qos = Qos::REQUEST;
    given.ts_stack = Some(stack.view());
    let head = head(1, 7);
    let mut wanted = Push {
        qos: Qos::DATA,
        ..given
    };
    wanted.wire_expr = head.wire_expr;
    wanted.node_id = head.node_id;
    let wanted = wanted.to_vec().expect("it has a form");

    let whole = given.to_vec().expect("it has a form");
    let (read, raw) = Push::decode_with_raw(&mut Reader::new(&whole)).expect("a push");
    let passed = head
        .passing(&read, raw, None)
        .to_vec()
        .expect("it has a form");
    assert_eq!([&passed, &b"the payload"[..]].concat(), wanted);
    let new = head.of(&given.body, b"the payload".len());
    let new = new
        .with_stack(stack.view())
        .to_vec()
        .expect("it has a form");
    assert_eq!([&new, &b"the payload"[..]].concat(), wanted);
}
