// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections that this node has refused, by reason: how many, and which was the last.

use std::collections::BTreeMap;

use serde_json::json;
use zonda_transport::link::LinkAddress;
use zonda_transport::sync::Mutex;

use crate::peers::reasons::{Refusal, RefusalKind};

/// Those turned away for one kind of reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnedAway {
    /// How many.
    pub count: u64,
    /// Where the last of them is, if that is known.
    pub last: Option<LinkAddress>,
    /// Why the last of them was turned away.
    pub reason: Refusal,
}

/// By kind of reason, and so never larger than there are kinds.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<RefusalKind, TurnedAway>>);

impl Refusals {
    /// Counts somebody who was turned away.
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

    /// One entry for each kind of reason that has occurred.
    pub(crate) fn all(&self) -> Vec<TurnedAway> {
        self.0.lock().values().cloned().collect()
    }

    /// How many were turned away for which kind of reason, for the admin space. Who they were is for this node's own
    /// session: everybody may read the admin space.
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
