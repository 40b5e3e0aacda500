// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda-kafka perf`: how many requests a server takes on each runtime, how long they take, what they cost, whether
//! accepting ever stalls, and whether what was acknowledged is in the topic.
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
