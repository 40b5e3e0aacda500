// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bridge before a real broker, which `bridges/kafka/accept` starts. Cargo.toml keeps them out of what a plain `cargo test` runs.

#[path = "../world/mod.rs"]
mod world;

mod compressed;
mod real;
mod refused;
mod restarted;
