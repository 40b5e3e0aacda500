// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network messages, and rows of PUSHes that are alike.

use super::{Kind, Known, Speller, TEXTS};

const SUFFIX: u8 = 0x20;
const SENDER: u8 = 0x40;

const QOS: Known = (0x21, Kind::Number(8));
const TIMESTAMP: Known = (0x42, Kind::Timestamp);
const NODE_ID: Known = (0x33, Kind::Number(16));
const STACK: Known = (0x47, Kind::Stack);
const SOURCE_INFO: Known = (0x41, Kind::SourceInfo);

const FLAG_TIMESTAMP: u8 = 0x20;
const FLAG_ENCODING: u8 = 0x40;

/// First bytes of messages that are alike, and the state needed to continue them.
struct Head {
    bytes: Vec<u8>,
    stamped: bool,
    /// Length and bytes of the clock's id, in the form that most of the messages use.
    clock: Vec<u8>,
    length: usize,
    /// Bytes beyond the needed ones in which most of them write the payload's length.
    pad: usize,
}

impl Speller<'_> {
    /// Writes any network message.
    pub fn network(&mut self) {
        match self.byte() % 10 {
            0..4 => self.push(),
            4 => self.request(),
            5 => self.response(),
            6 => self.numbered(0x1a, &[QOS, TIMESTAMP]),
            7 => self.declare(),
            8 => self.interest(),
            _ => self.oam(),
        }
    }

    /// Writes unrelated PUSHes in a row.
    pub fn pushes(&mut self, count: usize) {
        (0..count).for_each(|_| self.push());
    }

    /// Writes PUSHes in a row, most of which begin with the same bytes; returns the end of each.
    pub fn alike(&mut self, count: usize) -> Vec<usize> {
        let heads: Vec<Head> = (0..self.byte() % 3 + 1).map(|_| self.head()).collect();
        let mut at = 0;
        let mut ends = Vec::new();
        for _ in 0..count {
            if self.rarely() {
                at = usize::from(self.byte()) % heads.len();
            }
            match self.byte() {
                0xfd.. => self.push(),
                _ => self.again(&heads[at]),
            }
            ends.push(self.out.len());
        }
        ends
    }

    fn head(&mut self) -> Head {
        let before = self.take();
        // everything up to the place of the timestamp
        self.push_head();
        let stamped = self.coin();
        if stamped {
            self.put(0x01 | FLAG_TIMESTAMP);
        } else if self.rarely() || self.rarely() {
            self.put_options(false);
        } else {
            self.put(0x01);
        }
        let bytes = std::mem::take(&mut self.out);
        // the id behind the clock value of the timestamp
        let id = self.id();
        self.sized_bytes(&id);
        let clock = std::mem::replace(&mut self.out, before);
        // length of the payload, and the form in which it is written
        let length = match self.coin() {
            true => 0,
            false => self.bytes().len(),
        };
        let pad = self.pick(&[0, 0, 0, 0, 1, 1, 2, 8]);
        Head {
            bytes,
            stamped,
            clock,
            length,
            pad,
        }
    }

    /// Writes one more message that begins with this head.
    fn again(&mut self, head: &Head) {
        self.out.extend(&head.bytes);
        if head.stamped {
            let time = self.time();
            if self.rarely() {
                self.timestamp_at(time);
            } else {
                self.vle(time);
                self.out.extend(&head.clock);
            }
        }
        // lengths whose first bytes are alike, too: they differ in their last bits
        let length = match self.byte() {
            0..0xa0 => head.length,
            choice @ 0xa0..0xd0 => head.length % 128 + 128 * usize::from(choice % 4),
            _ => self.bytes().len(),
        };
        let pad = match self.rarely() {
            true => usize::from(self.byte()) % 9,
            false => head.pad,
        };
        let content = self.byte();
        self.vle_padded(length as u64, pad);
        self.out.resize(self.out.len() + length, content);
    }

    /// Writes header, number and wire expression; returns the position of the header.
    fn with_key(&mut self, id: u8, number: bool) -> usize {
        let header = self.out.len();
        let flags = self.byte() & (SUFFIX | SENDER);
        self.put(id | flags);
        if number {
            let number = self.number() & u64::from(u32::MAX);
            self.vle(number);
        }
        self.key(flags);
        header
    }

    fn key(&mut self, flags: u8) {
        let scope = self.pick(&[0, 1, 1, 2, 127, 128, 300, 0xffff]);
        self.vle(scope);
        if flags & SUFFIX != 0 {
            let text = self.pick(&TEXTS).as_bytes();
            self.sized_bytes(text);
        }
    }

    fn push_head(&mut self) {
        let header = self.with_key(0x1d, false);
        self.extensions(header, &[QOS, QOS, TIMESTAMP, NODE_ID, STACK]);
    }

    fn push(&mut self) {
        self.push_head();
        self.push_body();
    }

    fn push_body(&mut self) {
        if self.byte() < 0xa0 {
            let stamped = self.coin();
            self.put_options(stamped);
            let bytes = self.bytes();
            self.sized_bytes(&bytes);
        } else {
            self.del();
        }
    }

    /// Writes a PUT up to its payload's length.
    fn put_options(&mut self, stamped: bool) {
        let header = self.out.len();
        let encoded = self.coin();
        self.put(0x01);
        if stamped {
            self.out[header] |= FLAG_TIMESTAMP;
            self.timestamp();
        }
        if encoded {
            self.out[header] |= FLAG_ENCODING;
            self.encoding();
        }
        self.extensions(header, &[SOURCE_INFO, (0x43, Kind::Bytes)]);
    }

    fn del(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x02 | flags);
        if flags & FLAG_TIMESTAMP != 0 {
            self.timestamp();
        }
        self.extensions(header, &[SOURCE_INFO, (0x42, Kind::Bytes)]);
    }

    fn request(&mut self) {
        let header = self.with_key(0x1c, true);
        let known = [
            QOS,
            TIMESTAMP,
            NODE_ID,
            STACK,
            (0x34, Kind::Below(3)),
            (0x25, Kind::Number(32)),
            (0x26, Kind::Number(64)),
        ];
        self.extensions(header, &known);
        self.query();
    }

    fn query(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x03 | flags);
        if flags & 0x20 != 0 {
            let mode = self.number() % 6;
            self.vle(mode);
        }
        if flags & 0x40 != 0 {
            let text = self.pick(&TEXTS).as_bytes();
            self.sized_bytes(text);
        }
        let known = [SOURCE_INFO, (0x43, Kind::Value), (0x45, Kind::Bytes)];
        self.extensions(header, &known);
    }

    fn response(&mut self) {
        let header = self.with_key(0x1b, true);
        let known = [QOS, TIMESTAMP, STACK, (0x43, Kind::Entity)];
        self.extensions(header, &known);
        let header = self.out.len();
        // a reply with its body, or an error with its payload
        if self.coin() {
            let flags = self.byte() & 0x60;
            self.put(0x04 | flags);
            if flags & 0x20 != 0 {
                let mode = self.number() % 6;
                self.vle(mode);
            }
            self.extensions(header, &[]);
            self.push_body();
        } else {
            let flags = self.byte() & 0x60;
            self.put(0x05 | flags);
            if flags & FLAG_ENCODING != 0 {
                self.encoding();
            }
            self.extensions(header, &[SOURCE_INFO]);
            let bytes = self.bytes();
            self.sized_bytes(&bytes);
        }
    }

    /// Writes a header with meaningless bits, a number, and extensions.
    fn numbered(&mut self, id: u8, known: &[Known]) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(id | flags);
        let number = self.number() & u64::from(u32::MAX);
        self.vle(number);
        self.extensions(header, known);
    }

    fn declare(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x1e | flags);
        if flags & 0x20 != 0 {
            let number = self.number() & u64::from(u32::MAX);
            self.vle_low(number, 32);
        }
        self.extensions(header, &[QOS, TIMESTAMP, NODE_ID]);
        self.declaration();
    }

    fn declaration(&mut self) {
        let header = self.out.len();
        let id = self.pick(&[0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x1a]);
        // declarations have an id and a key, undeclarations an id; `0x1a` has neither
        match id {
            0x00 | 0x02 | 0x04 | 0x06 => {
                let bits = if id == 0 { 16 } else { 32 };
                let flags = self.byte() & (SUFFIX | SENDER);
                self.put(id | flags);
                let number = self.number() & ((1 << bits) - 1);
                self.vle_low(number, bits);
                self.key(flags);
            }
            0x1a => self.put(id),
            _ => {
                self.put(id);
                let bits = if id == 0x01 { 16 } else { 32 };
                let number = self.number() & ((1 << bits) - 1);
                self.vle_low(number, bits);
            }
        }
        // extensions that belong to the kind
        match id {
            0x03 | 0x05 | 0x07 => self.extensions(header, &[(0x5f, Kind::Key)]),
            0x04 => self.extensions(header, &[(0x21, Kind::Number(24))]),
            _ => self.extensions(header, &[]),
        }
    }

    fn interest(&mut self) {
        let header = self.out.len();
        let mode = self.byte() & 0x60;
        self.put(0x19 | mode);
        let number = self.number() & u64::from(u32::MAX);
        self.vle_low(number, 32);
        if mode != 0 {
            let options = self.byte();
            self.put(options);
            if options & 0x10 != 0 {
                self.key(options & (SUFFIX | SENDER));
            }
        }
        self.extensions(header, &[QOS, TIMESTAMP, NODE_ID]);
    }

    fn oam(&mut self) {
        let header = self.out.len();
        let kind = self.pick(&[0, 0x20, 0x40]);
        self.put(0x1f | kind);
        let number = self.number() & 0xffff;
        self.vle_low(number, 16);
        self.extensions(header, &[QOS, TIMESTAMP]);
        match kind {
            0x20 => self.body(Kind::Number(64)),
            0x40 => self.body(Kind::Bytes),
            _ => {}
        }
    }
}
