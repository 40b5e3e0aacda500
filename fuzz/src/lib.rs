// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assertions of the fuzz targets about frames of links, which are private to their crate. Those of
//! the other targets are in the crate `zonda-testkit`, and ordinary tests replay the corpora of all.
//!
//! The files of the frames are compiled here, and the unit tests beside them compile the checks:
//! both name the private types of their own copy.
#![forbid(unsafe_code)]

pub mod serial;
#[allow(dead_code, reason = "a link uses the rest")]
#[path = "../../transport/src/link/serial/frames.rs"]
mod serial_frames;
pub mod ws;
#[allow(dead_code, reason = "a link uses the rest")]
#[path = "../../transport/src/link/ws/frames.rs"]
mod ws_frames;
