// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every metric of a node: its name, its kind and its description. Data only.

use crate::metrics::text::{Kind, Metric};

/// Declares metrics.
macro_rules! metrics {
    ($($id:ident $kind:ident $name:literal $help:literal;)+) => {
        $(pub(crate) static $id: Metric = Metric { name: $name, kind: Kind::$kind, help: $help };)+

        /// Every metric of a node.
        pub static METRICS: &[&Metric] = &[$(&$id),+];
    };
}

metrics! {
    LINKS Gauge "zonda_links" "Links that are open, by role of the neighbour.";
    LINKS_ENDED Counter "zonda_links_ended" "Links that have ended.";
    MESSAGES_LOST Counter "zonda_messages_lost" "Messages that were accepted and lost with a link that ended, by priority.";
    SLOW_CONSUMERS Counter "zonda_slow_consumers" "Links that were closed because the neighbour took too little while sources waited.";
    TIMESTAMPS_NOT_RECORDED Counter "zonda_timestamps_not_recorded" "Records that are missing in time-stamp stacks, as the stack was full or the function for timestamps panicked.";
    TURNED_AWAY Counter "zonda_turned_away" "Connections that were turned away, by reason.";
    CONFIG_WRITES Counter "zonda_config_writes" "Writes to the configuration through the admin space, by what became of them.";
    ATTEMPTS Gauge "zonda_endpoint_attempts" "Attempts to connect since the endpoint was connected last.";
    INTRODUCTIONS Counter "zonda_introductions" "Connections that came to a listener, by what became of them.";
    INTRODUCTIONS_NOW Gauge "zonda_introductions_pending" "Connections that have not introduced themselves yet.";
    GROUP_MEMBERS Gauge "zonda_group_members" "Others in a multicast group.";
    GROUP_BYTES Counter "zonda_group_sent_bytes" "Bytes sent to a multicast group.";
    GROUP_RECEIVED_BYTES Counter "zonda_group_received_bytes" "Bytes that members of a multicast group have sent to it.";
    GROUP_RECEIVED Counter "zonda_group_received_messages" "Messages that members of a multicast group have sent to it.";
    GROUP_IGNORED Counter "zonda_group_ignored" "What was heard in a multicast group and not taken, by reason.";
    LOW_PASS_MESSAGES Counter "zonda_low_pass_dropped_messages" "Messages that low_pass_filter has dropped, by direction and kind.";
    LOW_PASS_BYTES Counter "zonda_low_pass_dropped_bytes" "Bytes of payload and attachment of messages that low_pass_filter has dropped.";
    DOWNSAMPLING_MESSAGES Counter "zonda_downsampling_dropped_messages" "Messages that downsampling has dropped, by direction and kind.";
    DOWNSAMPLING_BYTES Counter "zonda_downsampling_dropped_bytes" "Bytes of payload and attachment of messages that downsampling has dropped.";
    ACCESS_MESSAGES Counter "zonda_access_control_dropped_messages" "Messages that access control has dropped, by direction and kind.";
    ACCESS_BYTES Counter "zonda_access_control_dropped_bytes" "Bytes of payload and attachment of messages that access control has dropped.";
    ACCESS_DENIED Counter "zonda_access_control_denied_messages" "Messages that access control has denied, or would have in the mode audit, by rule; without one those that no rule allows.";
    LIMIT Gauge "zonda_limit" "The value of a limit.";
    LIMIT_USED Gauge "zonda_limit_used" "How much of a limit is used: of one for each neighbour, by the neighbour that has most.";
    LIMIT_REACHED Counter "zonda_limit_reached" "How often a limit was reached.";
    MEMORY_BUDGET Gauge "zonda_memory_budget_bytes" "Memory that the node may hold.";
    MEMORY Gauge "zonda_memory_bytes" "Memory that the node holds, by what holds it.";
    MEMORY_PEAK Gauge "zonda_memory_peak_bytes" "The most that the node held at a look.";
    MEMORY_CLOSED Counter "zonda_memory_links_closed" "Links that were closed because the neighbour kept most of the memory.";
    MEMORY_REFUSED Counter "zonda_memory_messages_refused" "Messages that there was no memory for.";
    UNFINISHED_CLOSED Counter "zonda_unfinished_links_closed" "Links that were closed because a message was begun and not gone on with.";
    SHM_LINKS Gauge "zonda_shm_links" "Links whose ends share memory.";
    SHM_POOLS Gauge "zonda_shm_pools" "Own pools of shared memory.";
    SHM_SEGMENTS Gauge "zonda_shm_segments" "Segments of other processes that are mapped.";
    SHM_HELD Gauge "zonda_shm_held" "Payloads in the memory of other processes that are held.";
    SHM_PAYLOADS Counter "zonda_shm_payloads" "Payloads in shared memory: received, sent, and copied into the pool of the node.";
    SHM_REFUSED Counter "zonda_shm_refused" "Payloads and segments in shared memory that were refused, by reason.";
    SHM_POOL_FULL Counter "zonda_shm_pool_full" "How often a pool of shared memory had no room.";
    SHM_RECLAIMED Counter "zonda_shm_reclaimed" "Payloads in shared memory that were taken back from receivers that ended without giving them back.";
    LINK_BYTES Counter "zonda_link_sent_bytes" "Bytes handed to a link's socket, framing included.";
    LINK_RECEIVED_BYTES Counter "zonda_link_received_bytes" "Bytes read from a link's socket, framing included.";
    LINK_RECEIVED Counter "zonda_link_received_messages" "Messages that came from a neighbour, by priority.";
    LINK_WRITES Counter "zonda_link_writes" "Writes to a link's socket, by who made them.";
    LINK_FULL Counter "zonda_link_full" "Attempts that found a queue of a link full.";
    LINK_TOO_LONG Counter "zonda_link_too_long" "Messages with a field that is longer than the protocol allows.";
    LINK_MESSAGES Counter "zonda_link_messages" "Messages for a neighbour, by priority and what became of them.";
    LINK_BATCH_BYTES Counter "zonda_link_batch_bytes" "Bytes of whole batches that a link's socket has, by priority.";
    LINK_QUEUED Gauge "zonda_link_queued" "Messages that wait for a neighbour, by priority.";
    LINK_QUEUED_BYTES Gauge "zonda_link_queued_bytes" "Bytes that wait for a neighbour, by priority.";
    LINK_IGNORED Counter "zonda_link_ignored" "What a neighbour declared, asked or sent and this node ignored, by reason.";
    LINK_DISCARDED Counter "zonda_link_discarded" "What was received from a neighbour and thrown away, by reason.";
    LINK_HELD Counter "zonda_link_held" "How often a priority of a neighbour waited for a declaration that was still on its way.";
    SCOUTS Counter "zonda_scouts" "Nodes that scouted for this one, by what became of them.";
    CANDIDATES Counter "zonda_candidates" "What became of nodes that this one heard of.";
    GOSSIP Counter "zonda_gossip" "News of nodes, by what became of them.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_format_asks_for() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        for metric in METRICS {
            let mut chars = metric.name.chars();
            assert!(
                chars.all(|c| c.is_ascii_lowercase() || c == '_'),
                "{metric:?}"
            );
            assert!(metric.name.starts_with("zonda_"), "{metric:?}");
            let is_counter = metric.kind == Kind::Counter;
            assert!(
                !(is_counter && metric.name.ends_with("_total")),
                "{metric:?}"
            );
            assert!(metric.help.ends_with('.'), "{metric:?}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len(), "each name once");
    }
}
