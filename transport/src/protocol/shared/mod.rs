// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory on a link: its part of the handshake, payloads that arrive in it, and payloads that leave in it.
//!
//! ```text
//! InitSyn   z32 segment of the opener
//! InitAck   z64 challenge in that segment, z32 segment of the acceptor
//! OpenSyn   z64 challenge in that segment, u8 1, the opener's eight counters (z16)
//! OpenAck   u8 1, the acceptor's eight counters
//! ```
//! Each side proves by the challenge that it can open the other's segment. A side that cannot leaves its extension out,
//! and the link goes on without shared memory. A counter counts the descriptors of one priority that are on their way.

#[cfg(not(all(feature = "shm", target_os = "linux")))]
mod absent;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod present;
#[cfg(all(test, feature = "shm", target_os = "linux"))]
mod tests;

#[cfg(not(all(feature = "shm", target_os = "linux")))]
pub(crate) use absent::{Offered, append, own_copy};
#[cfg(not(all(feature = "shm", target_os = "linux")))]
pub use absent::{SharedLink, SharedMemory};
#[cfg(all(feature = "shm", target_os = "linux"))]
pub(crate) use present::{Offered, append, own_copy};
#[cfg(all(feature = "shm", target_os = "linux"))]
pub use present::{SharedLink, SharedMemory};

/// True if this build can share memory.
pub const AVAILABLE: bool = cfg!(all(feature = "shm", target_os = "linux"));

/// Settings of a node's shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedSettings {
    /// Bytes of the pool for ordinary payloads; 0 for none.
    pub pool_bytes: usize,
    /// Smallest ordinary payload that is copied into the pool.
    pub size_min: usize,
    /// True if the payloads of puts, of queries and of replies are copied into the pool.
    pub copied: [bool; 3],
    /// True if received payloads are copied out of the memory of other processes.
    pub copies_out: bool,
    /// True if the pool is created at once, not with the first payload.
    pub at_open: bool,
}

/// Counts of a node's shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedCounts {
    /// Payloads received as descriptors.
    pub taken: u64,
    /// Payloads sent as descriptors.
    pub sent: u64,
    /// Ordinary payloads copied into the pool.
    pub copied_in: u64,
    /// Number of times that a pool had no room.
    pub pool_full: u64,
    /// Buffers taken back from holders that ended without giving them back.
    pub reclaimed: u64,
    /// Buffers of other processes that are held now.
    pub held: u64,
    /// Segments of other processes that are mapped now.
    pub segments: u64,
    /// Own pools.
    pub pools: u64,
    /// Links whose ends share memory now.
    pub links: u64,
    /// Payloads and segments refused, by reason.
    pub refused: Vec<(&'static str, u64)>,
}

/// Error of an opener that proves another challenge than that of this node.
#[cfg_attr(
    not(all(feature = "shm", target_os = "linux")),
    allow(dead_code, reason = "no build without shared memory checks a proof")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongProof;

/// Error of a payload that is not delivered.
#[cfg_attr(
    not(all(feature = "shm", target_os = "linux")),
    allow(
        dead_code,
        reason = "no build without shared memory resolves a payload"
    )
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// A piece of it is not valid.
    Refused,
    /// It is longer than messages may be.
    TooLarge,
}
