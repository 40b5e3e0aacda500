// SPDX-License-Identifier: MIT OR Apache-2.0

//! Alignment of replicas: storages with the same settings on several nodes, which fetch from each
//! other the updates that they have missed.
//!
//! The protocol is the reference's. Each replica publishes a [`Digest`](wire::Digest) of its events
//! once an interval. A replica that reads another digest than its own asks the publisher for less
//! and less: fingerprints of intervals, of their parts, the events of those, and the values of the
//! events that are newer than its own. A replica only fetches, and never sends unasked.

mod index;
mod store;
pub mod wire;

use std::time::Duration;

use twox_hash::XxHash3_64;
use zonda::bytes::ZBytes;
use zonda::key_expr::KeyExpr;
use zonda::query::Query;
use zonda::sample::Sample;

pub use index::{Index, event_of};
pub use store::Indexed;

/// Division of time, which all replicas share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eras {
    /// Length of an interval; a digest is published once in each.
    pub interval: Duration,
    /// Parts of an interval.
    pub parts: u64,
    /// Intervals whose parts are in the digest.
    pub hot: u64,
    /// Intervals before those, each of which is in the digest.
    pub warm: u64,
    /// Time that a publication takes to reach all replicas.
    pub delay: Duration,
}

impl Default for Eras {
    fn default() -> Eras {
        Eras {
            interval: Duration::from_secs(10),
            parts: 5,
            hot: 6,
            warm: 30,
            delay: Duration::from_millis(250),
        }
    }
}

impl Eras {
    /// Returns the fingerprint of the settings of a storage, by which replicas find each other.
    pub fn fingerprint(&self, key: &KeyExpr<'_>, prefix: Option<&str>) -> u64 {
        let mut bytes = key.as_str().as_bytes().to_vec();
        bytes.extend(prefix.unwrap_or_default().as_bytes());
        bytes.extend(self.interval.as_millis().to_le_bytes());
        for number in [self.parts, self.hot, self.warm] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.delay.as_millis().to_le_bytes());
        XxHash3_64::oneshot(&bytes)
    }
}

/// A message of another replica.
pub enum Message {
    Digest { from: String, bytes: ZBytes },
    Question(Query),
    Answer { from: String, sample: Sample },
}

impl Message {
    /// Returns the bytes that it holds.
    pub fn len(&self) -> usize {
        let attached = |attachment: Option<&ZBytes>| attachment.map_or(0, ZBytes::len);
        match self {
            Message::Digest { bytes, .. } => bytes.len(),
            Message::Question(query) => attached(query.attachment()),
            Message::Answer { sample, .. } => {
                sample.payload().len() + attached(sample.attachment())
            }
        }
    }
}

/// Returns the key on which a replica publishes its digests; `*` stands for all replicas.
pub fn digest_key(id: &str, settings: u64) -> String {
    format!("@-digest/{id}/{settings}")
}

/// Returns the key on which a replica answers questions.
pub fn aligner_key(id: &str, settings: u64) -> String {
    format!("@zid/{id}/{settings}/aligner")
}

#[cfg(test)]
mod tests;
