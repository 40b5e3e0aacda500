// SPDX-License-Identifier: MIT OR Apache-2.0

//! What looks at messages between a neighbour and this node: filters, and later rights and rates. One file each.
//!
//! A hook is asked when a route is made, once for each neighbour on it, whether it has something to [check](Check) there.
//! Routes on which nothing is checked are what they would be without hooks, and cost as much. A route with checks
//! ([`Hooked`]) has its own way at the end of the usual one, where nobody was found to give the message to.

mod low_pass;
mod route;

use zonda_codec::KeyExpr;

use crate::{
    config::{Flow, MessageKind, Settings},
    metrics::Sample,
};

pub(crate) use route::{Hooked, seen};

use low_pass::LowPass;

/// The links to a neighbour, as far as rules are about them.
#[derive(Debug, Default)]
pub(crate) struct LinkFacts {
    /// The protocol of each link.
    pub(crate) protocols: Vec<String>,
    /// The interfaces that the links use.
    pub(crate) interfaces: Vec<String>,
}

/// A message on its way, as hooks see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: MessageKind,
    /// Bytes of payload and attachment.
    pub(crate) bytes: usize,
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
    fn samples(&self) -> Vec<Sample>;

    /// It has rules about interfaces, which the system is to be asked for.
    fn needs_interfaces(&self) -> bool {
        false
    }
}

/// What a hook checks on one route, at one neighbour, one way.
pub(crate) trait Check: Send + Sync {
    /// Whether a message passes.
    fn passes(&self, seen: Seen) -> bool;

    /// Counts one that did not.
    fn note_dropped(&self, seen: Seen);
}

/// The checks of all hooks at one neighbour, one way, in the order of the hooks.
#[derive(Default)]
pub(crate) struct Checks(Vec<Box<dyn Check>>);

impl Checks {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a message passes. Nothing is counted.
    #[inline]
    pub(crate) fn pass(&self, seen: Seen) -> bool {
        self.0.iter().all(|check| check.passes(seen))
    }

    /// Whether a message passes. The first check that drops it counts it.
    pub(crate) fn judge(&self, seen: Seen) -> bool {
        let dropping = self.0.iter().find(|check| !check.passes(seen));
        if let Some(check) = dropping {
            check.note_dropped(seen);
        }
        dropping.is_none()
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
