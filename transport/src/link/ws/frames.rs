// SPDX-License-Identifier: MIT OR Apache-2.0
//! The frames of WebSocket (RFC 6455), without a socket: between them and a stream of batches that have their length in front.
//!
//! A batch is a binary message. One that comes in several frames is put together first, as its length has to go in front.

use std::fmt;
use std::io::Cursor;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

/// The longest message: a batch is no longer.
const MESSAGE_BYTES_MAX: usize = 65_535;

/// The longest content of a frame that is no message.
const CONTROL_BYTES_MAX: usize = 125;

/// Bytes of masks that are drawn at once.
const MASKS_BYTES: usize = 256;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// It has connected, and masks what it sends.
    Client,
    /// It was connected to.
    Server,
}

/// How many bytes of length are in front of each message in the link's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// Of the introduction: as of batches; no more than one message is given out at once, as what follows may be others.
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

/// What a peer did that ends the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The number that tells the peer.
    pub(super) code: u16,
    text: String,
}

impl Broken {
    fn rules(text: impl Into<String>) -> Broken {
        let (code, text) = (1002, text.into());
        Broken { code, text }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Broken {}

/// How far [`Unframing::pass`] came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Bytes of the socket that are dealt with.
    pub(crate) taken: usize,
    /// Bytes of the link that were given out.
    pub(crate) given: usize,
}

/// The content of a frame that has begun.
#[derive(Debug)]
struct Content {
    left: usize,
    /// The mask, turned to what comes next.
    mask: Option<[u8; 4]>,
    is_final: bool,
}

/// From frames to the stream of the link.
#[derive(Debug)]
pub(crate) struct Unframing {
    side: Side,
    pub(super) lengths: Lengths,
    /// Bytes of the link that come next, up to `carried_at` given out already: lengths, and messages of several frames.
    carried: Vec<u8>,
    carried_at: usize,
    frame: Option<Content>,
    /// The message of several frames that has begun.
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
            frame: None,
            parts: None,
            ping: None,
            is_over: false,
        }
    }

    /// Whether the peer has said that nothing follows.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The content of the last Ping that is not answered; those before need no answer.
    pub(crate) fn take_ping(&mut self) -> Option<Vec<u8>> {
        self.ping.take()
    }

    /// Takes bytes of the socket, and gives out bytes of the link, as far as there are and as there is room. What is not taken
    /// has to be given again with more behind it.
    ///
    /// # Errors
    /// The peer broke the rules: the link is of no use any more.
    pub(crate) fn pass(&mut self, input: &[u8], output: &mut [u8]) -> Result<Passed, Broken> {
        let mut passed = Passed::default();
        loop {
            passed.given += self.give_carried(&mut output[passed.given..]);
            if !self.carried.is_empty() {
                return Ok(passed);
            }
            let rest = &input[passed.taken..];
            if self.frame.is_some() {
                let step = self.take_content(rest, &mut output[passed.given..]);
                passed.taken += step.taken;
                passed.given += step.given;
                if self.frame.is_some() {
                    return Ok(passed);
                }
                continue;
            }
            let is_enough = self.lengths == Lengths::Introduction && passed.given > 0;
            if self.is_over || is_enough {
                return Ok(passed);
            }
            match self.take_header(rest)? {
                0 => return Ok(passed),
                count => passed.taken += count,
            }
        }
    }

    fn give_carried(&mut self, output: &mut [u8]) -> usize {
        let rest = &self.carried[self.carried_at..];
        let count = rest.len().min(output.len());
        output[..count].copy_from_slice(&rest[..count]);
        self.carried_at += count;
        if self.carried_at == self.carried.len() {
            self.carried.clear();
            // A message in parts is rare; its memory is not kept.
            self.carried.shrink_to(Lengths::Bare.bytes());
            self.carried_at = 0;
        }
        count
    }

    /// Puts the length of a message in front of it.
    fn announce(&mut self, length: usize) {
        let bytes = (length as u32).to_le_bytes();
        self.carried
            .extend_from_slice(&bytes[..self.lengths.bytes()]);
    }

    /// Content of the frame that has begun, which is over when it is complete.
    fn take_content(&mut self, input: &[u8], output: &mut [u8]) -> Passed {
        let Some(frame) = &mut self.frame else {
            return Passed::default();
        };
        let most = frame.left.min(input.len());
        let passed = match &mut self.parts {
            Some(parts) => {
                let start = parts.len();
                parts.extend_from_slice(&input[..most]);
                apply(&mut frame.mask, &mut parts[start..]);
                Passed {
                    taken: most,
                    given: 0,
                }
            }
            None => {
                let count = most.min(output.len());
                output[..count].copy_from_slice(&input[..count]);
                apply(&mut frame.mask, &mut output[..count]);
                Passed {
                    taken: count,
                    given: count,
                }
            }
        };
        frame.left -= passed.taken;
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
        passed
    }

    /// The header of the next frame, with its content unless that is a message's; 0 if it is not there as a whole.
    fn take_header(&mut self, input: &[u8]) -> Result<usize, Broken> {
        let mut cursor = Cursor::new(input);
        let header = FrameHeader::parse(&mut cursor);
        let header = header.map_err(|error| Broken::rules(error.to_string()))?;
        let Some((header, length)) = header else {
            return Ok(0);
        };
        let start = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(Broken::rules(
                "a frame of an extension that was not agreed on",
            ));
        }
        if header.mask.is_some() != (self.side == Side::Server) {
            let what = match header.mask {
                Some(_) => "a masked frame from the server",
                None => "a frame from the client that is not masked",
            };
            return Err(Broken::rules(what));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match header.opcode {
            OpCode::Control(control) => {
                if length > CONTROL_BYTES_MAX || !header.is_final {
                    return Err(Broken::rules(
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

    /// A message begins, or goes on.
    fn begin(&mut self, data: Data, header: &FrameHeader, length: usize) -> Result<(), Broken> {
        match (data, &self.parts) {
            (Data::Continue, Some(_)) | (Data::Binary, None) => {}
            (Data::Continue, None) => {
                return Err(Broken::rules("a continuation of no message"));
            }
            (Data::Binary, Some(_)) => {
                return Err(Broken::rules("a message within another one"));
            }
            (Data::Text | Data::Reserved(_), _) => {
                let text = "a message that is not binary".to_owned();
                return Err(Broken { code: 1003, text });
            }
        }
        let had = self.parts.as_ref().map_or(0, Vec::len);
        if length > MESSAGE_BYTES_MAX - had {
            let text = format!("a message of more than {MESSAGE_BYTES_MAX} bytes");
            return Err(Broken { code: 1009, text });
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

/// Masks bytes or takes their mask away, and turns the mask to what comes behind them.
fn apply(mask: &mut Option<[u8; 4]>, bytes: &mut [u8]) {
    let Some(mask) = mask else {
        return;
    };
    let [a, b, c, d] = *mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        if let Some(word) = word.first_chunk_mut::<8>() {
            *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
        }
    }
    let rest = words.into_remainder();
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
    mask.rotate_left(rest.len() % 4);
}

/// From the stream of the link to frames.
#[derive(Debug)]
pub(crate) struct Framing {
    /// Of the client.
    masks: Option<Masks>,
    pub(super) lengths: Lengths,
    /// What is known of the next message's length.
    length: [u8; 4],
    length_bytes: usize,
    /// Bytes to come of the frame that has begun, and their mask.
    left: usize,
    mask: Option<[u8; 4]>,
    /// What answers a Ping, in front of the next frame.
    pong: Option<Vec<u8>>,
}

impl Framing {
    pub(crate) fn new(side: Side) -> Self {
        Framing {
            masks: (side == Side::Client).then(Masks::default),
            lengths: Lengths::Introduction,
            length: [0; 4],
            length_bytes: 0,
            left: 0,
            mask: None,
            pong: None,
        }
    }

    /// Has a Ping with this content answered, instead of those before.
    pub(crate) fn answer(&mut self, ping: Vec<u8>) {
        self.pong = Some(ping);
    }

    /// Whether the next byte of the link begins a message.
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
            let start = out.len();
            out.extend_from_slice(content);
            apply(&mut self.mask, &mut out[start..]);
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

    /// Appends the answer to a Ping, if one is owed and no message is begun.
    pub(crate) fn say_pong(&mut self, out: &mut Vec<u8>) {
        if let Some(content) = self
            .pong
            .take_if(|_| self.left == 0 && self.length_bytes == 0)
        {
            self.control(Control::Pong, &content, out);
        }
    }

    /// Appends the end. No message is begun.
    pub(crate) fn say_close(&mut self, code: u16, out: &mut Vec<u8>) {
        self.control(Control::Close, &code.to_be_bytes(), out);
    }

    fn control(&mut self, control: Control, content: &[u8], out: &mut Vec<u8>) {
        let mut mask = self.head(OpCode::Control(control), content.len(), out);
        let start = out.len();
        out.extend_from_slice(content);
        apply(&mut mask, &mut out[start..]);
    }

    fn head(&mut self, opcode: OpCode, length: usize, out: &mut Vec<u8>) -> Option<[u8; 4]> {
        let mask = self.masks.as_mut().map(Masks::next);
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

/// Masks that nobody can guess, so that no content looks like HTTP to what is between the two ends.
#[derive(Debug)]
struct Masks {
    bytes: [u8; MASKS_BYTES],
    used: usize,
}

impl Default for Masks {
    fn default() -> Self {
        Masks {
            bytes: [0; MASKS_BYTES],
            used: MASKS_BYTES,
        }
    }
}

impl Masks {
    fn next(&mut self) -> [u8; 4] {
        if self.used == MASKS_BYTES {
            // A system without random bytes has no keys for cookies either; masks keep nothing secret.
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
