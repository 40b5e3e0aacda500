// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending half of a connection, sans-IO: messages go in, whole batches come out.
//!
//! A [`Lane`] holds what waits for one priority. It encodes each message straight into the open batch (the only
//! copy a small payload sees on its way out), seals full batches, and splits what fits no batch into fragments.
//! Large payloads are not copied: they hang behind the batch as a shared slice and reach the socket by a vectored
//! write. Who locks a lane, and who writes its batches to a socket, is the business of [`crate::outbox`].

mod bare;
mod batch;
mod lane;
mod pins;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Tail};
pub use lane::{Lane, LaneConfig, Outgoing, Pushed};

/// Payloads of at least this many bytes are sent as a slice beside their headers instead of being copied into the
/// batch. Below it a copy costs less than the extra slice in the vectored write and the batch that it ends.
pub const SHARE_BYTES_MIN: usize = 16 * 1024;
