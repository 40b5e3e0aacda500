// SPDX-License-Identifier: MIT OR Apache-2.0

//! Rows of limits: what neighbours declare, ask and tell of other nodes.

use crate::forwarding::scouting::{CandidateCounts, CandidateLimits};
use crate::forwarding::{Limits, Most};

use super::LimitStatus;

/// A limit, how much of it is used, and how often it was reached, where that is known.
pub(super) fn row(
    key: &'static str,
    counts: &'static str,
    value: usize,
    used: Option<usize>,
    reached: Option<u64>,
) -> LimitStatus {
    LimitStatus {
        key,
        counts,
        value: value as u64,
        used: used.map(|used| used as u64),
        reached,
    }
}

/// Those of the table, each for one neighbour.
pub(super) fn of_table(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    let mut all = of_keys(limits);
    all.extend(of_declarations(limits, most));
    all.extend(of_work(limits, most));
    all
}

fn of_keys(limits: &Limits) -> Vec<LimitStatus> {
    vec![
        row(
            "limits/key_length",
            "bytes of a key",
            limits.key_length_max,
            None,
            None,
        ),
        row(
            "limits/key_chunks",
            "chunks of a key",
            limits.key_chunks_max,
            None,
            None,
        ),
        row(
            "limits/key_glob_chunks",
            "chunks of a key with `$*`",
            limits.key_glob_chunks_max,
            None,
            None,
        ),
        row(
            "limits/key_glob_bytes",
            "bytes of these chunks",
            limits.key_glob_bytes_max,
            None,
            None,
        ),
    ]
}

fn of_declarations(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    let declarations = Some(most.declarations_refused);
    vec![
        row(
            "limits/key_ids",
            "key ids of a neighbour",
            limits.key_ids_max,
            Some(most.key_ids),
            declarations,
        ),
        row(
            "limits/own_key_ids",
            "key ids declared to a neighbour",
            limits.own_key_ids_max,
            Some(most.own_key_ids),
            None,
        ),
        row(
            "limits/subscribers",
            "subscribers of a neighbour",
            limits.subscribers_max,
            Some(most.subscribers),
            declarations,
        ),
        row(
            "limits/queryables",
            "queryables of a neighbour",
            limits.queryables_max,
            Some(most.queryables),
            declarations,
        ),
        row(
            "limits/tokens",
            "liveliness tokens of a neighbour",
            limits.tokens_max,
            Some(most.tokens),
            declarations,
        ),
        row(
            "limits/interests",
            "interests of a neighbour",
            limits.interests_max,
            Some(most.interests),
            declarations,
        ),
        row(
            "limits/questions",
            "open questions of a neighbour",
            limits.questions_max,
            Some(most.questions),
            Some(most.questions_refused),
        ),
    ]
}

fn of_work(limits: &Limits, most: &Most) -> Vec<LimitStatus> {
    vec![
        row(
            "limits/neighbours",
            "neighbours that a peer lists",
            limits.neighbours_max,
            Some(most.neighbours),
            None,
        ),
        row(
            "limits/route_keys",
            "keys whose routes end one by one",
            limits.route_keys_max,
            None,
            None,
        ),
        row(
            "limits/wild_keys",
            "declarations with wildcards, of all neighbours",
            limits.wild_keys_max,
            None,
            None,
        ),
        row(
            "limits/declaration_steps",
            "steps of a declaration at once",
            limits.announce_steps_max,
            None,
            None,
        ),
    ]
}

/// Those of nodes that were heard of.
pub(super) fn of_found(
    limits: &CandidateLimits,
    known: usize,
    counts: CandidateCounts,
) -> Vec<LimitStatus> {
    let (over, held) = (Some(counts.over_limit), Some(counts.failed_too_often));
    let each = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    vec![
        row(
            "limits/found_nodes",
            "nodes found by scouting and gossip",
            limits.nodes_max,
            Some(known),
            over,
        ),
        row(
            "limits/found_nodes_per_neighbour",
            "of these, named by one neighbour",
            limits.nodes_per_neighbour_max,
            None,
            over,
        ),
        row(
            "limits/found_failures_per_address",
            "failed attempts at one address in a minute",
            each(limits.dials.per_address),
            None,
            held,
        ),
        row(
            "limits/found_failures_per_neighbour",
            "failed attempts one neighbour caused in a minute",
            each(limits.dials.per_neighbour),
            None,
            held,
        ),
    ]
}
