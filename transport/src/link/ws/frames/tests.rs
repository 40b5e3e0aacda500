// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that are cut anywhere, in parts, with control frames in between, and with wrong lengths.

use super::*;

const BINARY: u8 = 2;
const CONTINUE: u8 = 0;
const PING: u8 = 9;
const PONG: u8 = 10;
const CLOSE: u8 = 8;
const FINAL: u8 = 0x80;
const MASK: [u8; 4] = [0x11, 0xa2, 0x33, 0xc4];

/// Returns a client's frame with the shortest encoding of `length`.
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

/// Passes the input in pieces, in a buffer of `room` bytes.
fn read(
    unframing: &mut Unframing,
    input: &[u8],
    step: usize,
    room: usize,
) -> Result<Vec<u8>, WebSocketFault> {
    let (mut out, mut start, mut end) = (Vec::new(), 0, 0);
    let mut buffer = vec![0; room];
    loop {
        let place = unframing.place_in(room);
        let at = place.unwrap_or(0);
        let count = place.map_or(0, |at| (end - start).min(room - at));
        buffer[at..at + count].copy_from_slice(&input[start..start + count]);
        let passed = unframing.pass(&mut buffer, at..at + count)?;
        start += passed.taken;
        out.extend_from_slice(&buffer[..passed.given]);
        if passed == Passed::default() {
            if end == input.len() {
                assert!(start == end || unframing.is_over(), "{start} of {end}");
                return Ok(out);
            }
            end = (end + step).min(input.len());
        }
    }
}

/// Passes all of `input` at once, in a buffer of 100 bytes. Returns the output, and the number of
/// processed bytes.
fn at_once(unframing: &mut Unframing, input: &[u8]) -> Result<(Vec<u8>, usize), WebSocketFault> {
    let mut buffer = [0; 100];
    let start = unframing.place_in(100).expect("nothing is left");
    let came = start..start + input.len();
    buffer[came.clone()].copy_from_slice(input);
    let passed = unframing.pass(&mut buffer, came)?;
    Ok((buffer[..passed.given].to_vec(), passed.taken))
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
        at_once(&mut unframing, &frame(FINAL | CLOSE, &[3, 232])).expect("the end");
        assert!(unframing.is_over());
    }
}

#[test]
fn the_introduction_comes_one_message_at_a_time() {
    let input = [frame(FINAL | BINARY, b"one"), frame(FINAL | BINARY, b"two")].concat();
    let mut unframing = Unframing::new(Side::Server);
    let (first, taken) = at_once(&mut unframing, &input).expect("well formed");
    assert_eq!(first, batch(b"one"));
    // The ends may agree on bare messages after the handshake.
    unframing.lengths = Lengths::Bare;
    let rest = &input[taken..];
    let (second, taken) = at_once(&mut unframing, rest).expect("well formed");
    assert_eq!(second, b"\x03\0\0\0two");
    assert_eq!(taken, rest.len());
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
    let broken = at_once(&mut client, &frame(FINAL | BINARY, b"x"));
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
    /// Any input yields whole batches, and no panic; the output is never longer than the input,
    /// except for lengths.
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
        let (mut unframing, mut out, mut unread) = (server(Lengths::Batches), Vec::new(), Vec::new());
        let mut steps = input.chunks(step);
        let mut buffer = [0; 64];
        loop {
            let room = unframing.place_in(buffer.len()).map_or(0, |at| buffer.len() - at);
            let count = unread.len().min(room);
            buffer[..count].copy_from_slice(&unread[..count]);
            let Ok(passed) = unframing.pass(&mut buffer, 0..count) else {
                break;
            };
            unread.drain(..passed.taken);
            out.extend_from_slice(&buffer[..passed.given]);
            if passed == Passed::default() {
                match steps.next() {
                    Some(more) => unread.extend_from_slice(more),
                    None => break,
                }
            }
        }
        proptest::prop_assert!(out.len() <= 2 * input.len());
    }

    /// Frames of a client yield the messages that tungstenite reads, wherever they are cut.
    #[test]
    fn messages_are_those_that_tungstenite_reads(
        messages in proptest::collection::vec(
            proptest::collection::vec(proptest::collection::vec(0_u8.., 0..300), 1..4),
            0..20,
        ),
        pings in proptest::bool::ANY,
        step in 1_usize..2000,
        room in 1_usize..2000,
    ) {
        let mut input = Vec::new();
        for parts in &messages {
            for (index, part) in parts.iter().enumerate() {
                let opcode = if index == 0 { BINARY } else { CONTINUE };
                let end = if index + 1 == parts.len() { FINAL } else { 0 };
                input.extend(frame(opcode | end, part));
                if pings {
                    input.extend(frame(FINAL | PING, &part[..part.len().min(125)]));
                }
            }
        }
        let found = read(&mut server(Lengths::Batches), &input, step, room);
        proptest::prop_assert_eq!(found, Ok(read_by_tungstenite(&input)));
    }
}

/// Returns the non-empty messages, as batches.
fn read_by_tungstenite(input: &[u8]) -> Vec<u8> {
    use tungstenite::protocol::{Role, WebSocket};

    /// Received bytes; the answers to Pings are discarded.
    struct Line<'i>(&'i [u8]);

    impl std::io::Read for Line<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl std::io::Write for Line<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut socket = WebSocket::from_raw_socket(Line(input), Role::Server, None);
    let messages = std::iter::from_fn(|| socket.read().ok());
    let binary = messages.filter(|message| message.is_binary() && !message.is_empty());
    binary
        .flat_map(|message| batch(&message.into_data()))
        .collect()
}
