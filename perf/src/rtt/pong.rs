// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answering side: it returns every message, to any number of asking programs.

use std::io;

/// Bytes read from a stream at a time.
pub const BLOCK: usize = 64 * 1024;
/// Room for the largest datagram.
pub const DATAGRAM: usize = 64 * 1024;

/// Returns true for errors that concern one asking program and not the shared socket: it left
/// before it was accepted, or cannot receive an answer any more.
pub fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}
