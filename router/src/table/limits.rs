// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of this node's memory one neighbour may take, and what happened to the rest.

use std::time::Duration;

use zonda_codec::KeyExprError;

use crate::table::kind::Kind;

/// Limits per face. What exceeds one is ignored and counted in [`FaceCounters`]; the link stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one key expression. Default 65535, the longest the protocol can say.
    pub key_length_max: usize,
    /// Chunks of one key expression. Default 256: keys that people and programs write have fewer than 30. What two keys
    /// cost to compare grows with the product of their chunks, at the default some thousand steps; what a search costs, with
    /// the chunks of all keys that are declared.
    pub key_chunks_max: usize,
    /// Chunks of one key expression that hold `$*`. Default 32. Each is compared with up to all chunks of the other key.
    pub key_glob_chunks_max: usize,
    /// Bytes of these chunks together. Default 1024. To compare one takes at most the product of the two lengths.
    pub key_glob_bytes_max: usize,
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
    /// Declarations sent in one go in answer to an interest; the rest waits until others had their turn. Default 1000.
    pub answer_slice_max: usize,
    /// Declarations and interests of a neighbour that is gone that are forgotten in one go. Default 64.
    pub removal_slice_max: usize,
    /// Bytes of memory that all its declared keys (ids, entities and interests) take together, as if nobody else had declared
    /// any: the text, and some [`KEY_BYTES`] for each and [`CHUNK_BYTES`] for each chunk. Default 1 GiB.
    pub key_memory_max: usize,
    /// The node is short of memory: nothing more may be declared or asked for by a neighbour. Default false.
    pub is_short_of_memory: bool,
    /// Queries that are open at a time. Default 150 000, each of some 130 bytes. One more ends at once, without an answer.
    pub questions_max: usize,
    /// Neighbours a peer may list as its own in gossip. Default 10 000.
    pub neighbours_max: usize,
    /// Keys on which routes are kept that end one by one when something happens on them. Default 65536, each of some 150
    /// bytes; routes on further keys end with every change.
    pub route_keys_max: usize,
    /// Declarations on keys with wildcards. Default 65536: every search may come to all of them, whatever it searches for.
    pub wild_keys_max: usize,
    /// What one declaration may cost in steps (looks at keys of interests, and faces that are sent something) before the rest is announced later, bit by
    /// bit. Default 8192, less than a millisecond.
    pub announce_steps_max: usize,
    /// How long a gateway may take to answer an interest; afterwards it counts as answered. Default 10 s.
    pub answer_timeout: Duration,
    /// How long a peer may declare nothing, when its link comes up, before it counts as having declared all it has. It gets
    /// every publication until then. Default 10 s.
    pub initial_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            key_length_max: 65_535,
            key_chunks_max: 256,
            key_glob_chunks_max: 32,
            key_glob_bytes_max: 1024,
            key_ids_max: 65_535,
            own_key_ids_max: 16_384,
            subscribers_max: 2_000_000,
            queryables_max: 500_000,
            tokens_max: 500_000,
            interests_max: 20_000,
            answer_slice_max: 1000,
            removal_slice_max: 64,
            key_memory_max: 1 << 30,
            is_short_of_memory: false,
            questions_max: 150_000,
            neighbours_max: 10_000,
            route_keys_max: 65_536,
            wild_keys_max: 65_536,
            announce_steps_max: 8192,
            answer_timeout: Duration::from_secs(10),
            initial_timeout: Duration::from_secs(10),
        }
    }
}

/// Bytes of memory that a declared key takes beside its text and its chunks.
pub const KEY_BYTES: usize = 64;

/// Bytes of memory that each chunk of a declared key takes beside its text: a node of a tree, and the edge to it.
pub const CHUNK_BYTES: usize = 80;

/// What a declared key counts as in [`Limits::key_memory_max`].
pub(super) fn key_memory(key: &str) -> usize {
    memory_of(key.split('/').count(), key.len())
}

/// The same of a key that has so many chunks and bytes.
pub(super) fn memory_of(chunks: usize, bytes: usize) -> usize {
    KEY_BYTES + chunks * CHUNK_BYTES + bytes
}

impl Limits {
    /// How many declarations of a kind a face may have.
    pub(super) const fn entities_max(&self, kind: Kind) -> usize {
        match kind {
            Kind::Subscriber => self.subscribers_max,
            Kind::Queryable => self.queryables_max,
            Kind::Token => self.tokens_max,
        }
    }

    /// Tells if a key is within the limits.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    pub fn check(&self, key: &str) -> Result<(), KeyOverLimit> {
        let (mut chunks, mut globs, mut glob_bytes) = (0, 0, 0);
        for chunk in key.split('/') {
            chunks += 1;
            if chunk.contains("$*") {
                globs += 1;
                glob_bytes += chunk.len();
            }
        }
        let over = |limit, unit, value, max| {
            (value > max).then_some(KeyOverLimit {
                limit,
                unit,
                value,
                max,
            })
        };
        let (length, most) = (key.len(), self);
        let glob = "chunks with `$*`";
        let bytes = "bytes in chunks with `$*`";
        let over = over("key_length_max", "bytes", length, most.key_length_max)
            .or_else(|| over("key_chunks_max", "chunks", chunks, most.key_chunks_max))
            .or_else(|| over("key_glob_chunks_max", glob, globs, most.key_glob_chunks_max))
            .or_else(|| {
                over(
                    "key_glob_bytes_max",
                    bytes,
                    glob_bytes,
                    most.key_glob_bytes_max,
                )
            });
        over.map_or(Ok(()), Err)
    }
}

/// What a key has too much of.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of {value} {unit} exceeds the limit of {max} ({limit})")]
pub struct KeyOverLimit {
    /// The name of the field in [`Limits`].
    pub limit: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// How much the key has.
    pub value: usize,
    /// The limit.
    pub max: usize,
}

zonda_codec::debug_as_text!(KeyOverLimit);

/// Why a key of a neighbour cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadKey {
    #[error(transparent)]
    OverLimit(#[from] KeyOverLimit),
    #[error(transparent)]
    Invalid(#[from] KeyExprError),
    #[error("key expression id {scope} was not declared")]
    UnknownId { scope: u16 },
}

/// What a neighbour sent and the table ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaceCounters {
    /// Declarations and interests beyond a limit.
    pub over_limit: u64,
    /// Declarations and interests on keys that exceed a limit, are not canonical, or use an id that was not declared.
    pub bad_keys: u64,
    /// Data messages on such keys.
    pub bad_pushes: u64,
    /// Ids declared again with another text.
    pub id_conflicts: u64,
    /// Ends of things that never began.
    pub unknown_ids: u64,
    /// Messages that the relation of the two nodes does not provide for.
    pub misplaced: u64,
    /// Those of the declarations beyond a limit that had a key with wildcards, and too many of such.
    pub wild_keys_refused: u64,
    /// Queries beyond the limit.
    pub questions_refused: u64,
    /// Queries under the number of one that is open.
    pub repeated_questions: u64,
    /// Answers, and ends of answers, to queries that have ended or never were.
    pub unknown_answers: u64,
}
