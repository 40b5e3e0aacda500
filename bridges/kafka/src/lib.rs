// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Between Zonda and Kafka: a bridge both ways, and a server that takes messages by HTTP.
//!
//! The program `zonda-kafka` is what users run; the library is what its tests and benchmarks look into.

pub mod bridge;
pub mod http;
pub mod ingest;
pub mod perf;
pub mod producer;
pub mod settings;
pub mod sink;
