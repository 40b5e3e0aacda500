// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda-kafka ingest`: HTTP in, Kafka or Zonda out.

mod accept;
mod arguments;
mod carry;
mod conversation;
mod counts;
mod original_tokio;
mod original_uring;
mod server;
mod service;
mod ticks;

pub use arguments::{Ack, IngestArgs, SinkKind};
pub use conversation::Conversation;
pub use counts::Counts;
pub use server::{On, Server};
pub use service::{Patience, Service};
