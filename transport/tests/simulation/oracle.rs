// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slow and simple model of the messages that a receiver must deliver from the batches that arrive.

use std::collections::{HashMap, HashSet};

use zonda_codec::{Fragment, NetworkMessage, Reader, TransportMessage};

use super::ledger::Place;
use super::traffic::{Channel, Note};

#[derive(Debug, Default)]
struct ChannelState {
    last: Option<u32>,
    /// Pieces of the message in progress.
    pieces: Option<Vec<u8>>,
}

/// Expected messages of one side, and the reasons for missing ones.
#[derive(Debug)]
pub struct Oracle {
    pub initial_sn: u32,
    pub mask: u32,
    pub patch: u8,
    pub message_bytes_max: usize,
    pub total_bytes_max: usize,
    pub expected: Vec<Note>,
    /// Number of messages to deliver, including those that no sender sent.
    pub delivered: u64,
    pub frames_dropped: u64,
    pub fragments_dropped: u64,
    pub accepted: HashSet<Place>,
    channels: HashMap<usize, ChannelState>,
}

/// Returns the note that a message carries, if it is one of the simulation's.
pub fn note_of(message: &NetworkMessage<'_>) -> Option<Note> {
    match message {
        NetworkMessage::Push(push) => Note::parse(push.wire_expr.suffix),
        NetworkMessage::ResponseFinal(end) => {
            let (channel, number) = ((end.rid >> 24) as usize, end.rid & 0xff_ffff);
            Some(Note {
                channel,
                number,
                size: 0,
            })
        }
        _ => None,
    }
}

impl Oracle {
    pub fn new(initial_sn: u32, mask: u32, patch: u8, message_bytes_max: usize) -> Self {
        Oracle {
            initial_sn,
            mask,
            patch,
            message_bytes_max,
            total_bytes_max: message_bytes_max * 2,
            expected: Vec::new(),
            delivered: 0,
            frames_dropped: 0,
            fragments_dropped: 0,
            accepted: HashSet::new(),
            channels: HashMap::new(),
        }
    }

    /// Processes an undamaged batch.
    pub fn take(&mut self, batch: &[u8]) {
        let mut r = Reader::new(batch);
        while !r.is_empty() {
            match TransportMessage::decode(&mut r).expect("an undamaged batch") {
                TransportMessage::Frame(head) => {
                    let channel = Channel {
                        priority: head.priority,
                        reliability: head.reliability,
                    };
                    let gap = self.gap(channel.index(), head.sn);
                    if gap.is_some() {
                        self.channels.entry(channel.index()).or_default().pieces = None;
                    } else {
                        self.frames_dropped += 1;
                    }
                    while r.peek().is_some_and(NetworkMessage::starts) {
                        let message = NetworkMessage::decode(&mut r).expect("undamaged");
                        let note = note_of(&message).expect("one of ours");
                        self.delivered += u64::from(gap.is_some());
                        self.expected.extend(gap.map(|_| note));
                    }
                }
                TransportMessage::Fragment(fragment) => self.fragment(&fragment),
                _ => {}
            }
        }
    }

    /// Returns the count of skipped numbers, or `None` if the sequence rule rejects `sn`.
    fn gap(&mut self, channel: usize, sn: u32) -> Option<u64> {
        let range = u64::from(self.mask) + 1;
        let state = self.channels.entry(channel).or_default();
        let last = state
            .last
            .map_or(u64::from(self.initial_sn) + range - 1, u64::from);
        let ahead = (u64::from(sn) + range - last % range) % range;
        if ahead == 0 || ahead > u64::from(self.mask) / 2 {
            return None;
        }
        state.last = Some(sn);
        self.accepted.insert((channel, sn));
        Some(ahead - 1)
    }

    fn fragment(&mut self, fragment: &Fragment<'_>) {
        let channel = Channel {
            priority: fragment.priority,
            reliability: fragment.reliability,
        };
        let Some(skipped) = self.gap(channel.index(), fragment.sn) else {
            self.fragments_dropped += 1;
            return;
        };
        let held: usize = self
            .channels
            .values()
            .filter_map(|c| c.pieces.as_ref())
            .map(Vec::len)
            .sum();
        let state = self.channels.entry(channel.index()).or_default();
        let pieces = state.pieces.take();
        let own = pieces.as_ref().map_or(0, Vec::len);
        let start = match (self.patch, fragment.first, &pieces) {
            (1.., true, _) | (0, _, None) => true,
            (1.., false, None) => return,
            _ if skipped > 0 => return,
            _ => false,
        };
        let mut all = if start {
            Vec::new()
        } else {
            pieces.unwrap_or_default()
        };
        all.extend_from_slice(fragment.payload);
        let whole_at_once = start && !fragment.more;
        let total = if whole_at_once {
            0
        } else {
            held - own + all.len()
        };
        if all.len() > self.message_bytes_max || total > self.total_bytes_max {
            return;
        }
        if fragment.more {
            state.pieces = Some(all);
            return;
        }
        let mut r = Reader::new(&all);
        if let (Ok(message), true) = (NetworkMessage::decode(&mut r), r.is_empty()) {
            // A torn message of patch level 0 may by chance decode as another one.
            let own = |note: &Note| note.channel == channel.index();
            self.expected.extend(note_of(&message).filter(own));
            self.delivered += 1;
        }
    }
}
