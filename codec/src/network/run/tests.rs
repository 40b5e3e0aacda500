// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recogniser of runs against reading one message after the other.

use proptest::prelude::*;

use super::*;
use crate::{
    body::Put,
    encoding::Encoding,
    id::ZenohId,
    network::TsStackBuf,
    qos::Qos,
    timestamp::Ntp64,
    wire_expr::{Mapping, WireExpr},
    writer::Encode,
};

const SCHEMA: &[u8] = b"ab";

fn push(pick: (u8, u8, u8), time: u64, payload: &[u8]) -> Push<'_> {
    let (key, qos, rich) = pick;
    let wire_expr = match key % 4 {
        0 => WireExpr::full("a/b"),
        1 => WireExpr::full("a/key/that/is/longer/than/what/is/compared"),
        scope => WireExpr {
            scope: u16::from(scope) * 100,
            suffix: "",
            mapping: Mapping::Sender,
        },
    };
    let mut put = Put::new(payload);
    if rich & 1 != 0 {
        let clock = match time % 4 {
            0 => 7,
            1 => u128::MAX >> 8,
            _ => u128::MAX,
        };
        // mostly nine bytes, as the time of today has
        let time = match time % 5 {
            0 => time >> (time % 60),
            _ => time | 1 << 63,
        };
        put.timestamp = Some(Timestamp::new(Ntp64(time), ZenohId::random_from(clock)));
    }
    if rich & 2 != 0 {
        put.encoding = Encoding {
            id: 3,
            schema: (rich & 4 != 0).then_some(SCHEMA),
        };
    }
    if rich & 8 != 0 {
        put.attachment = Some(b"x");
    }
    let mut push = Push::new(wire_expr, PushBody::Put(put));
    push.qos = if qos % 2 == 0 {
        Qos::DATA
    } else {
        Qos::DECLARE
    };
    push
}

/// Checks that the runs in these bytes yield the messages that are read one by one.
fn assert_read_alike(bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let start = reader;
        let Ok((first, raw)) = Push::decode_with_raw(&mut reader) else {
            break;
        };
        let Some(mut run) = PushRun::following(start, &first, raw, reader) else {
            continue;
        };
        let mut template = first;
        while let Some(again) = run.next() {
            let (push, raw) = Push::decode_with_raw(&mut reader).expect("the run has read it");
            again.write_to(&mut template);
            prop_assert_eq!(template, push);
            prop_assert_eq!(again.raw_body, raw);
            prop_assert_eq!(run.reader().position(), reader.position());
            prop_assert_eq!(
                again.short().is_some(),
                again.payload.len() <= Short::BYTES_MAX
            );
            prop_assert!(
                again
                    .short()
                    .is_none_or(|short| short.as_slice() == again.payload)
            );
            prop_assert_eq!(*run.timestamp(), again.timestamp);
        }
    }
    Ok(())
}

proptest! {
    /// A run yields the messages that reading message by message yields, and it never goes past the
    /// end.
    #[test]
    fn a_run_is_what_one_by_one_would_be(
        picks in prop::collection::vec((0_u8..4, 0_u8..2, 0_u8..16), 1..4),
        order in prop::collection::vec((0_usize..4, any::<u64>(), 0_usize..300), 1..40),
        cut in 0_usize..40,
    ) {
        let payload = [0xa5; 300];
        let mut bytes = Vec::new();
        for (pick, time, len) in &order {
            let push = push(picks[pick % picks.len()], *time, &payload[..*len]);
            bytes.extend(push.to_vec().expect("a form"));
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        assert_read_alike(&bytes)?;
    }

    #[test]
    fn any_bytes_are_read_as_one_by_one_would_be(
        head in prop::collection::vec(any::<u8>(), 0..24),
        tails in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..24), 1..8),
    ) {
        let mut bytes = vec![];
        for tail in &tails {
            bytes.push(0x1d);
            bytes.extend(&head);
            bytes.extend(tail);
        }
        assert_read_alike(&bytes)?;
    }

    /// Streams that a clock has stamped, broken somewhere.
    #[test]
    fn broken_stamps_are_read_as_one_by_one_would_be(
        times in prop::collection::vec((any::<u64>(), 0_usize..200), 2..8),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = Vec::new();
        for (time, len) in times {
            let payload = vec![0x10; len / 50 * 50];
            bytes.extend(push((3, 1, 1), time, &payload).to_vec().expect("a form"));
        }
        let at = at.index(bytes.len());
        bytes[at] = byte;
        assert_read_alike(&bytes)?;
    }
}

#[test]
fn another_spelling_of_a_clock_is_read_as_it_is() {
    let one = push((3, 1, 1), 2, b"12345678").to_vec().expect("a form");
    let at = one.len() - 8 - 1 - 17;
    assert_eq!(one[at], 16);
    // the id's length in two bytes
    let other = [&one[..at], &[0x90, 0], &one[at + 1..]].concat();
    for bytes in [
        [&one[..], &one, &other, &one, &one, &one].concat(),
        [&other[..], &other, &one, &other, &other].concat(),
    ] {
        let mut reader = Reader::new(&bytes);
        let start = reader;
        let (first, raw) = Push::decode_with_raw(&mut reader).expect("a push");
        let run = PushRun::following(start, &first, raw, reader).expect("a run");
        let mut template = first;
        let mut count = 0;
        for again in run {
            let (push, raw) = Push::decode_with_raw(&mut reader).expect("the run has read it");
            again.write_to(&mut template);
            assert_eq!((template, again.raw_body), (push, raw));
            count += 1;
        }
        assert!(count >= 3, "{count}");
    }
}

fn stream(count: usize) -> Vec<u8> {
    let one = push((3, 1, 0), 0, b"12345678").to_vec().expect("a form");
    one.repeat(count)
}

#[test]
fn a_limit_ends_it_and_can_be_raised() {
    let bytes = stream(10);
    let mut reader = Reader::new(&bytes);
    let start = reader;
    let (first, raw) = Push::decode_with_raw(&mut reader).expect("a push");
    let mut run = PushRun::following(start, &first, raw, reader).expect("a run");
    run.limit(3);
    assert_eq!(run.by_ref().count(), 3);
    assert_eq!(run.left(), 0);
    run.limit(usize::MAX);
    // the last message is too close to the end to be compared
    assert_eq!(run.by_ref().count(), 5);
    assert_eq!(run.reader().remaining(), bytes.len() / 10);
}

/// Checks that no run follows the first of these messages, and that one by one they are `payloads`.
fn assert_no_run(bytes: &[u8], payloads: &[&[u8]]) {
    let mut reader = Reader::new(bytes);
    let mut read = Vec::new();
    while !reader.is_empty() {
        let start = reader;
        let (push, raw) = Push::decode_with_raw(&mut reader).expect("a push");
        let run = PushRun::following(start, &push, raw, reader);
        assert!(run.is_none(), "a run behind {:02x?}", reader.since(start));
        let PushBody::Put(put) = push.body else {
            panic!("no PUT: {push:?}");
        };
        read.push(put.payload);
    }
    assert_eq!(read, payloads);
}

/// Returns a number in `pad` bytes more than it needs.
fn padded(number: u64, pad: usize) -> Vec<u8> {
    let mut bytes = vec![0; 9];
    let mut writer = crate::writer::Writer::new(&mut bytes);
    writer.vle(number).expect("room for nine bytes");
    let mut spelled = writer.written().to_vec();
    for _ in 0..pad {
        *spelled.last_mut().expect("a byte") |= 0x80;
        spelled.push(0);
    }
    spelled
}

#[test]
fn an_overlong_length_is_left_to_the_ordinary_way() {
    for length in [0, 1, 8, 127, 128, 300] {
        for pad in 1..=4 {
            // key id 1, PUT, a length in more bytes than it needs
            let payload = vec![b'x'; length];
            let head = [&[0x1d, 1, 1][..], &padded(length as u64, pad)].concat();
            let one = [&head[..], &payload].concat();
            assert_no_run(&one.repeat(4), &[&payload[..]; 4]);
        }
    }
}

#[test]
fn a_length_of_nothing_in_two_bytes_hides_no_messages() {
    const NOTHING: &[u8] = &[0x1d, 1, 1, 0x80, 0];
    const CLOSE: &[u8] = &[0x03, 0];
    let forged = push((0, 0, 0), 0, b"forged").to_vec().expect("a form");
    for hidden in [CLOSE, &forged] {
        // 128 bytes for a correct reader, one for a reader that takes the length to begin a byte
        // later
        let long = [b"A", hidden, &[b' '; 127][hidden.len()..]].concat();
        assert_eq!(long.len(), 128);
        let second = [&[0x1d, 1, 1, 0x80, 1][..], &long].concat();
        let bytes = [NOTHING, &second, NOTHING, NOTHING, NOTHING, NOTHING].concat();
        assert_read_alike(&bytes).expect("the same as one by one");
        let two = [NOTHING, &second].concat();
        assert_no_run(&two, &[b"", &long]);
    }
}

#[test]
fn messages_with_stacks_are_no_run() {
    let stack = TsStackBuf::new(1).expect("a stack");
    let mut push = push((0, 0, 0), 0, b"a payload of some bytes");
    let follows = |push: &Push<'_>| {
        let bytes = push.to_vec().expect("it has a form").repeat(4);
        let start = Reader::new(&bytes);
        let mut reader = start;
        let (read, raw) = Push::decode_with_raw(&mut reader).expect("a push");
        PushRun::following(start, &read, raw, reader).is_some()
    };
    assert!(follows(&push));
    push.ts_stack = Some(stack.view());
    assert!(!follows(&push), "each would need a stack of its own");
}
