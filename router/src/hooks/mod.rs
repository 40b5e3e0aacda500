// SPDX-License-Identifier: MIT OR Apache-2.0

//! What looks at messages between a neighbour and this node: filters, what says how they are carried, and later rights and
//! rates. One file each.
//!
//! A hook is asked when a route is made, once for each neighbour on it, whether it has something to [check](Check) there.
//! Routes on which nothing is checked are what they would be without hooks, and cost as much. A route with checks
//! ([`Hooked`]) has its own way at the end of the usual one, where nobody was found to give the message to.

mod low_pass;
mod overwrite;
mod route;
mod scope;

use zonda_codec::{KeyExpr, Qos, Reliability, ZenohId};

use crate::{
    config::{Flow, MessageKind, Settings},
    metrics::Sample,
};

pub(crate) use route::{Hooked, seen};

use low_pass::LowPass;
use overwrite::Overwriting;

/// A neighbour and the links to it, as far as rules are about them.
#[derive(Debug)]
pub(crate) struct LinkFacts {
    pub(crate) zid: ZenohId,
    /// The protocol of each link.
    pub(crate) protocols: Vec<String>,
    /// The interfaces that the links use.
    pub(crate) interfaces: Vec<String>,
}

/// A message on its way, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: MessageKind,
    /// Bytes of the payload.
    pub(crate) payload: usize,
    /// Bytes of the attachment.
    pub(crate) attachment: usize,
    /// How it is carried.
    pub(crate) qos: Qos,
    /// Whether hops may lose it.
    pub(crate) reliability: Reliability,
}

impl Seen {
    /// Bytes of payload and attachment.
    fn bytes(&self) -> usize {
        self.payload + self.attachment
    }
}

/// Something that looks at messages between a neighbour and this node.
pub(crate) trait Hook: Send + Sync {
    /// What it checks of messages on `key` that pass these links this way; `None` if it lets all of them pass. Without a
    /// key it could not be found out.
    fn check(
        &self,
        links: &LinkFacts,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn Check>>;

    /// What it has counted.
    fn samples(&self) -> Vec<Sample> {
        Vec::new()
    }

    /// It has rules about interfaces, which the system is to be asked for.
    fn needs_interfaces(&self) -> bool {
        false
    }
}

/// What a hook checks on one route, at one neighbour, one way.
pub(crate) trait Check: Send + Sync {
    /// How a message that passes is carried from here on; `None` if it does not pass. Nothing is counted.
    fn carried(&self, seen: Seen) -> Option<Qos>;

    /// Counts one that did not pass.
    fn note_dropped(&self, seen: Seen);
}

/// The checks of all hooks at one neighbour, one way, in the order of the hooks.
#[derive(Default)]
pub(crate) struct Checks(Vec<Box<dyn Check>>);

impl Checks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a message passes as it is. Nothing is counted.
    #[inline]
    pub(crate) fn leave(&self, seen: Seen) -> bool {
        let left = Some(seen.qos);
        self.0.iter().all(|check| check.carried(seen) == left)
    }

    /// How a message is carried that passes. The first check that drops it counts it.
    pub(crate) fn judge(&self, mut seen: Seen) -> Option<Qos> {
        for check in &self.0 {
            match check.carried(seen) {
                Some(qos) => seen.qos = qos,
                None => {
                    check.note_dropped(seen);
                    return None;
                }
            }
        }
        Some(seen.qos)
    }
}

/// The hooks of a node, as its configuration says.
#[derive(Default)]
pub(crate) struct Hooks {
    all: Vec<Box<dyn Hook>>,
}

impl Hooks {
    pub(crate) fn new(settings: &Settings) -> Hooks {
        let mut all: Vec<Box<dyn Hook>> = Vec::new();
        all.extend(Overwriting::new(&settings.network_rules).map(|hook| Box::new(hook) as _));
        all.extend(LowPass::new(&settings.low_pass_rules).map(|hook| Box::new(hook) as _));
        Hooks { all }
    }

    /// Whether nothing is ever checked.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn need_interfaces(&self) -> bool {
        self.all.iter().any(|hook| hook.needs_interfaces())
    }

    /// What is checked of messages on `key` that pass these links this way.
    pub(crate) fn checks(
        &self,
        links: &LinkFacts,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Checks {
        let all = self.all.iter();
        Checks(
            all.filter_map(|hook| hook.check(links, flow, key))
                .collect(),
        )
    }

    /// What all of them have counted.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.all.iter().flat_map(|hook| hook.samples()).collect()
    }
}
