// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control: rules decide about the messages of neighbours by kind, key and direction.
//!
//! The rules are compiled once for each node ([`Policy`]). Bound to a neighbour, a direction and a
//! key they are a table of the kinds of messages that are denied, each with its cause. As in the
//! reference, the messages of this node's own session are decided about when they leave for a
//! neighbour, and those of multicast groups only on request.

mod denials;
mod explain;
mod identity;
mod key_index;
#[cfg(test)]
mod oracle;
mod policy;
#[cfg(test)]
mod reload_scenes;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod traps;

use std::{net::SocketAddr, sync::Arc};

use zonda_codec::KeyExpr;

use crate::{
    config::{AccessControl, AccessMode, Flow, MessageKind},
    metrics::Sample,
    model::LinkStatus,
};

use super::contract::{BoundFilter, Decision, Filter, MessageView, Reason, Subject};

pub use explain::{DecidingRule, Explanation, Message, Neighbour, Rules};

use denials::{Denial, Denials};
use identity::Identity;
use policy::{Policy, Verdict};

/// The filter.
pub(super) struct AccessFilter {
    policy: Policy,
    denials: Arc<Denials>,
    mode: AccessMode,
    judges_groups: bool,
}

impl AccessFilter {
    /// Creates the filter; the rules that `before` had, too, continue their counters.
    pub(super) fn new(control: AccessControl, before: Option<&AccessFilter>) -> AccessFilter {
        let names = control.rules().iter().map(|rule| rule.id().to_owned());
        let before = before.map(|before| &*before.denials);
        AccessFilter {
            denials: Arc::new(Denials::new(names, before)),
            mode: control.mode(),
            judges_groups: control.judges_groups(),
            policy: Policy::new(control),
        }
    }
}

impl Filter for AccessFilter {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        // no member of a group proves who it is
        let is_group = is_group(subject.peer);
        if is_group && !self.judges_groups {
            return None;
        }
        let who = match is_group {
            true => Identity::of_group(subject),
            false => Identity::of(subject),
        };
        let verdict = self.policy.judge(&who, flow, key);
        let is_any = MessageKind::ALL.map(|kind| verdict.cause(kind).is_some());
        is_any.contains(&true).then(|| {
            let place = Denial::new(subject.peer.zid, flow, key);
            Box::new(Denied {
                verdict,
                place,
                denials: Arc::clone(&self.denials),
                is_audit: self.mode == AccessMode::Audit,
            }) as _
        })
    }

    fn reason(&self) -> Option<Reason> {
        Some(Reason::Access)
    }

    fn needs_interfaces(&self) -> bool {
        self.policy.names_interfaces()
    }

    fn samples(&self) -> Vec<Sample> {
        self.denials.samples()
    }
}

/// Returns true if a link leads to a multicast group.
fn is_group(peer: &LinkStatus) -> bool {
    let address = peer.remote.address().parse::<SocketAddr>();
    address.is_ok_and(|address| address.ip().is_multicast())
}

/// The kinds of messages that are denied to one neighbour in one direction on one key.
struct Denied {
    verdict: Verdict,
    place: Denial,
    denials: Arc<Denials>,
    is_audit: bool,
}

impl BoundFilter for Denied {
    #[inline]
    fn decide(&self, message: &MessageView) -> Decision {
        let Some(cause) = self.verdict.cause(message.kind) else {
            return Decision::Pass;
        };
        self.denials
            .note(cause, &self.place, message.kind, self.is_audit);
        match self.is_audit {
            true => Decision::Pass,
            false => Decision::Drop(Reason::Access),
        }
    }
}
