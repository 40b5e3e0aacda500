// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending half of a connection, sans-IO: messages go in, whole batches come out.
//!
//! A [`Lane`] is the queue of one priority. It encodes each message straight into the open batch
//! (the only copy of a small payload on its way out), seals full batches, and splits messages that
//! fit no batch into fragments. Large payloads are not copied: they follow the batch as a shared
//! slice and reach the socket by a vectored write. [`crate::outbox`] decides which thread locks a
//! lane and writes its batches to a socket.

mod bare;
mod batch;
mod lane;
mod pinned_blocks;
mod shared;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Tail};
pub use lane::{Lane, LaneConfig, Outgoing, Pushed};

/// Minimum bytes of a payload that is sent as a slice next to its headers instead of being copied
/// into the batch. Below it a copy costs less than the extra slice in the vectored write and the
/// batch that it ends.
pub const SHARE_BYTES_MIN: usize = 16 * 1024;
