// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contract between filters and the node.

use zonda_codec::{KeyExpr, Qos, Reliability};

use crate::{
    config::{Flow, MessageKind},
    metrics::Sample,
    model::LinkStatus,
};

/// A neighbour and its links, as far as rules depend on them.
#[derive(Debug)]
pub(crate) struct Subject<'f> {
    /// The neighbour's id; the options of its first link have the user and the names in the
    /// certificate that it has proved.
    pub(crate) peer: &'f LinkStatus,
    /// The protocol of each link.
    pub(crate) protocols: Vec<String>,
    /// The interfaces that the links use.
    pub(crate) interfaces: Vec<String>,
}

/// A message as filters see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageView {
    pub(crate) kind: MessageKind,
    /// Bytes of the payload.
    pub(crate) payload: usize,
    /// Bytes of the attachment.
    pub(crate) attachment: usize,
    /// The QoS of the message.
    pub(crate) qos: Qos,
    /// Reliability of the message on every hop.
    pub(crate) reliability: Reliability,
}

impl MessageView {
    /// Returns the bytes of payload and attachment.
    pub(super) fn bytes(&self) -> usize {
        self.payload + self.attachment
    }
}

/// Message between a neighbour and this node.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its direction.
    pub flow: Flow,
    /// Its kind.
    pub kind: MessageKind,
    /// Its key.
    pub key: &'a KeyExpr<'a>,
}

/// Effect of a filter on messages of one kind and key, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    /// Key of the configuration that defines the filter.
    pub(crate) key: &'static str,
    /// True if none of the messages passes.
    pub(crate) is_denied: bool,
    /// The effect, and the rule that has it.
    pub(crate) text: String,
    /// Changes that would let denied messages pass, a sentence each.
    pub(crate) hints: Vec<String>,
}

/// A filter of messages between neighbours and this node.
pub(crate) trait Filter: Send + Sync {
    /// Returns the filter of messages on `key` between `subject` and this node in direction `flow`;
    /// `None` if it lets all of them pass. `key` is `None` if it could not be resolved.
    ///
    /// The result is cached. It may be dropped and bound again at any time, so state that must
    /// survive belongs to the filter.
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>>;

    /// Explains its effect on such messages between `subject` and this node; `None` if it has none.
    fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Option<Effect>;

    /// Returns true if it keeps all such messages from passing, as [`explain`](Filter::explain) says.
    fn denies(&self, subject: &Subject<'_>, message: Message<'_>) -> bool {
        let effect = self.explain(subject, message);
        effect.is_some_and(|effect| effect.is_denied)
    }

    /// Returns the reason for which it drops messages; `None` if it drops none.
    fn reason(&self) -> Option<Reason> {
        None
    }

    /// Returns counters of its own, in addition to those of the messages that it drops.
    fn samples(&self) -> Vec<Sample> {
        Vec::new()
    }

    /// Returns true if the rules depend on interfaces, which must be queried from the system.
    fn needs_interfaces(&self) -> bool {
        false
    }
}

/// A filter of messages of one neighbour, direction and key.
pub(crate) trait BoundFilter: Send + Sync {
    /// Decides about a message. Called exactly once for each message, except for those of a kind of
    /// which [all pass](BoundFilter::lets_all_pass): for these it may be called or not.
    fn decide(&self, message: &MessageView) -> Decision;

    /// Returns true if each message of a kind passes unchanged, and without an effect on the filter,
    /// whatever else it is. Always the same for a kind, so that routes can keep it.
    fn lets_all_pass(&self, kind: MessageKind) -> bool;
}

/// The decision of a filter about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The message passes unchanged.
    Pass,
    /// The message passes with another QoS.
    PassAs(Qos),
    /// The message does not pass.
    Drop(Reason),
}

/// The reason for which a filter drops a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Payload and attachment exceed the limit of `low_pass_filter`.
    Size,
    /// No right of the neighbour in `access_control`.
    Access,
    /// Above the rate of `downsampling`.
    Rate,
}

impl Reason {
    /// Number of reasons.
    pub(super) const COUNT: usize = 3;
}
