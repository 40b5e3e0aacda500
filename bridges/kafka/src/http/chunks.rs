// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding of the transfer coding `chunked`, as it arrives.

use super::Answer;
use super::budget::Body;

/// Maximum bytes of the line that begins a chunk: its size, and extensions that the server ignores.
const LINE_BYTES_MAX: usize = 256;

/// Maximum bytes of lines in one body, so that a sender cannot send framing without content for
/// ever.
const LINES_BYTES_MAX: usize = 256 * 1024;

/// Maximum digits of a size.
const DIGITS_MAX: usize = 15;

/// Maximum bytes of the trailer, which the server ignores.
const TRAILER_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Within the line that begins a chunk.
    Size,
    /// Within a chunk, with this many bytes to come.
    Data(usize),
    /// Before the line end behind a chunk.
    DataEnd,
    /// Within a line of the trailer.
    Trailer,
}

/// The sender's position in a chunked body.
#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
    /// Current line, without its end.
    line: Vec<u8>,
    lines_bytes: usize,
    trailer_bytes: usize,
}

/// Result of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// The body is whole.
    Done,
}

impl Chunks {
    pub(super) fn new() -> Chunks {
        Chunks {
            at: At::Size,
            line: Vec::new(),
            lines_bytes: 0,
            trailer_bytes: 0,
        }
    }

    /// Takes bytes from the front of `input` until the body is whole or no byte is left; returns
    /// how many it took.
    ///
    /// # Errors
    /// The answer to a body that is malformed, beyond `limit` or beyond the budget.
    pub(super) fn take(
        &mut self,
        input: &[u8],
        body: &mut Body,
        limit: usize,
    ) -> Result<(usize, Progress), Answer> {
        let mut rest = input;
        while !rest.is_empty() {
            // Content of a chunk goes to the body, within the budget.
            if let At::Data(left) = self.at {
                let (data, behind) = rest.split_at(left.min(rest.len()));
                if !body.append(data) {
                    return Err(Answer::Busy);
                }
                rest = behind;
                self.at = match left - data.len() {
                    0 => At::DataEnd,
                    left => At::Data(left),
                };
                continue;
            }
            // All other states read whole lines.
            let Some(line) = self.line(&mut rest)? else {
                break;
            };
            if self.line_ended(&line, body.bytes().len(), limit)? {
                return Ok((input.len() - rest.len(), Progress::Done));
            }
        }
        Ok((input.len() - rest.len(), Progress::More))
    }

    /// Takes the current line, once it has ended with CR LF.
    fn line(&mut self, rest: &mut &[u8]) -> Result<Option<Vec<u8>>, Answer> {
        // The part of the line that is in this input.
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (part, behind) = rest.split_at(end.map_or(rest.len(), |at| at + 1));
        *rest = behind;
        self.lines_bytes += part.len();
        // Limits hold for unfinished lines as well.
        let max = match self.at {
            At::Trailer => TRAILER_BYTES_MAX,
            At::DataEnd => 2,
            _ => LINE_BYTES_MAX,
        };
        if self.line.len() + part.len() > max || self.lines_bytes > LINES_BYTES_MAX {
            return Err(Answer::BadRequest);
        }
        self.line.extend_from_slice(part);
        if end.is_none() {
            return Ok(None);
        }
        // A bare LF or a CR within the line could be parsed differently by another server.
        let mut line = std::mem::take(&mut self.line);
        if !line.ends_with(b"\r\n") {
            return Err(Answer::BadRequest);
        }
        line.truncate(line.len() - 2);
        if line.contains(&b'\r') {
            return Err(Answer::BadRequest);
        }
        Ok(Some(line))
    }

    /// Processes a line; returns true if the body ends with it.
    fn line_ended(&mut self, line: &[u8], so_far: usize, limit: usize) -> Result<bool, Answer> {
        // The state decides about the meaning of a line.
        match self.at {
            At::Size => {
                let size = size(line).ok_or(Answer::BadRequest)?;
                if size > limit.saturating_sub(so_far) {
                    return Err(Answer::TooLarge);
                }
                self.at = if size == 0 {
                    At::Trailer
                } else {
                    At::Data(size)
                };
            }
            At::DataEnd if line.is_empty() => self.at = At::Size,
            At::Trailer if line.is_empty() => return Ok(true),
            At::Trailer => {
                self.trailer_bytes += line.len();
                if self.trailer_bytes > TRAILER_BYTES_MAX {
                    return Err(Answer::HeadTooLarge);
                }
            }
            At::DataEnd | At::Data(_) => return Err(Answer::BadRequest),
        }
        Ok(false)
    }
}

/// Parses the size in a chunk's line: hexadecimal digits, then nothing or extensions.
fn size(line: &[u8]) -> Option<usize> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit());
    let (digits, behind) = line.split_at(end.unwrap_or(line.len()));
    let behind = behind.trim_ascii_start();
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    if !(behind.is_empty() || behind.starts_with(b";")) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    usize::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Budget;
    use zonda_transport::link::AddressGroup;

    fn all(input: &[u8], step: usize) -> Result<(Vec<u8>, usize), Answer> {
        let share = Budget::new(1 << 20).share(AddressGroup::THIS_MACHINE);
        let (mut chunks, mut body) = (Chunks::new(), Body::new(&share));
        let mut used = 0;
        for part in input.chunks(step) {
            let (taken, progress) = chunks.take(part, &mut body, 100)?;
            used += taken;
            if progress == Progress::Done {
                return Ok((body.bytes().to_vec(), used));
            }
            assert_eq!(taken, part.len(), "all is taken until the end");
        }
        panic!("the body does not end");
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut() {
        let input =
            b"4\r\nWiki\r\n006;a=b\r\npedia \r\nE \r\nin \r\n\r\nchunks.\r\n0\r\nX: y\r\n\r\nnext";
        for step in 1..input.len() {
            let (body, used) = all(input, step).expect("a good body");
            assert_eq!(body, b"Wikipedia in \r\n\r\nchunks.", "step {step}");
            assert_eq!(used, input.len() - 4);
        }
    }

    #[test]
    fn bad_bodies_are_refused() {
        for (input, answer) in [
            (&b"x\r\n"[..], Answer::BadRequest),
            (b"\r\n", Answer::BadRequest),
            (b"-1\r\n", Answer::BadRequest),
            (b"0x4\r\n", Answer::BadRequest),
            (b"4 4\r\n", Answer::BadRequest),
            (b"4\n", Answer::BadRequest),
            (b"1\r\nab\r\n", Answer::BadRequest),
            (b"ffffffffffffffff\r\n", Answer::BadRequest),
            (b"65\r\n", Answer::TooLarge),
            (b"fffffffffffffff\r\n", Answer::TooLarge),
        ] {
            for step in 1..=input.len() {
                assert_eq!(all(input, step), Err(answer), "{:?}", input.escape_ascii());
            }
        }
        let long = [b"4;".to_vec(), vec![b'a'; LINE_BYTES_MAX]].concat();
        assert_eq!(all(&long, 7), Err(Answer::BadRequest));
        let trailer = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(2000)].concat();
        assert_eq!(all(&trailer, 100), Err(Answer::HeadTooLarge));
    }
}
