// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda-kafka bridge`: keys to topics and topics to keys, each message at least once.
//!
//! Of each rule from a key one thread takes samples out of a bounded queue and gives them to the
//! producer. When the producer's queue is full it waits, the bounded queue fills, and the node
//! stops reading: the source stalls. One thread reads all topics; a message counts as read when the
//! node has taken it, and a partition whose message waits for a neighbour of the node does not hold
//! up the rest. A message that cannot be delivered goes to a key for dead letters, and is
//! counted.

mod arguments;
mod config;
mod counts;
mod dead;
mod from_kafka;
mod held;
mod places;
mod running;
mod stop;
mod template;
mod to_kafka;

pub use arguments::BridgeArgs;
pub use config::BridgeConfig;
pub use counts::{BridgeCounts, RuleCounts};
pub use running::{Bridge, BridgeEnding};
pub use template::Template;
