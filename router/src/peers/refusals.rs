// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections that this node has refused, by cause: the count and the last one.

use std::collections::BTreeMap;

use serde_json::json;
use zonda_transport::link::LinkAddress;
use zonda_transport::sync::Mutex;

use crate::peers::reasons::{Refusal, RefusalKind};

/// Connections refused for one kind of cause.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnedAway {
    /// Number of connections.
    pub count: u64,
    /// Address of the last of them, if that is known.
    pub last: Option<LinkAddress>,
    /// Cause of the last refusal.
    pub reason: Refusal,
}

/// Refusals by kind of cause, and so never more entries than there are kinds.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<RefusalKind, TurnedAway>>);

impl Refusals {
    /// Counts a connection that was refused.
    pub(crate) fn note(&self, remote: Option<&LinkAddress>, reason: &Refusal) {
        let mut refusals = self.0.lock();
        let count = refusals.get(&reason.kind).map_or(0, |known| known.count);
        let known = TurnedAway {
            count: count + 1,
            last: remote.cloned(),
            reason: reason.clone(),
        };
        refusals.insert(reason.kind, known);
    }

    /// Returns one entry for each kind of cause that has occurred.
    pub(crate) fn all(&self) -> Vec<TurnedAway> {
        self.0.lock().values().cloned().collect()
    }

    /// Returns the number of refusals by kind of cause, for the admin space. Every node may read
    /// that, so the addresses are for this node's own session only.
    pub(crate) fn describe(&self) -> serde_json::Value {
        let refusals = self.0.lock();
        let describe = |known: &TurnedAway| {
            json!({
                "reason": known.reason.kind.name(),
                "count": known.count,
            })
        };
        refusals.values().map(describe).collect()
    }
}
