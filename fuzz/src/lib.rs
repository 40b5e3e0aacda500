// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assertions of the fuzz targets about any input. Ordinary tests of the crates replay the corpus
//! with the same functions.
#![forbid(unsafe_code)]

pub mod alike;
pub mod checks;
pub mod compressed;
pub mod datagrams;
pub mod forwarding;
pub mod handshake;
pub mod mesh;
pub mod serial;
#[allow(dead_code, reason = "a link uses the rest")]
#[path = "../../transport/src/link/serial/frames.rs"]
mod serial_frames;
pub mod shared;
pub mod spelled;
pub mod spelling;
pub mod ws;
#[allow(dead_code, reason = "a link uses the rest")]
#[path = "../../transport/src/link/ws/frames.rs"]
mod ws_frames;
