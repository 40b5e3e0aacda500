// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server on every runtime, before a mock cluster: what it takes arrives, what it refuses is said and counted.

#[path = "../world/mod.rs"]
mod world;

mod bad_clients;
mod brokers;
mod every_runtime;
