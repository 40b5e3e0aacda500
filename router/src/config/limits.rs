// SPDX-License-Identifier: MIT OR Apache-2.0

//! The section `limits`: how much of this node one neighbour, one address and all together may take.

use std::time::Duration;

use crate::{
    config::Config,
    table::{
        Limits,
        scouting::{CandidateLimits, DialLimits},
    },
};

impl Config {
    /// What the forwarding table may be made to do and to hold, by one neighbour if not said otherwise.
    pub fn table_limits(&self) -> Limits {
        Limits {
            key_length_max: self.count("limits/key_length"),
            key_chunks_max: self.count("limits/key_chunks"),
            key_glob_chunks_max: self.count("limits/key_glob_chunks"),
            key_glob_bytes_max: self.count("limits/key_glob_bytes"),
            key_ids_max: self.count("limits/key_ids"),
            own_key_ids_max: self.count("limits/own_key_ids"),
            subscribers_max: self.count("limits/subscribers"),
            queryables_max: self.count("limits/queryables"),
            tokens_max: self.count("limits/tokens"),
            interests_max: self.count("limits/interests"),
            questions_max: self.count("limits/questions"),
            neighbours_max: self.count("limits/neighbours"),
            route_keys_max: self.count("limits/route_keys"),
            wild_keys_max: self.count("limits/wild_keys"),
            announce_steps_max: self.count("limits/declaration_steps"),
            key_memory_max: self.key_memory_max(),
            answer_timeout: self.interests_timeout(),
            initial_timeout: self.interests_timeout(),
            ..Limits::default()
        }
    }

    /// What those who tell of other nodes may cause.
    pub fn candidate_limits(&self) -> CandidateLimits {
        let small = |path| u32::try_from(self.count(path)).unwrap_or(u32::MAX);
        CandidateLimits {
            nodes_max: self.count("limits/found_nodes"),
            nodes_per_neighbour_max: self.count("limits/found_nodes_per_neighbour"),
            dials: DialLimits {
                per_address: small("limits/found_failures_per_address"),
                per_neighbour: small("limits/found_failures_per_neighbour"),
                ..DialLimits::default()
            },
            ..CandidateLimits::default()
        }
    }

    /// Whether host names of nodes that were heard of are looked up. Default: no.
    pub fn takes_found_names(&self) -> bool {
        self.flag("limits/found_names")
    }

    /// The smallest batches, in bytes, that a neighbour may ask for. Default: 1024.
    pub fn batch_size_min(&self) -> u16 {
        self.count("limits/batch_bytes_min")
            .try_into()
            .unwrap_or(u16::MAX)
    }

    /// How many neighbours may come from one address, if it was set. Default: three quarters of all.
    pub fn sessions_per_address(&self) -> Option<usize> {
        let path = "limits/sessions_per_address";
        self.is_set(path).then(|| self.count(path))
    }

    /// The longest lease that is taken over from a neighbour. Default: 60 s.
    pub fn lease_max(&self) -> Duration {
        self.millis("limits/lease_max_ms")
    }

    /// Bytes of memory that all of the node may hold. Default: up to the node.
    pub fn memory_max(&self) -> Option<usize> {
        self.whole("limits/memory_bytes")
            .map(|bytes| bytes.try_into().unwrap_or(usize::MAX))
    }

    /// Bytes of all messages of one neighbour of which fragments are missing. Default: twice those of the largest message.
    pub fn unfinished_max(&self) -> usize {
        self.whole("limits/unfinished_bytes")
            .map_or(self.max_message_size().saturating_mul(2), |bytes| {
                bytes.try_into().unwrap_or(usize::MAX)
            })
    }

    /// How long a neighbour may say nothing but keep-alives while it has begun a message. Default: 5 s.
    pub fn unfinished_time(&self) -> Duration {
        self.millis("limits/unfinished_ms")
    }

    /// Bytes of memory that the keys one neighbour declares may take. Default: 1 GiB.
    pub fn key_memory_max(&self) -> usize {
        self.count("limits/key_memory_bytes")
    }

    /// Bytes of memory that the routes kept for one neighbour's messages may take. Default: 64 MiB.
    pub fn route_memory_max(&self) -> usize {
        self.count("limits/route_bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_parts() {
        let config = Config::default();
        assert_eq!(config.table_limits(), Limits::default());
        assert_eq!(config.candidate_limits(), CandidateLimits::default());
        let fewer = config.with("limits/subscribers", "7");
        assert_eq!(fewer.table_limits().subscribers_max, 7);
    }
}
