// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared parts of tests and fuzz targets: the checks of the targets and the replay of their
//! corpora, messages in every spelling, messages as JSON.
//!
//! Integration tests of any crate use this crate, those of the crates below it too. Unit tests of
//! a crate below see two copies of their crate: the one under test, and the one that this crate
//! depends on. They can use only functions without types of their crate, such as [`replay`].
#![forbid(unsafe_code)]

pub mod alike;
pub mod buckets;
mod chance;
pub mod checks;
#[cfg(feature = "compression")]
pub mod compressed;
#[cfg(feature = "transport")]
pub mod datagrams;
mod folder;
#[cfg(feature = "router")]
pub mod forwarding;
#[cfg(feature = "transport")]
pub mod handshake;
#[cfg(feature = "json")]
pub mod json;
pub mod linear;
#[cfg(feature = "table")]
pub mod mesh;
#[cfg(feature = "reference")]
pub mod reference;
mod replay;
#[cfg(feature = "transport")]
pub mod shared;
pub mod spelled;
pub mod spelling;

pub use chance::{Random, by_chance};
pub use folder::Folder;
pub use replay::replay;
