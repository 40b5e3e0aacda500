// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limits of the memory that one neighbour may take on this node, and counts of the input that was ignored.

use std::time::Duration;

use zonda_codec::KeyExprError;

use crate::{kind::Kind, policy::Relation};

/// Limits per face. Input that exceeds one is ignored and counted in [`FaceCounters`]; the link
/// stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one key expression. Default 65535, the longest in the protocol.
    pub key_length_max: usize,
    /// Chunks of one key expression. Default 256: keys of people and programs have fewer than 30.
    /// The cost of comparing two keys grows with the product of their chunks, at the default some
    /// thousand steps; that of a search, with the chunks of all declared keys.
    pub key_chunks_max: usize,
    /// Chunks of one key expression with `$*`. Default 32. Each is compared with up to all chunks of
    /// the other key.
    pub key_glob_chunks_max: usize,
    /// Bytes of these chunks together. Default 1024. Comparing one takes at most the product of the
    /// two lengths.
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
    /// Interests. Default 20 000: each that covers a key costs time whenever an entity is declared on it.
    pub interests_max: usize,
    /// Declarations of an answer to an interest that are sent in one slice. Default 1000.
    pub answer_slice_max: usize,
    /// Declarations and interests of a removed neighbour that are removed in one slice. Default 64.
    pub removal_slice_max: usize,
    /// Bytes of memory that all its declared keys (ids, entities and interests) take together, as
    /// if no other neighbour had declared any: the text, and some [`KEY_BYTES`] for each and
    /// [`CHUNK_BYTES`] for each chunk. Default 1 GiB.
    pub key_memory_max: usize,
    /// Memory that neighbours may have for their keys while the node is short of memory; `None`
    /// while it is not. Default `None`.
    pub shortage: Option<Shortage>,
    /// Open queries. Default 150 000, each of some 130 bytes. A query beyond it ends at once,
    /// without a reply.
    pub questions_max: usize,
    /// Neighbours a peer may list as its own in gossip. Default 10 000.
    pub neighbours_max: usize,
    /// Keys with kept routes that end separately, each by changes on its own key. Default 65536,
    /// each of some 150 bytes; routes on further keys end with every change.
    pub route_keys_max: usize,
    /// Declarations on keys with wildcards. Default 65536: every search may visit all of them,
    /// whatever its key.
    pub wild_keys_max: usize,
    /// Steps of one declaration (visits of keys of interests, and faces that receive a message)
    /// after which the rest is announced in slices. Default 1024: a tenth of a millisecond, and
    /// somewhat more than one in a build that is not optimised.
    pub announce_steps_max: usize,
    /// Time after which an interest counts as answered by a gateway. Default 10 s.
    pub answer_timeout: Duration,
    /// Time without a declaration after which a peer whose link has come up counts as having
    /// declared all it has. It gets every publication until then. Default 10 s.
    pub initial_timeout: Duration,
    /// Time between an answer to a peer that asks for tokens and the end of that answer: longer than
    /// a thread of the peer is usually suspended on a busy machine. Default 30 ms.
    pub answer_pause: Duration,
}

/// Bytes that the declared keys of one neighbour may take together while the node is short of
/// memory. A neighbour that has less is not to blame for the shortage: its declarations are taken,
/// as it would never learn that they were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes of a client, or of a peer that this node serves.
    pub served: usize,
    /// Bytes of a router, a gateway or a fellow peer, which may declare for many nodes.
    pub others: usize,
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
            shortage: None,
            questions_max: 150_000,
            neighbours_max: 10_000,
            route_keys_max: 65_536,
            wild_keys_max: 65_536,
            announce_steps_max: 1024,
            answer_timeout: Duration::from_secs(10),
            initial_timeout: Duration::from_secs(10),
            answer_pause: Duration::from_millis(30),
        }
    }
}

/// Bytes of memory of a declared key in addition to its text and its chunks.
pub const KEY_BYTES: usize = 64;

/// Bytes of memory of each chunk of a declared key in addition to its text: a node of a tree, and
/// the edge to it.
pub const CHUNK_BYTES: usize = 80;

/// Returns the memory that a declared key counts as in [`Limits::key_memory_max`].
pub(super) fn key_memory(key: &str) -> usize {
    memory_of(key.split('/').count(), key.len())
}

/// Returns the memory that a key with so many chunks and bytes counts as.
pub(super) fn memory_of(chunks: usize, bytes: usize) -> usize {
    KEY_BYTES + chunks * CHUNK_BYTES + bytes
}

impl Limits {
    /// Returns the bytes of memory that the declared keys of a neighbour may take together.
    pub(super) fn key_memory_of(&self, relation: Relation) -> usize {
        let spared = match (self.shortage, relation) {
            (None, _) => usize::MAX,
            (Some(shortage), Relation::Served) => shortage.served,
            (Some(shortage), _) => shortage.others,
        };
        self.key_memory_max.min(spared)
    }

    /// Returns the number of declarations of a kind that a face may have.
    pub(super) const fn entities_max(&self, kind: Kind) -> usize {
        match kind {
            Kind::Subscriber => self.subscribers_max,
            Kind::Queryable => self.queryables_max,
            Kind::Token => self.tokens_max,
        }
    }

    /// Checks a key against the limits.
    ///
    /// # Errors
    /// The first limit that it exceeds.
    #[inline]
    pub fn check(&self, key: &str) -> Result<(), KeyOverLimit> {
        // Count the chunks and those with `$*`.
        let (mut chunks, mut globs, mut glob_bytes) = (0, 0, 0);
        for chunk in key.split('/') {
            chunks += 1;
            if chunk.contains("$*") {
                globs += 1;
                glob_bytes += chunk.len();
            }
        }
        // Report the first limit that the key exceeds.
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

/// Limit that a key exceeds, and by how much.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of {value} {unit} exceeds the limit of {max} ({limit})")]
pub struct KeyOverLimit {
    /// The name of the field in [`Limits`].
    pub limit: &'static str,
    /// The unit of the value.
    pub unit: &'static str,
    /// The value of the key.
    pub value: usize,
    /// The limit.
    pub max: usize,
}

zonda_codec::debug_as_text!(KeyOverLimit);

/// Reason why a key of a neighbour cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadKey {
    #[error(transparent)]
    OverLimit(#[from] KeyOverLimit),
    #[error(transparent)]
    Invalid(#[from] KeyExprError),
    #[error("key expression id {scope} was not declared")]
    UnknownId { scope: u16 },
}

/// Counts of input from a neighbour that the table ignored.
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
    /// Undeclarations of ids that were not declared.
    pub unknown_ids: u64,
    /// Messages that the relation of the two nodes does not provide for.
    pub misplaced: u64,
    /// Declarations with wildcards beyond their limit, also counted in `over_limit`.
    pub wild_keys_refused: u64,
    /// Queries beyond the limit.
    pub questions_refused: u64,
    /// Queries under the id of one that is open.
    pub repeated_questions: u64,
    /// Replies, and ends of replies, to queries that have ended or never existed.
    pub unknown_answers: u64,
}
