// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server on every runtime, before a mock cluster: accepted messages arrive, refused ones are
//! reported and counted.

#[path = "../world/mod.rs"]
mod world;

mod bad_clients;
mod brokers;
mod every_runtime;
