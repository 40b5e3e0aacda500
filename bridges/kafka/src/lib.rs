// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Connections between Zonda and Kafka: a bridge both ways, and a server that accepts messages by
//! HTTP.
//!
//! Users run the program `zonda-kafka`; the library exists for its tests and benchmarks.

pub mod bridge;
pub mod http;
pub mod ingest;
pub mod perf;
pub mod producer;
pub mod settings;
pub mod sink;
