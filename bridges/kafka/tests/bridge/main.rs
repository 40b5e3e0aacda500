// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the bridge between two nodes on loopback and a mock cluster: both ways, with a broker
//! that becomes unavailable.

#[path = "../world/mod.rs"]
mod world;

mod bridged;
mod carrying;
mod ending;
mod holding;
mod lasting;
