// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/1.1 as far as a server needs it that takes messages: bytes in, requests out, without socket and clock.

mod answer;
mod budget;
mod chunks;
mod head;
mod machine;

pub use answer::{Answer, STATUSES};
pub use budget::{Budget, Share};
pub use machine::{Machine, Request, Step, Target};

/// Bounds of the memory that a client may take, and the clients that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request line with its headers; also the size of a connection's receive buffer.
    pub head_bytes: usize,
    /// The most bytes of one body.
    pub body_bytes: usize,
    /// Takes requests of web pages, which name their `Origin`.
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
