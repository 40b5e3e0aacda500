// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the bridge with a real broker, which `bridges/kafka/accept` starts. Cargo.toml excludes
//! them from a plain `cargo test`.

#[path = "../world/mod.rs"]
mod world;

mod compressed;
mod real;
mod refused;
mod restarted;
