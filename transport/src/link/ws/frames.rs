// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of WebSocket (RFC 6455), without a socket: conversion from and to a stream of batches
//! with their length in front.
//!
//! A batch is a binary message. A message in several frames is reassembled first, as its length has
//! to precede it.

use std::fmt;
use std::io::Cursor;
use std::ops::Range;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// Longest message: a batch is no longer.
const MESSAGE_BYTES_MAX: usize = 65_535;

/// Longest content of a control frame.
const CONTROL_BYTES_MAX: usize = 125;

/// Longest header with the content of a control frame.
const HEAD_BYTES_MAX: usize = 14 + CONTROL_BYTES_MAX;

/// Bytes that are moved and masked at once: bytes that were just moved are still in the first-level
/// cache.
const STEP_BYTES: usize = 4096;

/// Bytes of masks that are drawn at once.
const MASKS_BYTES: usize = 256;

/// Side of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Opener, which masks the bytes that it sends.
    Client,
    /// Acceptor.
    Server,
}

/// Number of length bytes in front of each message in the link's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Lengths of batches, during the handshake; one message is returned at a time, as bare ones
    /// may follow.
    Introduction,
    /// Two bytes.
    Batches,
    /// Four bytes, in front of bare messages.
    Bare,
}

impl Lengths {
    fn bytes(self) -> usize {
        match self {
            Lengths::Introduction | Lengths::Batches => 2,
            Lengths::Bare => 4,
        }
    }
}

/// Fault of a peer that ends the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebSocketFault {
    /// Code of the fault for the peer.
    pub(super) code: u16,
    text: String,
}

impl WebSocketFault {
    fn rules(text: impl Into<String>) -> WebSocketFault {
        let (code, text) = (1002, text.into());
        WebSocketFault { code, text }
    }
}

impl fmt::Display for WebSocketFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for WebSocketFault {}

/// Progress of [`Unframing::pass`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Bytes of the socket that are processed.
    pub(crate) taken: usize,
    /// Bytes of the link that were written, at the front of the buffer.
    pub(crate) given: usize,
}

/// Buffer in which bytes of the socket become bytes of the link.
#[derive(Debug)]
struct Place<'b> {
    bytes: &'b mut [u8],
    /// Bytes of the socket that are not processed.
    came: Range<usize>,
    /// Bytes of the link, at the front: never beyond `came`.
    given: usize,
}

impl Place<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.came.clone()]
    }

    /// Returns the room for bytes of the link that are no bytes of the socket.
    fn room(&self) -> usize {
        let end = match self.came.is_empty() {
            true => self.bytes.len(),
            false => self.came.start,
        };
        end - self.given
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.given..][..bytes.len()].copy_from_slice(bytes);
        self.given += bytes.len();
    }

    /// Makes the next `count` bytes of the socket bytes of the link.
    fn unmask(&mut self, count: usize, mask: &mut Option<[u8; 4]>) {
        let end = self.came.start + count;
        while self.came.start < end {
            let from = self.came.start..end.min(self.came.start + STEP_BYTES);
            let to = self.given..self.given + from.len();
            (self.came.start, self.given) = (from.end, to.end);
            if to != from {
                self.bytes.copy_within(from, to.start);
            }
            apply(mask, &mut self.bytes[to]);
        }
    }
}

/// Content of the current frame.
#[derive(Debug)]
struct Content {
    left: usize,
    /// Mask, rotated to the next byte.
    mask: Option<[u8; 4]>,
    is_final: bool,
}

/// Decoder from frames to the stream of the link.
#[derive(Debug)]
pub(crate) struct Unframing {
    side: Side,
    pub(super) lengths: Lengths,
    /// Next bytes of the link, returned up to `carried_at`: lengths, and messages of several
    /// frames.
    carried: Vec<u8>,
    carried_at: usize,
    /// Front of an incomplete header.
    head: Vec<u8>,
    frame: Option<Content>,
    /// Current message of several frames.
    parts: Option<Vec<u8>>,
    ping: Option<Vec<u8>>,
    is_over: bool,
}

impl Unframing {
    pub(crate) fn new(side: Side) -> Self {
        Unframing {
            side,
            lengths: Lengths::Introduction,
            carried: Vec::new(),
            carried_at: 0,
            head: Vec::new(),
            frame: None,
            parts: None,
            ping: None,
            is_over: false,
        }
    }

    /// Returns true once the peer has sent a Close.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the content of the last unanswered Ping; earlier ones need no answer.
    pub(crate) fn take_ping(&mut self) -> Option<Vec<u8>> {
        self.ping.take()
    }

    /// Returns the place in a buffer of this size for the next input of [`Unframing::pass`]: bare
    /// messages may be longer than their frames, by a length of four bytes instead of a header of
    /// two. `None` when no input is allowed, as there are bytes for the link already.
    pub(crate) fn place_in(&self, bytes: usize) -> Option<usize> {
        match self.lengths {
            _ if self.has_carried() => None,
            Lengths::Introduction | Lengths::Batches => Some(0),
            Lengths::Bare => Some(bytes / 2),
        }
    }

    fn has_carried(&self) -> bool {
        !self.carried.is_empty()
    }

    /// Returns the bytes of memory that incomplete messages and headers take.
    pub(super) fn held(&self) -> usize {
        let parts = self.parts.as_ref().map_or(0, Vec::capacity);
        self.carried.capacity() + self.head.capacity() + parts
    }

    /// Converts bytes of the socket, those of the buffer at `came`, to bytes of the link, from the
    /// buffer's start on. The caller has to pass unprocessed bytes again: there is no room in front
    /// of them for the preceding bytes, or their turn has not come.
    ///
    /// # Errors
    /// The peer broke the rules: the link is of no use any more.
    pub(crate) fn pass(
        &mut self,
        buffer: &mut [u8],
        came: Range<usize>,
    ) -> Result<Passed, WebSocketFault> {
        let start = came.start;
        let mut place = Place {
            bytes: buffer,
            came,
            given: 0,
        };
        self.pass_all(&mut place)?;
        Ok(Passed {
            taken: place.came.start - start,
            given: place.given,
        })
    }

    fn pass_all(&mut self, place: &mut Place<'_>) -> Result<(), WebSocketFault> {
        loop {
            self.give_carried(place);
            if self.has_carried() {
                return Ok(());
            }
            if self.frame.is_some() {
                self.take_content(place);
                if self.frame.is_some() {
                    return Ok(());
                }
                continue;
            }
            let is_enough = self.lengths == Lengths::Introduction && place.given > 0;
            if self.is_over || is_enough || place.came.is_empty() {
                return Ok(());
            }
            place.came.start += self.take_head(place.rest())?;
        }
    }

    fn give_carried(&mut self, place: &mut Place<'_>) {
        let rest = &self.carried[self.carried_at..];
        let count = rest.len().min(place.room());
        place.put(&rest[..count]);
        self.carried_at += count;
        if self.carried_at == self.carried.len() {
            self.carried.clear();
            // Messages in parts are rare; their memory is not kept.
            self.carried.shrink_to(Lengths::Bare.bytes());
            self.carried_at = 0;
        }
    }

    /// Writes the length of a message in front of it.
    fn announce(&mut self, length: usize) {
        let bytes = (length as u32).to_le_bytes();
        self.carried
            .extend_from_slice(&bytes[..self.lengths.bytes()]);
    }

    /// Processes content of the current frame, and ends the frame when it is complete.
    fn take_content(&mut self, place: &mut Place<'_>) {
        let Some(frame) = &mut self.frame else {
            return;
        };
        let count = frame.left.min(place.came.len());
        match &mut self.parts {
            Some(parts) => {
                append(&mut frame.mask, &place.rest()[..count], parts);
                place.came.start += count;
            }
            None => place.unmask(count, &mut frame.mask),
        }
        frame.left -= count;
        if frame.left == 0 {
            let is_final = frame.is_final;
            self.frame = None;
            if let Some(parts) = self.parts.take_if(|parts| is_final && !parts.is_empty()) {
                self.announce(parts.len());
                self.carried.extend_from_slice(&parts);
            } else if is_final {
                self.parts = None;
            }
        }
    }

    /// Processes the next header, or as much of it as has arrived. Returns the number of bytes.
    fn take_head(&mut self, input: &[u8]) -> Result<usize, WebSocketFault> {
        if self.head.is_empty() {
            let count = self.take_header(input)?;
            if count == 0 {
                self.head.extend_from_slice(input);
                return Ok(input.len());
            }
            return Ok(count);
        }
        let had = self.head.len();
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(&input[..input.len().min(HEAD_BYTES_MAX - had)]);
        let count = match self.take_header(&head)? {
            0 => head.len(),
            count => {
                head.clear();
                count
            }
        };
        self.head = head;
        Ok(count - had)
    }

    /// Processes the header of the next frame, with the content of a control frame; 0 if it is not
    /// complete.
    fn take_header(&mut self, input: &[u8]) -> Result<usize, WebSocketFault> {
        // Parse the header; it may be incomplete.
        let mut cursor = Cursor::new(input);
        let header = FrameHeader::parse(&mut cursor);
        let header = header.map_err(|error| WebSocketFault::rules(error.to_string()))?;
        let Some((header, length)) = header else {
            return Ok(0);
        };
        let start = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        // Check the rules of the protocol.
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(WebSocketFault::rules(
                "a frame of an extension that was not agreed on",
            ));
        }
        if header.mask.is_some() != (self.side == Side::Server) {
            let what = match header.mask {
                Some(_) => "a masked frame from the server",
                None => "a frame from the client that is not masked",
            };
            return Err(WebSocketFault::rules(what));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        // Process a control frame as a whole, and the content of a message later.
        match header.opcode {
            OpCode::Control(control) => {
                if length > CONTROL_BYTES_MAX || !header.is_final {
                    return Err(WebSocketFault::rules(
                        "a control frame that is too long, or in parts",
                    ));
                }
                let Some(content) = input.get(start..start + length) else {
                    return Ok(0);
                };
                let (mut mask, mut content) = (header.mask, content.to_vec());
                apply(&mut mask, &mut content);
                self.take_control(control, content);
                Ok(start + length)
            }
            OpCode::Data(data) => {
                self.begin(data, &header, length)?;
                Ok(start)
            }
        }
    }

    fn take_control(&mut self, control: Control, content: Vec<u8>) {
        match control {
            Control::Ping => self.ping = Some(content),
            Control::Close => self.is_over = true,
            Control::Pong | Control::Reserved(_) => {}
        }
    }

    /// Begins a message, or continues it.
    fn begin(
        &mut self,
        data: Data,
        header: &FrameHeader,
        length: usize,
    ) -> Result<(), WebSocketFault> {
        // Check that the frame may follow the last one.
        match (data, &self.parts) {
            (Data::Continue, Some(_)) | (Data::Binary, None) => {}
            (Data::Continue, None) => {
                return Err(WebSocketFault::rules("a continuation of no message"));
            }
            (Data::Binary, Some(_)) => {
                return Err(WebSocketFault::rules("a message within another one"));
            }
            (Data::Text | Data::Reserved(_), _) => {
                let text = "a message that is not binary, as a browser sends for a text".to_owned();
                return Err(WebSocketFault { code: 1003, text });
            }
        }
        // Check the length, and announce it unless the message is in parts.
        let had = self.parts.as_ref().map_or(0, Vec::len);
        if length > MESSAGE_BYTES_MAX - had {
            let text = format!("a message of more than {MESSAGE_BYTES_MAX} bytes");
            return Err(WebSocketFault { code: 1009, text });
        }
        if !header.is_final && self.parts.is_none() {
            self.parts = Some(Vec::new());
        }
        if self.parts.is_none() && length > 0 {
            self.announce(length);
        }
        self.frame = Some(Content {
            left: length,
            mask: header.mask,
            is_final: header.is_final,
        });
        Ok(())
    }
}

/// Masks or unmasks bytes, and rotates the mask to the byte behind them.
fn apply(mask: &mut Option<[u8; 4]>, bytes: &mut [u8]) {
    let Some(mask) = mask else {
        return;
    };
    let (words, rest) = bytes.as_chunks_mut();
    let masked = masked(*mask);
    for word in words {
        *word = masked(*word);
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    mask.rotate_left(rest.len() % 4);
}

/// Masks bytes while copying them: they are read and written once.
fn append(mask: &mut Option<[u8; 4]>, bytes: &[u8], out: &mut Vec<u8>) {
    let Some(wide) = *mask else {
        out.extend_from_slice(bytes);
        return;
    };
    let (words, rest) = bytes.as_chunks();
    let masked = masked(wide);
    out.extend(words.iter().flat_map(|word| masked(*word)));
    let start = out.len();
    out.extend_from_slice(rest);
    apply(mask, &mut out[start..]);
}

/// Returns a function that masks eight bytes.
fn masked([a, b, c, d]: [u8; 4]) -> impl Fn([u8; 8]) -> [u8; 8] {
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    move |word| (u64::from_ne_bytes(word) ^ wide).to_ne_bytes()
}

/// Encoder from the stream of the link to frames.
#[derive(Debug)]
pub(crate) struct Framing {
    /// Masks of a client.
    masks: Option<MaskSource>,
    pub(super) lengths: Lengths,
    /// Known bytes of the next message's length.
    length: [u8; 4],
    length_bytes: usize,
    /// Remaining bytes of the current frame, and their mask.
    left: usize,
    mask: Option<[u8; 4]>,
    /// Answer to a Ping, to be sent in front of the next frame.
    pong: Option<Vec<u8>>,
}

impl Framing {
    pub(crate) fn new(side: Side) -> Self {
        Framing {
            masks: (side == Side::Client).then(MaskSource::default),
            lengths: Lengths::Introduction,
            length: [0; 4],
            length_bytes: 0,
            left: 0,
            mask: None,
            pong: None,
        }
    }

    /// Sets the Ping to answer, in place of earlier ones.
    pub(crate) fn answer(&mut self, ping: Vec<u8>) {
        self.pong = Some(ping);
    }

    /// Returns true if the next byte of the link begins a message.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn is_between(&self) -> bool {
        self.left == 0 && self.length_bytes == 0
    }

    /// Appends the frames of these bytes of the link.
    pub(crate) fn frame(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.left == 0 {
                let missing = self.lengths.bytes() - self.length_bytes;
                let (known, rest) = bytes.split_at(missing.min(bytes.len()));
                self.length[self.length_bytes..][..known.len()].copy_from_slice(known);
                self.length_bytes += known.len();
                bytes = rest;
                if self.length_bytes == self.lengths.bytes() {
                    self.begin(out);
                }
                continue;
            }
            let (content, rest) = bytes.split_at(self.left.min(bytes.len()));
            append(&mut self.mask, content, out);
            self.left -= content.len();
            bytes = rest;
        }
    }

    /// Begins the message whose length is known; an empty one is left out.
    fn begin(&mut self, out: &mut Vec<u8>) {
        let length = u32::from_le_bytes(std::mem::take(&mut self.length)) as usize;
        self.length_bytes = 0;
        if length > 0 {
            self.say_pong(out);
            self.mask = self.head(OpCode::Data(Data::Binary), length, out);
            self.left = length;
        }
    }

    /// Appends the answer to a Ping, if one is due and no message is begun.
    pub(crate) fn say_pong(&mut self, out: &mut Vec<u8>) {
        if let Some(content) = self
            .pong
            .take_if(|_| self.left == 0 && self.length_bytes == 0)
        {
            self.control(Control::Pong, &content, out);
        }
    }

    /// Appends a Close. No message is begun.
    pub(crate) fn say_close(&mut self, code: u16, out: &mut Vec<u8>) {
        self.say_close_for(code, "", out);
    }

    /// Appends a Close with its reason, of which a control frame takes 123 bytes.
    pub(crate) fn say_close_for(&mut self, code: u16, reason: &str, out: &mut Vec<u8>) {
        let mut end = reason.len().min(CONTROL_BYTES_MAX - size_of::<u16>());
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let content = [&code.to_be_bytes(), &reason.as_bytes()[..end]].concat();
        self.control(Control::Close, &content, out);
    }

    fn control(&mut self, control: Control, content: &[u8], out: &mut Vec<u8>) {
        let mut mask = self.head(OpCode::Control(control), content.len(), out);
        append(&mut mask, content, out);
    }

    fn head(&mut self, opcode: OpCode, length: usize, out: &mut Vec<u8>) -> Option<[u8; 4]> {
        let mask = self.masks.as_mut().map(MaskSource::next);
        let header = FrameHeader {
            opcode,
            mask,
            ..FrameHeader::default()
        };
        header
            .format(length as u64, out)
            .expect("memory takes every header");
        mask
    }
}

/// Masks that no sender of content can guess, so that no content looks like HTTP to a machine
/// between the two ends.
#[derive(Debug)]
struct MaskSource {
    bytes: [u8; MASKS_BYTES],
    used: usize,
}

impl Default for MaskSource {
    fn default() -> Self {
        MaskSource {
            bytes: [0; MASKS_BYTES],
            used: MASKS_BYTES,
        }
    }
}

impl MaskSource {
    fn next(&mut self) -> [u8; 4] {
        if self.used == MASKS_BYTES {
            // A system without random bytes has no keys for cookies either; masks protect no
            // secret.
            let _ = getrandom::fill(&mut self.bytes);
            self.used = 0;
        }
        let mask = self.bytes[self.used..].first_chunk().copied();
        self.used += 4;
        mask.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
