// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answering side: what comes in goes back, for as many askers as there are.

use std::io;

/// Bytes read from a stream at a time.
pub const BLOCK: usize = 64 * 1024;
/// Room for the largest datagram.
pub const DATAGRAM: usize = 64 * 1024;

/// True for errors that concern one asker, not the socket that all use: somebody left before he was
/// accepted, or is not there to take an answer.
pub fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
    )
}
