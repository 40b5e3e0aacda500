// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of what was heard in a group and not taken.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$help:meta])* $name:ident,)+) => {
        /// Counts of what was heard in a group and not taken.
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
    /// Datagrams of nodes that have not introduced themselves.
    unknown,
    /// Datagrams that are not what the protocol allows, or not to their end; also those whose payload is in shared memory.
    malformed,
    /// Introductions of nodes that cannot be members with this one: clients, routers where this one is a router, other
    /// versions of the protocol, this node's own id.
    refused,
    /// Introductions of nodes for which there was no room (`transport/multicast/max_sessions`, `limits/sessions_per_address`).
    over_limit,
    /// Members that were removed for a newcomer: they were silent, or most members came from their address.
    evicted,
    /// Introductions that contradict an earlier one too soon after the last that did.
    contradicting,
    /// Members that were silent for their whole lease.
    expired,
    /// Messages that have no place in a group, such as questions, and keys that are not written out.
    misplaced,
    /// Declarations of members: everything is sent to the group anyway, and no questions pass it.
    declarations,
    /// Datagrams of members to which there is a link, by which the same comes.
    repeated,
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
