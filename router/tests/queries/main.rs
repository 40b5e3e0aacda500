// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries between nodes over loopback: replies, lost links, timeouts.

mod callbacks;
mod ends;
mod party;
mod replies;
