// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transport messages, and scouting messages.

use super::{Kind, Known, Speller};

const PRIORITY: Known = (0x31, Kind::Number(3));
const PATCH: Known = (0x27, Kind::Number(8));
const LOCATORS: [&str; 3] = ["tcp/127.0.0.1:7447", "tcp/[::1]:7447", "udp/host.example:1"];

impl Speller<'_> {
    /// Writes any transport message. Behind a FRAME comes up to one network message, behind a
    /// FRAGMENT some bytes.
    pub fn transport(&mut self) {
        match self.byte() % 10 {
            0 => self.init(),
            1 => self.open(),
            2 => self.close(),
            3 => self.keep_alive(),
            4 => self.join(),
            5 => self.transport_oam(),
            6..8 => self.frame(),
            _ => self.fragment(),
        }
    }

    /// Writes any scouting message.
    pub fn scouting(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        let is_scout = self.coin();
        self.put(flags | if is_scout { 1 } else { 2 });
        let version = self.byte();
        self.put(version);
        // A Scout requests roles; a Hello has the sender's role and locators.
        if is_scout {
            let what = self.byte() & 0x0f;
            match what & 0x08 {
                0 => self.put(what),
                _ => self.announced_id(what),
            }
        } else {
            let role = self.byte() % 3;
            self.announced_id(role);
            if flags & 0x20 != 0 {
                let count = self.byte() % 3;
                self.vle(u64::from(count));
                for _ in 0..count {
                    let locator = self.pick(&LOCATORS).as_bytes();
                    self.sized_bytes(locator);
                }
            }
        }
        self.extensions(header, &[]);
    }

    /// Writes version, role and id, and the fields that follow them.
    fn identity(&mut self, sizes: bool) {
        let version = self.byte();
        self.put(version);
        let role = self.byte() % 3;
        self.announced_id(role);
        if sizes {
            let resolution = self.byte() & 0x0f;
            self.put(resolution);
            let size = [self.byte(), self.byte()];
            self.out.extend(size);
        }
    }

    fn low_number(&mut self) {
        let number = self.number() & u64::from(u32::MAX);
        self.vle_low(number, 32);
    }

    fn init(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x01 | flags);
        self.identity(flags & 0x40 != 0);
        if flags & 0x20 != 0 {
            let cookie = self.bytes();
            self.sized_bytes(&cookie);
        }
        let known = [
            (0x01, Kind::Unit),
            (0x21, Kind::Number(64)),
            (0x42, Kind::Bytes),
            (0x43, Kind::Bytes),
            (0x44, Kind::Bytes),
            (0x05, Kind::Unit),
            (0x06, Kind::Unit),
            PATCH,
            (0x48, Kind::Text),
        ];
        self.extensions(header, &known);
    }

    fn open(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x02 | flags);
        let lease = self.number();
        self.vle(lease);
        self.low_number();
        // An OpenSyn has the cookie, an OpenAck does not.
        let is_ack = flags & 0x20 != 0;
        if !is_ack {
            let cookie = self.bytes();
            self.sized_bytes(&cookie);
        }
        // One extension has another form on each side.
        let known = [
            (0x01, Kind::Unit),
            (0x42, Kind::Bytes),
            (0x43, Kind::Bytes),
            if is_ack {
                (0x04, Kind::Unit)
            } else {
                (0x44, Kind::Bytes)
            },
            (0x05, Kind::Unit),
            (0x06, Kind::Unit),
            (0x27, Kind::Below(2)),
        ];
        self.extensions(header, &known);
    }

    fn close(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x03 | flags);
        let reason = self.byte();
        self.put(reason);
        self.extensions(header, &[]);
    }

    fn keep_alive(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x04 | flags);
        self.extensions(header, &[]);
    }

    fn join(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x07 | flags);
        self.identity(flags & 0x40 != 0);
        let lease = self.number();
        self.vle(lease);
        self.low_number();
        self.low_number();
        let known = [(0x51, Kind::Sns), (0x52, Kind::Bytes), PATCH];
        self.extensions(header, &known);
    }

    fn transport_oam(&mut self) {
        let header = self.out.len();
        let kind = self.pick(&[0, 0x20, 0x40]);
        self.put(kind);
        let id = self.number() & 0xffff;
        self.vle_low(id, 16);
        self.extensions(header, &[PRIORITY]);
        match kind {
            0x20 => self.body(Kind::Number(64)),
            0x40 => self.body(Kind::Bytes),
            _ => {}
        }
    }

    fn frame(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x05 | flags);
        self.low_number();
        self.extensions(header, &[PRIORITY]);
        if self.coin() {
            self.network();
        }
    }

    fn fragment(&mut self) {
        let header = self.out.len();
        let flags = self.byte() & 0x60;
        self.put(0x06 | flags);
        self.low_number();
        let known = [PRIORITY, (0x02, Kind::Unit), (0x03, Kind::Unit)];
        self.extensions(header, &known);
        let piece = self.bytes();
        self.out.extend(piece);
    }
}
