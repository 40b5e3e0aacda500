// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda-kafka perf`: requests per second of a server on each runtime, their latency and cost,
//! stalls of accepting, and a check that acknowledged messages are in the topic.
//!
//! The server is this executable again, as a process of its own (`system.rs`); clients are threads with blocking sockets
//! (`client.rs`, `load.rs`), which no runtime under test has a part in.

mod arguments;
mod client;
mod count;
mod load;
mod stalls;
mod system;
mod table;
mod workers;

pub use arguments::PerfArgs;
pub use client::Client;
pub use load::{Load, Mode, Outcomes};
pub use workers::{BrokerWorker, ServerWorker};
