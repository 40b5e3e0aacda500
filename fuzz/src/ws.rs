// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check of a WebSocket connection: its bytes give the same payload however they are cut, and
//! messages that are sent are read back.

use super::ws_frames::{Framing, Lengths, Side, Unframing, WebSocketFault};

/// Result of reading bytes: the payload, the Ping to be answered, and the end.
#[derive(Debug, PartialEq)]
struct Read {
    stream: Vec<u8>,
    ping: Option<Vec<u8>>,
    is_over: bool,
    end: Result<(), WebSocketFault>,
}

/// Reads `input` in pieces of `step` bytes, into a buffer of `room` bytes.
fn read(side: Side, lengths: Lengths, input: &[u8], [step, room]: [usize; 2]) -> Read {
    let mut unframing = Unframing::new(side);
    unframing.lengths = lengths;
    let (mut stream, mut start, mut end) = (Vec::new(), 0, 0);
    let mut buffer = vec![0; room];
    let outcome = loop {
        // Fill the buffer behind the bytes that wait in it.
        let place = unframing.place_in(room);
        let at = place.unwrap_or(0);
        let count = place.map_or(0, |at| (end - start).min(room - at));
        buffer[at..at + count].copy_from_slice(&input[start..start + count]);
        // Unframe, and collect the payload.
        let passed = match unframing.pass(&mut buffer, at..at + count) {
            Ok(passed) => passed,
            Err(broken) => break Err(broken),
        };
        assert!(passed.taken <= count && passed.given <= room);
        start += passed.taken;
        stream.extend_from_slice(&buffer[..passed.given]);
        // More input is offered only when no progress is possible.
        if passed.taken == 0 && passed.given == 0 {
            if end == input.len() {
                break Ok(());
            }
            end = input.len().min(end + step);
        }
    };
    Read {
        stream,
        ping: unframing.take_ping(),
        is_over: unframing.is_over(),
        end: outcome,
    }
}

fn bytes_of(lengths: Lengths) -> usize {
    match lengths {
        Lengths::Introduction | Lengths::Batches => 2,
        Lengths::Bare => 4,
    }
}

/// Asserts that a stream's whole messages are neither empty nor longer than a batch may be.
fn assert_messages(mut stream: &[u8], lengths: Lengths) {
    let prefix = bytes_of(lengths);
    while let Some((length, rest)) = stream.split_at_checked(prefix) {
        let length = length.iter().rev();
        let length = length.fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        assert!((1..=65_535).contains(&length), "a message of {length}");
        stream = rest.get(length..).unwrap_or(&[]);
    }
}

/// Sends `content` as messages of many lengths, with answers to a Ping between them, and reads them again.
fn there_and_back(side: Side, lengths: Lengths, content: &[u8], [step, room]: [usize; 2]) {
    let far = match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    // Each message is framed in pieces, with a Pong behind it.
    let mut framing = Framing::new(far);
    framing.lengths = lengths;
    let (mut stream, mut line) = (Vec::new(), Vec::new());
    let mut rest = content;
    while let Some((&length, behind)) = rest.split_first() {
        let (message, behind) = behind.split_at(behind.len().min(usize::from(length)));
        rest = behind;
        let prefix = (message.len() as u32).to_le_bytes();
        let sent = [&prefix[..bytes_of(lengths)], message].concat();
        framing.answer(vec![length]);
        for piece in sent.chunks(step) {
            framing.frame(piece, &mut line);
        }
        framing.say_pong(&mut line);
        if !message.is_empty() {
            stream.extend(sent);
        }
    }
    framing.say_close(1000, &mut line);
    // The other side reads the same stream, and no Ping remains.
    let back = read(side, lengths, &line, [step, room]);
    let expected = Read {
        stream,
        ping: None,
        is_over: true,
        end: Ok(()),
    };
    assert_eq!(back, expected);
}

/// Checks three choosing bytes, and the input of the socket after the upgrade.
pub fn ws(data: &[u8]) {
    let Some((&[choice, step, room], input)) = data.split_first_chunk() else {
        return;
    };
    let side = [Side::Server, Side::Client][usize::from(choice & 1)];
    let lengths = [Lengths::Introduction, Lengths::Batches, Lengths::Bare];
    let lengths = lengths[usize::from(choice >> 1) % 3];
    let pieces = [1 + usize::from(step), 1 + usize::from(room)];
    let in_pieces = read(side, lengths, input, pieces);
    let at_once = read(
        side,
        lengths,
        input,
        [input.len().max(1), 4 * input.len() + 64],
    );
    assert_messages(&in_pieces.stream, lengths);
    if in_pieces.end.is_ok() {
        assert_eq!(in_pieces, at_once);
    } else {
        // Bytes before the violation may not be passed on any more.
        assert_eq!(in_pieces.end, at_once.end);
        assert!(in_pieces.stream.starts_with(&at_once.stream));
    }
    there_and_back(side, lengths, input, pieces);
}
