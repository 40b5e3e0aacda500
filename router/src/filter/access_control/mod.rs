// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control: rules decide about the messages of neighbours by kind, key and direction.
//!
//! The rules are compiled once for each node ([`Rules`]). Bound to a neighbour, a direction and a
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

use super::contract::{
    BoundFilter, Decision, Effect, Filter, Message, MessageView, Reason, Subject,
};

pub use explain::{DecidingRule, Explanation, Neighbour, Rules};

use denials::{Denial, Denials};
use identity::Identity;
use policy::Verdict;

/// The filter.
pub(super) struct AccessFilter {
    rules: Rules,
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
            rules: Rules::new(control),
        }
    }

    /// Returns the identity that the rules decide about; `None` for a neighbour whose messages all
    /// pass.
    fn judged<'f>(&self, subject: &'f Subject<'_>) -> Option<Identity<'f>> {
        // no member of a group proves who it is
        match is_group(subject.peer) {
            true => self.judges_groups.then(|| Identity::of_group(subject)),
            false => Some(Identity::of(subject)),
        }
    }
}

impl AccessFilter {
    /// Decides about all messages on a key between a client of a service and this node in one
    /// direction; `None` if all of them pass.
    pub(super) fn bind_client(
        &self,
        client: &Neighbour,
        flow: Flow,
        key: &KeyExpr<'_>,
    ) -> Option<Denied> {
        let who = || client.to_string();
        self.denied(&client.identity(), who, flow, Some(key))
    }

    /// Decides about all messages on a key between a neighbour and this node in one direction;
    /// `None` if all of them pass. `name` returns its name for log lines.
    fn denied(
        &self,
        who: &Identity<'_>,
        name: impl FnOnce() -> String,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Denied> {
        let verdict = self.rules.policy().judge(who, flow, key);
        let is_any = MessageKind::ALL.map(|kind| verdict.cause(kind).is_some());
        is_any.contains(&true).then(|| Denied {
            verdict,
            place: Denial::new(name(), flow, key),
            denials: Arc::clone(&self.denials),
            is_audit: self.mode == AccessMode::Audit,
        })
    }
}

impl Filter for AccessFilter {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        let name = || subject.peer.zid.to_string();
        let denied = self.denied(&self.judged(subject)?, name, flow, key);
        denied.map(|denied| Box::new(denied) as _)
    }

    fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Option<Effect> {
        let explained = self.rules.explain_to(&self.judged(subject)?, message);
        let is_audit = self.mode == AccessMode::Audit;
        let cause = explained.cause();
        let text = match explained.is_allowed {
            true => format!("allowed {cause}"),
            false if is_audit => format!("passes in the mode audit, else denied {cause}"),
            false => format!("denied {cause}"),
        };
        Some(Effect {
            key: "access_control",
            is_denied: !explained.is_allowed && !is_audit,
            text,
            hints: explained.hints,
        })
    }

    /// The decision alone: the hints of an explanation compare keys.
    fn denies(&self, subject: &Subject<'_>, message: Message<'_>) -> bool {
        let who = self.judged(subject);
        self.mode != AccessMode::Audit
            && who.is_some_and(|who| self.rules.cause(&who, message).is_some())
    }

    fn reason(&self) -> Option<Reason> {
        Some(Reason::Access)
    }

    fn needs_interfaces(&self) -> bool {
        self.rules.policy().names_interfaces()
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
pub(crate) struct Denied {
    verdict: Verdict,
    place: Denial,
    denials: Arc<Denials>,
    is_audit: bool,
}

impl Denied {
    /// Returns the cause for which a message of a kind is denied, which is noted; `None` if it
    /// passes.
    pub(super) fn refusal(&self, kind: MessageKind) -> Option<String> {
        let cause = self.verdict.cause(kind)?;
        self.denials.note(cause, &self.place, kind, self.is_audit);
        (!self.is_audit).then(|| self.denials.in_words(cause))
    }
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

    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        self.verdict.cause(kind).is_none()
    }
}
