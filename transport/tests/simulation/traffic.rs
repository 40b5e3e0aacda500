// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of the simulated sides, in a form that can be checked on arrival: the key of each
//! message names its channel, its number and its size, and its payload follows from the key.

use std::sync::LazyLock;

use crate::protocol::rx::{Context, Deliver, Received, Receiver};
use zonda_codec::ZSlice;
use zonda_codec::{
    Encode, EncodeError, NetworkMessage, NodeId, Priority, Push, PushBody, Put, Qos, Reliability,
    ResponseFinal, WireExpr, Writer,
};

use super::rng::Rng;

/// Bytes that payloads are cut out of.
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| Rng::new(1).bytes(512 * 1024));

/// One of the 16 channels of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    pub priority: Priority,
    pub reliability: Reliability,
}

impl Channel {
    pub fn index(self) -> usize {
        (self.priority as usize) * 2 + usize::from(self.reliability == Reliability::Reliable)
    }
}

/// Record of a message in the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    pub channel: usize,
    pub number: u32,
    pub size: usize,
}

impl Note {
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.channel, self.number, self.size)
    }

    pub fn parse(key: &str) -> Option<Note> {
        let mut parts = key.split('/').map(|part| part.parse::<u64>());
        let mut next = || parts.next()?.ok();
        let (channel, number, size) = (next()? as usize, next()? as u32, next()? as usize);
        Some(Note {
            channel,
            number,
            size,
        })
    }

    /// Returns the channel of the message.
    pub fn channel(&self) -> Channel {
        Channel {
            priority: Priority::ALL[self.channel / 2],
            reliability: match self.channel % 2 {
                1 => Reliability::Reliable,
                _ => Reliability::BestEffort,
            },
        }
    }

    pub fn payload(&self) -> &'static [u8] {
        let start = (self.number as usize * 7919 + self.channel * 31) % (PATTERN.len() / 2);
        &PATTERN[start..start + self.size]
    }

    /// Returns true for a PUSH; every eighth message is another one, whose number is its request
    /// id.
    pub fn is_push(&self) -> bool {
        !self.number.is_multiple_of(8) || self.size > 0
    }
}

/// Encoder of everything of a PUSH in front of its payload.
#[derive(Debug)]
pub struct PushHead {
    pub key: String,
    pub qos: Qos,
    pub payload_bytes: usize,
}

impl Encode for PushHead {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full(&self.key), self.qos, NodeId::ITSELF, writer)?;
        Put::new(&[]).encode_head(self.payload_bytes, writer)
    }
}

/// Returns the message for a note of size 0 which is not a PUSH.
pub fn other(note: &Note) -> NetworkMessage<'static> {
    let rid = (note.channel as u32) << 24 | note.number;
    NetworkMessage::ResponseFinal(ResponseFinal {
        rid,
        qos: Qos::REQUEST,
        timestamp: None,
    })
}

/// Recorder of messages, each of which is checked against its key.
#[derive(Debug, Default)]
pub struct Recorder {
    pub notes: Vec<Note>,
    /// Number of messages that differ from the sent ones; only a damaging pipe may produce them.
    pub damaged: u64,
    pub qos_agreed: bool,
    /// Blocks that are kept alive for a while, as by an application.
    pub held: Vec<ZSlice>,
    /// Counts of the receiver after the last read.
    pub received: Received,
    /// Bytes of unfinished messages that the receiver held then.
    pub buffered_bytes: usize,
}

impl Recorder {
    /// Checks the receiver, of which no message may be larger than `max`.
    pub fn look(&mut self, receiver: &Receiver, max: usize) {
        let defragmenter = receiver.defragmenter();
        self.received = receiver.received();
        self.buffered_bytes = defragmenter.buffered_bytes();
        assert!(self.buffered_bytes <= 2 * max, "the total limit holds");
        let allocated = 18 * (2 * max).max(4096);
        assert!(
            defragmenter.allocated_bytes() <= allocated,
            "allocations follow what arrived"
        );
    }

    fn note(&mut self, note: Option<Note>, intact: bool, context: &Context<'_>) {
        let channel = Channel {
            priority: context.priority,
            reliability: context.reliability,
        };
        match note {
            Some(note) if intact && note.channel == channel.index() => self.notes.push(note),
            _ => self.damaged += 1,
        }
        if self.notes.len().is_multiple_of(5) {
            self.held.push(context.block.clone());
        }
        if self.held.len() > 8 {
            self.held.clear();
        }
    }
}

impl Deliver for Recorder {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        let note = Note::parse(push.wire_expr.suffix);
        let intact = match (&push.body, note) {
            (PushBody::Put(put), Some(note)) if note.size <= PATTERN.len() / 2 => {
                raw_body.ends_with(put.payload) && put.payload == note.payload()
            }
            _ => false,
        };
        self.note(note, intact, context);
    }

    fn message(&mut self, message: NetworkMessage<'_>, context: &Context<'_>) {
        assert!(
            !matches!(message, NetworkMessage::Push(_)),
            "a PUSH goes to `push`"
        );
        let note = match message {
            NetworkMessage::ResponseFinal(end) => {
                let (channel, number) = ((end.rid >> 24) as usize, end.rid & 0xff_ffff);
                Some(Note {
                    channel,
                    number,
                    size: 0,
                })
            }
            _ => None,
        };
        let intact = note.is_some_and(|note| other(&note) == message);
        self.note(note, intact, context);
    }
}
