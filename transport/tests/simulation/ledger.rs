// SPDX-License-Identifier: MIT OR Apache-2.0
//! Account of the sender: the messages of each sequence number, so that every message that does not
//! arrive can be explained by numbers that were not accepted.

use std::collections::{HashMap, HashSet};

use zonda_codec::{NetworkMessage, Reader, TransportMessage};

use super::traffic::Channel;

/// Channel, and sequence number on it.
pub type Place = (usize, u32);

#[derive(Debug, Default)]
pub struct Ledger {
    /// Number of whole messages in each frame.
    frames: HashMap<Place, u64>,
    /// Fragments of each message that was cut.
    cut: Vec<Vec<Place>>,
    /// Messages whose last fragment is still to be sent, by channel.
    unfinished: HashMap<usize, Vec<Place>>,
    used: HashSet<Place>,
    /// Set once numbers have wrapped: places are not unique any more.
    pub wrapped: bool,
}

impl Ledger {
    /// Enters a batch that is about to be sent.
    pub fn enter(&mut self, batch: &[u8]) {
        let mut r = Reader::new(batch);
        while !r.is_empty() {
            match TransportMessage::decode(&mut r).expect("our own batch") {
                TransportMessage::Frame(head) => {
                    let channel = Channel {
                        priority: head.priority,
                        reliability: head.reliability,
                    };
                    let place = (channel.index(), head.sn);
                    self.wrapped |= !self.used.insert(place);
                    let mut messages = 0;
                    while r.peek().is_some_and(NetworkMessage::starts) {
                        NetworkMessage::decode(&mut r).expect("our own message");
                        messages += 1;
                    }
                    self.frames.insert(place, messages);
                }
                TransportMessage::Fragment(fragment) => {
                    let (priority, reliability) = (fragment.priority, fragment.reliability);
                    let channel = Channel {
                        priority,
                        reliability,
                    }
                    .index();
                    let place = (channel, fragment.sn);
                    self.wrapped |= !self.used.insert(place);
                    let pieces = self.unfinished.entry(channel).or_default();
                    assert_eq!(fragment.first, pieces.is_empty(), "one message at a time");
                    pieces.push(place);
                    if !fragment.more {
                        self.cut.extend(self.unfinished.remove(&channel));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the number of messages sent.
    pub fn sent(&self) -> u64 {
        self.frames.values().sum::<u64>() + self.cut.len() as u64
    }

    /// Returns the number of messages all of whose parts are among the `accepted` numbers.
    pub fn complete(&self, accepted: &HashSet<Place>) -> u64 {
        let frames = self
            .frames
            .iter()
            .filter(|(place, _)| accepted.contains(place));
        let cut = self
            .cut
            .iter()
            .filter(|pieces| pieces.iter().all(|at| accepted.contains(at)));
        frames.map(|(_, count)| count).sum::<u64>() + cut.count() as u64
    }

    /// Returns the count of numbers used so far.
    pub fn numbers(&self) -> u64 {
        self.used.len() as u64
    }
}
