// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of this node's memory one neighbour may take, and what happened to the rest.

/// Limits per face. What exceeds one is ignored and counted in [`FaceCounters`]; the link stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one key expression. Default 8192.
    pub key_length_max: usize,
    /// Chunks of one key expression. Default 256. What it takes to match two keys grows with the product of their chunks.
    pub key_chunks_max: usize,
    /// Chunks of one key expression that hold wildcards. Default 32.
    pub key_wild_chunks_max: usize,
    /// Key expression ids a neighbour may declare. Default 65535, all there are.
    pub key_ids_max: usize,
    /// Key expression ids this node declares to a neighbour; beyond it keys are written in full. Default 16384.
    pub own_key_ids_max: usize,
    /// Subscribers. Default 2 000 000.
    pub subscribers_max: usize,
    /// Queryables. Default 500 000.
    pub queryables_max: usize,
    /// Liveliness tokens. Default 500 000.
    pub tokens_max: usize,
    /// Interests. Default 20 000: each that covers a key costs time whenever something is declared on it.
    pub interests_max: usize,
    /// Bytes of all declared keys (ids, entities and interests) together. Default 256 MiB.
    pub key_bytes_max: usize,
    /// Neighbours a peer may list as its own in gossip. Default 10 000.
    pub neighbours_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            key_length_max: 8192,
            key_chunks_max: 256,
            key_wild_chunks_max: 32,
            key_ids_max: 65_535,
            own_key_ids_max: 16_384,
            subscribers_max: 2_000_000,
            queryables_max: 500_000,
            tokens_max: 500_000,
            interests_max: 20_000,
            key_bytes_max: 256 << 20,
            neighbours_max: 10_000,
        }
    }
}

impl Limits {
    /// Whether a neighbour may use this key.
    pub(super) fn allow(&self, key: &str) -> bool {
        let (mut chunks, mut wild) = (0, 0);
        for chunk in key.split('/') {
            chunks += 1;
            wild += usize::from(chunk.contains('*'));
        }
        key.len() <= self.key_length_max
            && chunks <= self.key_chunks_max
            && wild <= self.key_wild_chunks_max
    }
}

/// What a neighbour sent and the table ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaceCounters {
    /// Declarations and interests beyond a limit.
    pub over_limit: u64,
    /// Keys that are too long, have too many chunks or wildcards, are not canonical, or use an id that was not declared.
    pub bad_keys: u64,
    /// Ids declared again with another text.
    pub id_conflicts: u64,
    /// Ends of things that never began.
    pub unknown_ids: u64,
    /// Messages that the relation of the two nodes does not provide for.
    pub misplaced: u64,
}
