// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries between nodes over loopback: asking, answering, losing links, running out of time.

mod callbacks;
mod ends;
mod party;
mod replies;
