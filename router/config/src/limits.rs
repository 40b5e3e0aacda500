// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sections `limits` and `isolation`: resources that one neighbour, one address and all
//! together may use.

use zonda_transport::protocol::patience::Isolation;

use crate::Settings;
use zonda_table::{
    Limits,
    scouting::{CandidateLimits, DialLimits},
};

impl Settings {
    /// Limits of the forwarding table, for each neighbour unless the field's name differs.
    pub fn table_limits(&self) -> Limits {
        Limits {
            key_length_max: self.key_length_max,
            key_chunks_max: self.key_chunks_max,
            key_glob_chunks_max: self.key_glob_chunks_max,
            key_glob_bytes_max: self.key_glob_bytes_max,
            key_ids_max: self.key_ids_max,
            own_key_ids_max: self.own_key_ids_max,
            subscribers_max: self.subscribers_max,
            queryables_max: self.queryables_max,
            tokens_max: self.tokens_max,
            interests_max: self.interests_max,
            questions_max: self.questions_max,
            neighbours_max: self.neighbours_max,
            route_keys_max: self.route_keys_max,
            wild_keys_max: self.wild_keys_max,
            announce_steps_max: self.declaration_steps,
            key_memory_max: self.key_memory_max,
            answer_timeout: self.interests_timeout,
            initial_timeout: self.interests_timeout,
            ..Limits::default()
        }
    }

    /// Limits for nodes that neighbours report.
    pub fn candidate_limits(&self) -> CandidateLimits {
        CandidateLimits {
            nodes_max: self.found_nodes,
            nodes_per_neighbour_max: self.found_nodes_per_neighbour,
            dials: DialLimits {
                per_address: self.found_failures_per_address,
                per_neighbour: self.found_failures_per_neighbour,
                ..DialLimits::default()
            },
            ..CandidateLimits::default()
        }
    }

    /// Bytes of incomplete messages (with missing fragments) per neighbour. Default: twice the
    /// largest message.
    pub fn unfinished_max(&self) -> usize {
        let by_default = self.max_message_size.saturating_mul(2);
        self.unfinished_bytes.unwrap_or(by_default)
    }

    /// Conditions under which senders wait for a slow neighbour. Default: see [`Isolation`].
    pub fn isolation(&self) -> Isolation {
        let standstill = self.wait_before_close;
        if self.slow_pauses {
            return Isolation {
                min_rate: 0,
                stall: standstill,
                standstill,
                backlog_bytes: 0,
            };
        }
        Isolation {
            min_rate: self.slow_min_rate,
            stall: self.slow_stall,
            standstill,
            backlog_bytes: self.slow_backlog_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn the_defaults_are_those_of_the_parts() {
        let config = Config::default();
        assert_eq!(config.settings().table_limits(), Limits::default());
        assert_eq!(
            config.settings().candidate_limits(),
            CandidateLimits::default()
        );
        let fewer = config.with("limits/subscribers", "7");
        assert_eq!(fewer.settings().table_limits().subscribers_max, 7);
    }
}
