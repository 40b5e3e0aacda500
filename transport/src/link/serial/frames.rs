// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames on a serial line, as in the reference: flags, length, content and a checksum, without
//! zeros (COBS), and a zero behind each.

use std::fmt;

/// Longest content of a frame.
pub(crate) const CONTENT_BYTES_MAX: usize = 1500;

/// Bytes of flags, length and checksum.
const AROUND_BYTES: usize = 1 + 2 + 4;

/// Longest frame on the line without its end: COBS puts a byte in front, and one behind each 254.
const LINE_BYTES_MAX: usize =
    CONTENT_BYTES_MAX + AROUND_BYTES + 1 + (CONTENT_BYTES_MAX + AROUND_BYTES) / 254;

/// End of a frame.
const END: u8 = 0;

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    /// Frame with a batch.
    pub(super) const DATA: Flags = Flags(0);
    /// Request for a link.
    pub(super) const INIT: Flags = Flags(1);
    /// Confirmation of a link.
    pub(super) const ACCEPTED: Flags = Flags(3);
    /// Refusal: there is a link already, which has ended now.
    pub(super) const RESET: Flags = Flags(4);

    pub(super) fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// Fault of bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameFault {
    TooLong,
    Stuffing,
    Length,
    Checksum,
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameFault::TooLong => "it has no end",
            FrameFault::Stuffing => "it is not in COBS",
            FrameFault::Length => "its length is wrong",
            FrameFault::Checksum => "its checksum is wrong",
        })
    }
}

/// Table of a checksum that is computed bitwise like CRC-32, but with the constant of the other bit
/// order.
const CHECKS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = match rest & 1 {
                1 => rest >> 1 ^ 0x04c1_1db7,
                _ => rest >> 1,
            };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

fn checksum(content: &[u8]) -> u32 {
    let rest = content.iter().fold(u32::MAX, |rest, byte| {
        rest >> 8 ^ CHECKS[usize::from(rest as u8 ^ byte)]
    });
    !rest
}

/// Appends a frame. The content is at most [`CONTENT_BYTES_MAX`] long.
pub(super) fn frame(flags: Flags, content: &[u8], out: &mut Vec<u8>) {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    let mut stuffing = ZeroStuffing::new(out);
    stuffing.add(&[flags.0]);
    stuffing.add(&length.to_le_bytes());
    stuffing.add(content);
    stuffing.add(&checksum(content).to_le_bytes());
    stuffing.end();
}

/// Encoder that replaces zeros by counts: each is the distance to the next one.
struct ZeroStuffing<'a> {
    out: &'a mut Vec<u8>,
    /// Position of the count of the current part.
    part: usize,
}

impl<'a> ZeroStuffing<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        let part = out.len();
        out.push(0);
        ZeroStuffing { out, part }
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == 0 {
                self.begin();
                continue;
            }
            self.out.push(byte);
            // A count of 255 means that no zero follows.
            if self.out.len() - self.part == 255 {
                self.begin();
            }
        }
    }

    /// Begins another part.
    fn begin(&mut self) {
        self.out[self.part] = (self.out.len() - self.part) as u8;
        self.part = self.out.len();
        self.out.push(0);
    }

    fn end(self) {
        self.out[self.part] = (self.out.len() - self.part) as u8;
        self.out.push(END);
    }
}

/// Decoder from bytes of the line to frames. A broken frame is skipped, up to the next end.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes of the current frame.
    line: Vec<u8>,
    is_too_long: bool,
}

impl Frames {
    /// Takes bytes, and passes each frame that ends in them to `each`.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Result<(Flags, &[u8]), FrameFault>),
    ) {
        for part in bytes.split_inclusive(|&byte| byte == END) {
            let (content, has_end) = match part.split_last() {
                Some((&END, content)) => (content, true),
                _ => (part, false),
            };
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.is_too_long |= content.len() > room;
            if !self.is_too_long {
                self.line.extend_from_slice(content);
            }
            if !has_end {
                continue;
            }
            match std::mem::take(&mut self.is_too_long) {
                true => each(Err(FrameFault::TooLong)),
                // Two ends in a row, as after a silent line.
                false if self.line.is_empty() => {}
                false => each(read(&mut self.line)),
            }
            self.line.clear();
        }
    }
}

/// Decodes a frame in place.
fn read(line: &mut [u8]) -> Result<(Flags, &[u8]), FrameFault> {
    let length = unstuff(line)?;
    let body = &line[..length];
    let (flags, rest) = body.split_first().ok_or(FrameFault::Length)?;
    let (length, rest) = rest.split_first_chunk().ok_or(FrameFault::Length)?;
    let (content, check) = rest.split_last_chunk().ok_or(FrameFault::Length)?;
    if content.len() != usize::from(u16::from_le_bytes(*length))
        || content.len() > CONTENT_BYTES_MAX
    {
        return Err(FrameFault::Length);
    }
    match u32::from_le_bytes(*check) == checksum(content) {
        true => Ok((Flags(*flags), content)),
        false => Err(FrameFault::Checksum),
    }
}

/// Replaces counts by zeros; returns the number of bytes left.
fn unstuff(line: &mut [u8]) -> Result<usize, FrameFault> {
    let (mut from, mut to) = (0, 0);
    while from < line.len() {
        let count = usize::from(line[from]);
        let next = from + count;
        if count == 0 || next > line.len() {
            return Err(FrameFault::Stuffing);
        }
        line.copy_within(from + 1..next, to);
        to += count - 1;
        if count < 255 && next < line.len() {
            line[to] = 0;
            to += 1;
        }
        from = next;
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(flags: Flags, content: &[u8]) -> Vec<u8> {
        let mut line = Vec::new();
        frame(flags, content, &mut line);
        line
    }

    type Found = Vec<Result<(Flags, Vec<u8>), FrameFault>>;

    fn found(frames: &mut Frames, bytes: &[u8]) -> Found {
        let mut found = Vec::new();
        frames.take(bytes, |one| {
            found.push(one.map(|(flags, content)| (flags, content.to_vec())));
        });
        found
    }

    /// Frames are equal to those of the reference.
    #[test]
    fn bytes_are_those_of_the_reference() {
        for (flags, content, line) in [
            (Flags::INIT, &b""[..], &[2, 1, 1, 1, 1, 1, 1, 1, 0][..]),
            (Flags::ACCEPTED, b"", &[2, 3, 1, 1, 1, 1, 1, 1, 0]),
            (Flags::RESET, b"", &[2, 4, 1, 1, 1, 1, 1, 1, 0]),
            (
                Flags::DATA,
                &[0, 0x11, 0],
                &[1, 2, 3, 1, 2, 0x11, 5, 0x73, 0xec, 0x75, 0xf9, 0],
            ),
            (
                Flags::DATA,
                &[0x11, 0x22, 0, 0x33],
                &[1, 2, 4, 3, 0x11, 0x22, 6, 0x33, 0x8d, 3, 0x6d, 0xfb, 0],
            ),
            (
                Flags::DATA,
                b"123456789",
                b"\x01\x02\x09\x0e123456789\xe9\x2b\x4f\xfc\x00",
            ),
        ] {
            assert_eq!(framed(flags, content), line);
            let read = found(&mut Frames::default(), line);
            assert_eq!(read, [Ok((flags, content.to_vec()))]);
        }
        assert_eq!(checksum(b"123456789"), 0xfc4f_2be9);
        assert_eq!(checksum(b""), 0);
    }

    #[test]
    fn what_is_broken_is_one_frame_that_is_lost() {
        let good = framed(Flags::DATA, b"good");
        let mut frames = Frames::default();
        for (broken, reason) in [
            (vec![9, 1, 1, 0], FrameFault::Stuffing),
            (vec![1, 1, 1, 0], FrameFault::Length),
            (vec![7; LINE_BYTES_MAX * 3], FrameFault::TooLong),
        ] {
            let mut line = broken;
            if line.last() != Some(&0) {
                line.push(0);
            }
            line.extend_from_slice(&good);
            let expected = [Err(reason), Ok((Flags::DATA, b"good".to_vec()))];
            assert_eq!(found(&mut frames, &line), expected);
        }
        let mut line = good.clone();
        line[5] ^= 4;
        line.extend_from_slice(&good);
        let expected = [
            Err(FrameFault::Checksum),
            Ok((Flags::DATA, b"good".to_vec())),
        ];
        assert_eq!(found(&mut frames, &line), expected);
        assert!(found(&mut frames, &[0, 0, 0]).is_empty());
        // Longest frame there is.
        let longest = framed(Flags::DATA, &[7; CONTENT_BYTES_MAX]);
        assert!(longest.len() <= LINE_BYTES_MAX + 1);
        assert_eq!(found(&mut frames, &longest).len(), 1);
    }

    proptest! {
        /// The crate of the reference decodes and encodes the same.
        #[test]
        fn the_code_is_that_of_others(
            content in prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 0..CONTENT_BYTES_MAX),
            runs in any::<bool>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let content: Vec<u8> = match runs {
                true => content.iter().map(|byte| byte | 1).collect(),
                false => content,
            };
            let line = framed(Flags::DATA, &content);
            let mut theirs = line[..line.len() - 1].to_vec();
            let length = cobs::decode_in_place(&mut theirs).expect("in COBS");
            prop_assert_eq!(&theirs[3..length - 4], &content[..]);
            let mut encoded = vec![0; 2 * CONTENT_BYTES_MAX];
            let count = cobs::encode(&theirs[..length], &mut encoded);
            prop_assert_eq!(&encoded[..count], &line[..line.len() - 1]);
            let mut frames = Frames::default();
            let at = cut.index(line.len());
            let mut read = found(&mut frames, &line[..at]);
            read.extend(found(&mut frames, &line[at..]));
            prop_assert_eq!(read, [Ok((Flags::DATA, content))]);
        }

        #[test]
        fn any_bytes_bring_frames_or_none(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
            let mut frames = Frames::default();
            frames.take(&bytes, |_| {});
            frames.take(&[0], |_| {});
            let good = framed(Flags::INIT, b"");
            prop_assert_eq!(found(&mut frames, &good), [Ok((Flags::INIT, Vec::new()))]);
        }
    }
}
