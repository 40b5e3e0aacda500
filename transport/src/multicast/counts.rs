// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of datagrams and messages that were received in a group and discarded.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$help:meta])* $name:ident,)+) => {
        /// Counts of datagrams and messages that were received in a group and discarded.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct GroupCounts {
            $($(#[$help])* pub $name: u64,)+
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: AtomicU64,)+
        }

        impl Counters {
            pub(super) fn snapshot(&self) -> GroupCounts {
                GroupCounts {
                    $($name: self.$name.load(Ordering::Relaxed),)+
                }
            }
        }
    };
}

counters! {
    /// Datagrams of nodes that have sent no JOIN.
    unknown,
    /// Datagrams that violate the protocol, as a whole or in part, and those whose payload is in
    /// shared memory.
    malformed,
    /// JOINs of nodes that cannot be members with this one: clients, routers where this one is a
    /// router, other versions of the protocol, this node's own id.
    refused,
    /// JOINs of nodes for which there was no room (`transport/multicast/max_sessions`,
    /// `limits/sessions_per_address`).
    over_limit,
    /// Members that were removed for a newcomer: they were silent, or most members came from their address.
    evicted,
    /// JOINs that contradict an earlier one too soon after the last one that did.
    contradicting,
    /// Members that were silent for their whole lease.
    expired,
    /// Messages that are not allowed in a group, such as queries, and keys that are not written
    /// out.
    misplaced,
    /// Declarations of members: every message is sent to the group anyway, and no queries pass it.
    declarations,
    /// Datagrams of members that are also connected by a link, which carries the same messages.
    repeated,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
