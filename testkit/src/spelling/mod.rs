// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages in every spelling that the protocol allows: numbers in more bytes than they need, ids
//! with zero bytes, texts and fields that are announced and empty, extensions that are unknown,
//! that come twice, or in any order, bits without a meaning. No message comes from an encoder, so
//! nothing here is canonical but by chance.
//!
//! Bytes decide about the messages, so that a fuzzer or a test's shrinking can search in them; when
//! they run out, every choice is the simplest.

mod network;
mod transport;

/// Texts, of which some are keys.
const TEXTS: [&str; 6] = [
    "",
    "a",
    "key/b",
    "demo/**",
    "a/key/that/is/longer/than/what/is/compared",
    "@/x",
];

/// Lengths of payloads near the limits of the encoding.
const LENGTHS: [usize; 12] = [0, 1, 2, 8, 15, 16, 17, 127, 128, 129, 300, 16_384];

/// Mark of a body in shared memory in a QUERY, which changes how the body is read.
const SHARED: u8 = 0x04;

const MORE: u8 = 0x80;
const MANDATORY: u8 = 0x10;
const ENCODING: u8 = 0x60;
const ENCODING_NUMBER: u8 = 0x20;
const ENCODING_BYTES: u8 = 0x40;

/// Returns choosing bytes, drawn from a seed.
pub fn choices(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut draw = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) as u8
    };
    (0..count).map(|_| draw()).collect()
}

/// Content of an extension.
#[derive(Clone, Copy)]
enum Kind {
    Unit,
    /// A number of which this many bits count.
    Number(u32),
    /// A number below this.
    Below(u64),
    Timestamp,
    Entity,
    SourceInfo,
    Stack,
    Bytes,
    /// An encoding and bytes.
    Value,
    /// The key of an undeclaration.
    Key,
    /// Eight pairs of sequence numbers.
    Sns,
    Text,
}

/// A known extension: its header without "more", and its content.
type Known = (u8, Kind);

/// Writer of messages, driven by a string of choices.
pub struct Speller<'c> {
    choices: &'c [u8],
    out: Vec<u8>,
    lies: bool,
}

impl<'c> Speller<'c> {
    /// Returns a speller of messages that every node must understand.
    pub fn legal(choices: &'c [u8]) -> Self {
        Speller {
            choices,
            out: Vec::new(),
            lies: false,
        }
    }

    /// Returns a speller that also writes invalid messages at times: lengths that are not those of
    /// the field, mandatory extensions that do not exist, ids of zero.
    pub fn lying(choices: &'c [u8]) -> Self {
        Speller {
            lies: true,
            ..Self::legal(choices)
        }
    }

    /// Returns true if a choice is left.
    pub fn has_choices(&self) -> bool {
        !self.choices.is_empty()
    }

    /// Takes the bytes that were written.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.choices.split_first() else {
            return 0;
        };
        self.choices = rest;
        byte
    }

    fn coin(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Returns true once in a while.
    fn rarely(&mut self) -> bool {
        self.byte() >= 0xe0
    }

    fn lie(&mut self) -> bool {
        self.lies && self.byte() >= 0xf4
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// Returns a number of any magnitude: half of them are small.
    fn number(&mut self) -> u64 {
        let width = self.byte() % 10;
        (0..width.min(8)).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// Returns bytes of a length near a limit.
    fn bytes(&mut self) -> Vec<u8> {
        let length = match self.byte() {
            choice @ 0..0x40 => usize::from(choice),
            0xff => LENGTHS[LENGTHS.len() - 1],
            choice => LENGTHS[usize::from(choice) % (LENGTHS.len() - 1)],
        };
        let mut bytes: Vec<u8> = (0..length.min(8)).map(|_| self.byte()).collect();
        bytes.resize(length, 0x1d);
        bytes
    }

    fn put(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// Writes a number in its shortest form, or in a longer one.
    fn vle(&mut self, number: u64) {
        let pad = if self.rarely() { self.byte() % 9 } else { 0 };
        self.vle_padded(number, usize::from(pad));
    }

    fn vle_padded(&mut self, mut number: u64, pad: usize) {
        let needed = (1..9).find(|count| number >> (7 * count) == 0).unwrap_or(9);
        let count = (needed + pad).min(9);
        for _ in 1..count {
            self.put(number as u8 | MORE);
            number >>= 7;
        }
        self.put(number as u8);
    }

    /// Writes a number of which only the low `bits` are read; the high ones are arbitrary.
    fn vle_low(&mut self, number: u64, bits: u32) {
        let high = if self.rarely() {
            self.number() << bits
        } else {
            0
        };
        self.vle(number | high);
    }

    /// Writes a field behind its length.
    fn sized(&mut self, write: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.out);
        write(self);
        let content = std::mem::replace(&mut self.out, before);
        let length = match self.lie() {
            true => self.number() % 40,
            false => content.len() as u64,
        };
        self.vle(length);
        self.out.extend(content);
    }

    fn sized_bytes(&mut self, bytes: &[u8]) {
        self.sized(|speller| speller.out.extend(bytes));
    }

    /// Returns the bytes of an id, with zero bytes behind the significant ones.
    fn id(&mut self) -> Vec<u8> {
        let count = usize::from(self.byte()) % 16 + 1;
        let mut bytes: Vec<u8> = (0..count).map(|_| self.byte()).collect();
        if !self.lie() {
            bytes[0] |= 1;
        }
        let zeros = if self.rarely() { self.byte() % 16 } else { 0 };
        bytes.resize((count + usize::from(zeros)).min(16), 0);
        bytes
    }

    /// Writes an id whose length is in the high bits of the byte before it, and `low` in the low
    /// ones.
    fn announced_id(&mut self, low: u8) {
        let id = self.id();
        self.put((id.len() as u8 - 1) << 4 | low & 0x0f);
        self.out.extend(id);
    }

    fn timestamp(&mut self) {
        let time = self.time();
        self.timestamp_at(time);
    }

    /// Returns a time that takes all nine bytes: mostly one of the past, which every clock accepts.
    fn time(&mut self) -> u64 {
        match self.rarely() {
            true => self.number() | 1 << 63,
            false => self.number() >> 3 | 1 << 62,
        }
    }

    fn timestamp_at(&mut self, time: u64) {
        self.vle(time);
        let id = self.id();
        self.sized_bytes(&id);
    }

    fn entity(&mut self) {
        let low = if self.rarely() { self.byte() } else { 0 };
        self.announced_id(low);
        let number = self.number() & u64::from(u32::MAX);
        self.vle_low(number, 32);
    }

    fn encoding(&mut self) {
        let number = u64::from(self.byte());
        let high = if self.rarely() {
            self.number() & 0xffff << 16
        } else {
            0
        };
        let has_schema = number & 1 == 1;
        self.vle(number | high);
        if has_schema {
            let schema = self.pick(&TEXTS).as_bytes();
            self.sized_bytes(schema);
        }
    }

    fn stack(&mut self) {
        let conf = self.byte().max(u8::from(!self.lie()));
        self.put(conf);
        let count = self.byte() % 4;
        self.vle(u64::from(count));
        for _ in 0..count {
            let flags = self.byte();
            self.put(flags);
            let time = self.pick(&TEXTS).as_bytes();
            self.sized_bytes(time);
        }
    }

    /// Writes extensions of a message whose header was written at `header`: some of the known ones,
    /// some unknown ones.
    fn extensions(&mut self, header: usize, known: &[Known]) {
        let mut previous = header;
        let count = match self.byte() {
            0..0x80 => 0,
            choice => choice % 5 + 1,
        };
        for _ in 0..count {
            self.out[previous] |= MORE;
            previous = self.out.len();
            if !known.is_empty() && self.byte() < 0xb0 {
                let (key, kind) = self.pick(known);
                self.put(key);
                self.body(kind);
            } else {
                self.unknown(known);
            }
        }
    }

    fn unknown(&mut self, known: &[Known]) {
        let mut key = self.byte() & !MORE & !MANDATORY;
        if key & ENCODING == ENCODING {
            key &= !ENCODING_NUMBER;
        }
        while known.iter().any(|(taken, _)| *taken == key) {
            key = key & ENCODING | (key + 1) & 0x0f;
        }
        if key == SHARED && !self.lies {
            key += 1;
        }
        if self.lie() {
            key |= self.pick(&[MANDATORY, ENCODING]);
        }
        self.put(key);
        match key & ENCODING {
            ENCODING_NUMBER => self.body(Kind::Number(64)),
            ENCODING_BYTES => self.body(Kind::Bytes),
            _ => {}
        }
    }

    fn body(&mut self, kind: Kind) {
        match kind {
            Kind::Unit => {}
            Kind::Number(bits) => {
                let number = self.number();
                match bits {
                    64.. => self.vle(number),
                    bits => self.vle_low(number & ((1 << bits) - 1), bits),
                }
            }
            Kind::Below(end) => {
                let number = self.number() % end;
                self.vle(number);
            }
            Kind::Bytes => {
                let bytes = self.bytes();
                self.sized_bytes(&bytes);
            }
            Kind::Text => {
                let text = self.pick(&TEXTS).as_bytes();
                self.sized_bytes(text);
            }
            Kind::Timestamp => self.sized(Self::timestamp),
            Kind::Entity => self.sized(Self::entity),
            Kind::SourceInfo => self.sized(|speller| {
                speller.entity();
                let number = speller.number() & u64::from(u32::MAX);
                speller.vle_low(number, 32);
            }),
            Kind::Stack => self.sized(Self::stack),
            Kind::Value => self.sized(|speller| {
                speller.encoding();
                let bytes = speller.bytes();
                speller.out.extend(bytes);
            }),
            Kind::Key => self.sized(|speller| {
                let flags = speller.byte() & 3;
                speller.put(flags);
                let scope = speller.number() & 0xffff;
                speller.vle(scope);
                if flags & 1 == 1 {
                    // the reference accepts no empty text here
                    let text = speller.pick(&TEXTS[1..]);
                    speller.out.extend(text.as_bytes());
                }
            }),
            Kind::Sns => self.sized(|speller| {
                for _ in 0..16 {
                    let number = speller.number() & u64::from(u32::MAX);
                    speller.vle_low(number, 32);
                }
            }),
        }
    }
}
