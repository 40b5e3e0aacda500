// SPDX-License-Identifier: MIT OR Apache-2.0
//! The copies of a run against the same messages encoded field by field.

use proptest::prelude::*;
use zonda_codec::{Encoding, Mapping, Ntp64, PushBody, Put, Reader, Timestamp, ZenohId};

use super::*;

const LONG: &str = "a/key/of/which/the/text/is/so/long/that/no/block/takes/it/in/front/of/a/timestamp/and/even/less/so/with/one";

fn spelling(pick: u8) -> WireExpr<'static> {
    let suffix = match pick {
        0 => "",
        1 => "a/key/that/is/longer/than/an/id",
        _ => LONG,
    };
    WireExpr {
        scope: 300,
        suffix,
        mapping: Mapping::Sender,
    }
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

/// The messages of `bytes` after the first, and the first one's body's header byte.
fn run(bytes: &[u8]) -> Option<(PushRun<'_>, u8)> {
    let start = Reader::new(bytes);
    let mut reader = start;
    let (push, raw) = Push::decode_with_raw(&mut reader).expect("a push");
    PushRun::following(start, &push, raw, reader).map(|run| (run, raw[0]))
}

/// What the copies of these messages, each with its place in the run, should be, and where each of them ends.
fn expected<'m>(
    messages: impl Iterator<Item = (usize, Push<'m>)>,
    front: &Front<'_>,
    ends: &mut Vec<usize>,
) -> Vec<u8> {
    let mut all = Vec::new();
    for (place, mut push) in messages {
        push.wire_expr = front.wire_expr;
        push.qos = front.qos;
        if let (Some(clock), PushBody::Put(put)) = (front.clock, &mut push.body) {
            let time = clock.first.time().0.saturating_add(place as u64);
            put.timestamp = Some(Timestamp::new(Ntp64(time), clock.first.id()));
        }
        all.extend(push.to_vec().expect("it has a form"));
        ends.push(all.len());
    }
    all
}

proptest! {
    /// However much room there is, as many whole copies are written as the result says, and the next message is as it was. What is
    /// left to others is written alike.
    #[test]
    fn copies_are_what_one_by_one_would_be(
        sizes in prop::collection::vec(
            prop_oneof![8 => 0_usize..200, 1 => 200_usize..3000, 1 => 16_000_usize..17_000],
            1..40,
        ),
        spelled in 0_u8..3,
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
        let (mut rest, header) = run(&bytes).expect("they are alike");
        let clock = first.map(|first| Clock {
            first: Timestamp::new(Ntp64(first), ZenohId::random_from(9)),
            header: header | Put::FLAG_TIMESTAMP,
        });
        let front = Front { wire_expr: spelling(spelled), qos: Qos::DATA, clock: clock.as_ref() };
        let mut ends = Vec::new();
        let expected = expected(messages.iter().copied().enumerate(), &front, &mut ends);

        let stencil = Stencil::new(&front);
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
            let message = Copy { front: &front, message: &again, number };
            written.extend(message.to_vec().expect("it has a form"));
            written.extend_from_slice(again.payload);
            number += 1;
        }
        prop_assert_eq!(number as usize, messages.len());
        prop_assert!(written == expected, "the bytes differ");
    }
}

#[test]
fn a_sheet_holds_all_copies_or_there_is_none() {
    let id = spelling(0);
    let front = Front {
        wire_expr: id,
        qos: Qos::DATA,
        clock: None,
    };
    for (payload, fits) in [([1; 8].as_slice(), true), (&[1; 2000], false)] {
        let bytes = push(payload, (false, false)).to_vec().expect("a form");
        let bytes = bytes.repeat(30);
        let (run, _) = run(&bytes).expect("they are alike");
        let mut paper = Vec::new();
        let Some(sheet) = Sheet::write(front, run.clone(), &mut paper) else {
            assert!(!fits);
            continue;
        };
        assert!(fits && sheet.is_for(&front) && sheet.end.clone().next().is_none());
        let other = Front {
            wire_expr: spelling(1),
            ..front
        };
        assert!(!sheet.is_for(&other));
        let count = run.count() as u64;
        let mut buffer = [0; 1000];
        let mut writer = Writer::new(&mut buffer);
        assert_eq!(sheet.copy(&mut writer), (count, true));
        let one = writer.written().len() / count as usize;
        let mut small = Writer::new(&mut buffer[..one * count as usize - 1]);
        assert_eq!((sheet.copy(&mut small), small.position()), ((0, false), 0));
    }
}
