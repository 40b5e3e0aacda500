// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads in memory that the processes of a host share, in the layout of Zenoh 1.10.
//!
//! ```text
//! Node          one for each node: its authentication segment, its counts, its pool for ordinary payloads
//! Candidate     a neighbour's authentication segment, opened but not yet proved
//! Neighbour     a link whose two ends have proved that they share memory: takes and sends descriptors
//! SharedBuffer  a payload in a segment, of this process or of another one; the bytes of a payload
//! Pool, Loan    memory of this process, and a part of it that its user fills
//! ```
//! A message carries 4 to 20 bytes in place of such a payload: a [`Descriptor`](zonda_codec::shared::Descriptor) that
//! names a header in the metadata segment of the payload's owner. The header names the place of the bytes and counts
//! the references to them. A watchdog bit beside it shows that a process still uses them.
//!
//! # Trust
//! Segments are files of one user. The crate opens only files of its own user that other users cannot open, checks
//! every number that it reads there, once, and maps data read-only. Another process of the same user may still change
//! the bytes of a payload while they are read, and may truncate the file: the crate looks at the sizes of files again
//! for each batch, which leaves the time between that look and the access. [`SharedBuffer::copied`] reads without a
//! mapping and finds a truncated file without a signal.
//!
//! All `unsafe` code is in one type, `Map`. The crate is empty on systems other than Linux.

#![deny(unsafe_code)]
#![cfg(target_os = "linux")]

mod auth;
mod buffer;
mod counts;
#[cfg_attr(miri, path = "plain.rs")]
mod file;
mod keeper;
mod kept;
#[allow(unsafe_code)]
mod map;
mod meta;
mod neighbour;
mod node;
mod outgoing;
mod pool;
mod refusal;
mod segment;
mod space;
#[cfg(test)]
mod tests;

pub use auth::Candidate;
pub use buffer::SharedBuffer;
pub use counts::Counted;
pub use neighbour::Neighbour;
pub use node::{Node, Settings};
pub use outgoing::Lease;
pub use pool::{Full, Loan, Pool};
pub use refusal::Refusal;
pub use space::ALIGNMENT;
