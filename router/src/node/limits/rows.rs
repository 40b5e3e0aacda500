// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows of limits: for declarations and queries of neighbours, and for nodes that neighbours name.

use crate::{
    node::limits::LimitStatus,
    table::{
        Limits, Most,
        scouting::{CandidateCounts, CandidateLimits},
    },
};

/// Returns a limit without use and count.
pub(crate) fn row(key: &'static str, counts: &'static str, value: usize) -> LimitStatus {
    LimitStatus {
        key,
        counts,
        value: value as u64,
        used: None,
        reached: None,
    }
}

impl LimitStatus {
    /// Sets its present use.
    pub(crate) fn used(self, used: usize) -> Self {
        let used = Some(used as u64);
        LimitStatus { used, ..self }
    }

    /// Sets how often it was reached.
    pub(crate) fn reached(self, times: u64) -> Self {
        let reached = Some(times);
        LimitStatus { reached, ..self }
    }
}

/// Returns the limits of the table, each for one neighbour.
pub(crate) fn of_table(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    let mut all = of_keys(limits);
    all.extend(of_declarations(limits, most));
    all.extend(of_work(limits, most));
    all
}

fn of_keys(limits: &Limits) -> Vec<LimitStatus> {
    vec![
        row("limits/key_length", "bytes of a key", limits.key_length_max),
        row(
            "limits/key_chunks",
            "chunks of a key",
            limits.key_chunks_max,
        ),
        row(
            "limits/key_glob_chunks",
            "chunks of a key with `$*`",
            limits.key_glob_chunks_max,
        ),
        row(
            "limits/key_glob_bytes",
            "bytes of these chunks",
            limits.key_glob_bytes_max,
        ),
    ]
}

fn of_declarations(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    let declarations = most.declarations_refused;
    vec![
        row(
            "limits/key_ids",
            "key ids of a neighbour",
            limits.key_ids_max,
        )
        .used(most.key_ids)
        .reached(declarations),
        row(
            "limits/own_key_ids",
            "ids declared to a neighbour",
            limits.own_key_ids_max,
        )
        .used(most.own_key_ids),
        row(
            "limits/subscribers",
            "subscribers of a neighbour",
            limits.subscribers_max,
        )
        .used(most.subscribers)
        .reached(declarations),
        row(
            "limits/queryables",
            "queryables of a neighbour",
            limits.queryables_max,
        )
        .used(most.queryables)
        .reached(declarations),
        row("limits/tokens", "tokens of a neighbour", limits.tokens_max)
            .used(most.tokens)
            .reached(declarations),
        row(
            "limits/interests",
            "interests of a neighbour",
            limits.interests_max,
        )
        .used(most.interests)
        .reached(declarations),
        row(
            "limits/questions",
            "open queries of a neighbour",
            limits.questions_max,
        )
        .used(most.queries)
        .reached(most.questions_refused),
    ]
}

fn of_work(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    vec![
        row(
            "limits/neighbours",
            "neighbours that a peer lists",
            limits.neighbours_max,
        )
        .used(most.neighbours),
        row(
            "limits/route_keys",
            "keys with their own routes",
            limits.route_keys_max,
        ),
        row(
            "limits/wild_keys",
            "declarations with wildcards",
            limits.wild_keys_max,
        ),
        row(
            "limits/declaration_steps",
            "steps of one declaration",
            limits.announce_steps_max,
        ),
    ]
}

/// Returns the limits of nodes that scouting and gossip have found.
pub(crate) fn of_found(
    limits: &CandidateLimits,
    known: usize,
    counts: CandidateCounts,
) -> Vec<LimitStatus> {
    // the limits of one kind share a count
    let (over, held) = (counts.over_limit, counts.failed_too_often);
    let each = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    vec![
        row(
            "limits/found_nodes",
            "nodes that were found",
            limits.nodes_max,
        )
        .used(known)
        .reached(over),
        row(
            "limits/found_nodes_per_neighbour",
            "of these, by one neighbour",
            limits.nodes_per_neighbour_max,
        )
        .reached(over),
        row(
            "limits/found_failures_per_address",
            "failures a minute, address",
            each(limits.dials.per_address),
        )
        .reached(held),
        row(
            "limits/found_failures_per_neighbour",
            "failures a minute, neighbour",
            each(limits.dials.per_neighbour),
        )
        .reached(held),
    ]
}
