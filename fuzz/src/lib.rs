// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the fuzz targets assert about any input. The same functions replay the corpus in an ordinary test of the codec.
#![forbid(unsafe_code)]

pub mod alike;
pub mod checks;
pub mod forwarding;
pub mod handshake;
pub mod spelled;
pub mod spelling;
