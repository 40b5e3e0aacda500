// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversion of received batches to messages: the sequence rule of each channel, the reassembly of
//! fragments, and the [`Receiver`] that takes a batch apart. One owner, the driver of the link.

mod arrived;
mod defragment;
mod message_buffer;
mod receiver;
mod sequence;

pub use arrived::{Arrived, Received};
pub use defragment::{Defragmenter, Piece, Reassembly, ReassemblyLimits};
pub use receiver::{
    CannotContinue, Context, Deliver, Flow, HELD_BYTES_MAX, Pause, PeerMisbehaved, ReadBuffer,
    Receiver, UNFINISHED_MAX,
};
pub use sequence::Sequence;

/// Number of channels of one direction: a priority and a reliability each.
pub const CHANNELS: usize = 16;

#[cfg(test)]
mod tests;
