// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that are cut anywhere, in parts, with others between them, and that lie.

use super::*;

const BINARY: u8 = 2;
const CONTINUE: u8 = 0;
const PING: u8 = 9;
const PONG: u8 = 10;
const CLOSE: u8 = 8;
const FINAL: u8 = 0x80;
const MASK: [u8; 4] = [0x11, 0xa2, 0x33, 0xc4];

/// A frame as a client sends it, with the least length that says `length`.
fn lying(first: u8, length: u64, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match length {
        ..126 => frame.push(0x80 | length as u8),
        126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        _ => {
            frame.push(0x80 | 127);
            frame.extend(length.to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(content.iter().zip(MASK.iter().cycle()).map(|(c, m)| c ^ m));
    frame
}

fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    lying(first, content.len() as u64, content)
}

fn batch(content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u16).to_le_bytes().to_vec();
    bytes.extend(content);
    bytes
}

fn server(lengths: Lengths) -> Unframing {
    let mut unframing = Unframing::new(Side::Server);
    unframing.lengths = lengths;
    unframing
}

/// Gives the input in pieces, and room in pieces.
fn read(
    unframing: &mut Unframing,
    input: &[u8],
    step: usize,
    room: usize,
) -> Result<Vec<u8>, Broken> {
    let (mut out, mut start, mut end) = (Vec::new(), 0, 0);
    let mut output = vec![0; room];
    loop {
        let passed = unframing.pass(&input[start..end], &mut output)?;
        start += passed.taken;
        out.extend_from_slice(&output[..passed.given]);
        if passed == Passed::default() {
            if end == input.len() {
                assert!(start == end || unframing.is_over(), "{start} of {end}");
                return Ok(out);
            }
            end = (end + step).min(input.len());
        }
    }
}

#[test]
fn messages_come_whole_wherever_they_are_cut() {
    let large: Vec<u8> = (0..70_000_u32).map(|at| at as u8).collect();
    let parts = [
        frame(FINAL | BINARY, b"hello"),
        frame(FINAL | BINARY, b""),
        frame(BINARY, b"in "),
        frame(FINAL | PING, b"between"),
        frame(CONTINUE, b""),
        frame(CONTINUE, b"three "),
        frame(FINAL | PONG, b"not asked for"),
        frame(FINAL | CONTINUE, b"parts"),
        frame(BINARY, b""),
        frame(FINAL | CONTINUE, b""),
        frame(FINAL | BINARY, &large[..300]),
        frame(FINAL | BINARY, &large[..65_535]),
        frame(BINARY, &large[..65_000]),
        frame(FINAL | CONTINUE, &large[65_000..65_535]),
    ];
    let input = parts.concat();
    let expected = [
        batch(b"hello"),
        batch(b"in three parts"),
        batch(&large[..300]),
        batch(&large[..65_535]),
        batch(&large[..65_535]),
    ]
    .concat();
    for (step, room) in [(1, 1000), (2, 7), (3, 1), (1000, 100_000), (200_000, 4096)] {
        let mut unframing = server(Lengths::Batches);
        let found = read(&mut unframing, &input, step, room).expect("it is well formed");
        assert!(found == expected, "step {step}, room {room}");
        assert_eq!(unframing.take_ping().as_deref(), Some(&b"between"[..]));
        assert_eq!(unframing.take_ping(), None);
        let found = unframing.pass(&frame(FINAL | CLOSE, &[3, 232]), &mut [0; 9]);
        found.expect("the end");
        assert!(unframing.is_over());
    }
}

#[test]
fn the_introduction_comes_one_message_at_a_time() {
    let input = [frame(FINAL | BINARY, b"one"), frame(FINAL | BINARY, b"two")].concat();
    let mut unframing = Unframing::new(Side::Server);
    let mut output = [0; 100];
    let first = unframing.pass(&input, &mut output).expect("well formed");
    assert_eq!(output[..first.given], batch(b"one"));
    // Behind it bare messages may be agreed on.
    unframing.lengths = Lengths::Bare;
    let rest = &input[first.taken..];
    let second = unframing.pass(rest, &mut output).expect("well formed");
    assert_eq!(&output[..second.given], b"\x03\0\0\0two");
    assert_eq!(first.taken + second.taken, input.len());
}

#[test]
fn what_breaks_the_rules_ends_the_link() {
    let long = [
        frame(BINARY, &[0; 65_535]),
        frame(CONTINUE, b""),
        frame(FINAL | CONTINUE, b"x"),
    ];
    for (input, code, expected) in [
        (lying(FINAL | BINARY, 65_536, b""), 1009, "more than 65535"),
        (
            lying(FINAL | BINARY, u64::MAX, b""),
            1009,
            "more than 65535",
        ),
        (long.concat(), 1009, "more than 65535"),
        (frame(FINAL | 1, b"text"), 1003, "not binary"),
        (frame(FINAL | 3, b"reserved"), 1002, ""),
        (
            frame(FINAL | CONTINUE, b""),
            1002,
            "continuation of no message",
        ),
        (
            [frame(BINARY, b"a"), frame(FINAL | BINARY, b"b")].concat(),
            1002,
            "within another",
        ),
        (frame(PING, b""), 1002, "in parts"),
        (lying(FINAL | PING, 126, b""), 1002, "too long"),
        (frame(FINAL | 0x40 | BINARY, b"x"), 1002, "extension"),
        (vec![FINAL | BINARY, 1, 0], 1002, "not masked"),
    ] {
        let mut unframing = server(Lengths::Batches);
        let broken = read(&mut unframing, &input, 1, 100_000).expect_err(expected);
        assert_eq!(broken.code, code, "{broken}");
        assert!(broken.to_string().contains(expected), "{broken}");
    }
    let mut client = Unframing::new(Side::Client);
    let broken = client.pass(&frame(FINAL | BINARY, b"x"), &mut [0; 9]);
    let text = broken.expect_err("it is masked").to_string();
    assert!(text.contains("masked frame from the server"), "{text}");
}

#[test]
fn frames_bring_what_was_put_into_them() {
    let mut given = Vec::new();
    for size in [1, 2, 125, 126, 127, 300, 65_533, 65_535] {
        given.extend(batch(&vec![size as u8; size]));
    }
    given.extend(batch(b""));
    given.extend(batch(b"last"));
    let mut expected = given.clone();
    let empty = given.len() - 8;
    expected.drain(empty..empty + 2);
    for (from, to) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
        for step in [1, 2, 3, 1000, 70_000, 300_000] {
            let (mut framing, mut unframing) = (Framing::new(from), Unframing::new(to));
            framing.lengths = Lengths::Batches;
            unframing.lengths = Lengths::Batches;
            let mut frames = Vec::new();
            for part in given.chunks(step) {
                framing.frame(part, &mut frames);
            }
            assert!(framing.is_between());
            framing.say_close(1000, &mut frames);
            let found = read(&mut unframing, &frames, step, 5000).expect("well formed");
            assert!(found == expected, "{from:?}, step {step}");
            assert!(unframing.is_over());
        }
    }
}

#[test]
fn a_ping_is_answered_between_messages() {
    let mut framing = Framing::new(Side::Server);
    framing.lengths = Lengths::Batches;
    let mut out = Vec::new();
    framing.frame(b"\x03\0ab", &mut out);
    framing.answer(b"first".to_vec());
    framing.answer(b"second".to_vec());
    framing.frame(b"c\x01", &mut out);
    assert_eq!(out, b"\x82\x03abc");
    framing.frame(b"\0d", &mut out);
    assert_eq!(out, b"\x82\x03abc\x8a\x06second\x82\x01d");
    framing.answer(b"third".to_vec());
    framing.say_pong(&mut out);
    framing.say_pong(&mut out);
    assert!(out.ends_with(b"\x82\x01d\x8a\x05third"), "{out:?}");
}

proptest::proptest! {
    /// Any bytes: what is given out is whole batches, and nothing panics; more than what came is never given out, but for
    /// lengths.
    #[test]
    fn any_bytes_bring_batches_or_an_end(
        frames in proptest::collection::vec(
            (0_u8..12, proptest::bool::ANY, proptest::collection::vec(0_u8.., 0..300), 0_u64..4),
            0..20,
        ),
        step in 1_usize..50,
    ) {
        let mut input = Vec::new();
        for (opcode, is_final, content, more) in frames {
            let first = opcode | if is_final { FINAL } else { 0 };
            let length = content.len() as u64 + more.saturating_sub(2);
            input.extend(lying(first, length, &content));
        }
        let mut unframing = server(Lengths::Batches);
        let (mut out, mut start, mut end) = (Vec::new(), 0, 0);
        let mut output = [0; 64];
        while let Ok(passed) = unframing.pass(&input[start..end], &mut output) {
            start += passed.taken;
            out.extend_from_slice(&output[..passed.given]);
            if passed == Passed::default() {
                if end == input.len() {
                    break;
                }
                end = (end + step).min(input.len());
            }
        }
        proptest::prop_assert!(out.len() <= 2 * input.len());
    }
}
