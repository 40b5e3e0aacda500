// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/1.1 as far as a server for messages needs it: bytes in, requests out, without socket and
//! clock.

mod answer;
mod budget;
mod chunks;
mod head;
mod machine;

pub use answer::{Answer, STATUSES};
pub use budget::{Budget, Share};
pub use machine::{Machine, Request, Step, Target};

/// Limits of the memory that a client may use, and of the clients that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of a request line with its headers; also the size of a connection's receive
    /// buffer.
    pub head_bytes: usize,
    /// Maximum bytes of one body.
    pub body_bytes: usize,
    /// True if requests of web pages, which name their `Origin`, are served.
    pub any_origin: bool,
}

impl Default for Limits {
    /// Returns limits of 8 KiB for a head, and of 1 MB for a body: a broker's default with room for
    /// its framing.
    fn default() -> Self {
        Limits {
            head_bytes: 8192,
            body_bytes: 1_000_000,
            any_origin: false,
        }
    }
}
