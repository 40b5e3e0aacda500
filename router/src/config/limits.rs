// SPDX-License-Identifier: MIT OR Apache-2.0

//! How much of this node one neighbour, one address and all together may take: the sections `limits` and `isolation`.

use zonda_transport::protocol::patience::Isolation;

use crate::{
    config::Settings,
    table::{
        Limits,
        scouting::{CandidateLimits, DialLimits},
    },
};

impl Settings {
    /// What the forwarding table may be made to do and to hold, by one neighbour if not said otherwise.
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

    /// What neighbours that name other nodes may cause.
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

    /// Bytes of all messages of one neighbour of which fragments are missing. Default: twice those of the largest message.
    pub fn unfinished_max(&self) -> usize {
        let by_default = self.max_message_size.saturating_mul(2);
        self.unfinished_bytes.unwrap_or(by_default)
    }

    /// What a neighbour has to do so that its sources wait for it. Default: see [`Isolation`].
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
    use crate::config::Config;

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
