// SPDX-License-Identifier: MIT OR Apache-2.0

//! Filters for messages between a neighbour and this node: a size limit, changes of QoS, and later
//! access control and rate limits. One file each.
//!
//! When a route is built, it asks each filter once for every neighbour on it whether there is
//! something to [check](Check). A route without checks is the same as without filters, and costs
//! the same. A route with checks ([`FilteredRoute`]) is looked at last, after the usual path has found no
//! hop.

mod low_pass;
mod overwrite;
mod route;
mod scope;

use zonda_codec::{KeyExpr, Qos, Reliability, ZenohId};

use crate::{
    config::{Flow, MessageKind, Settings},
    metrics::Sample,
};

pub(crate) use route::{FilteredRoute, seen};

use low_pass::LowPassFilter;
use overwrite::OverwriteFilter;

/// A neighbour and its links, as far as rules depend on them.
#[derive(Debug)]
pub(crate) struct LinkFacts {
    pub(crate) zid: ZenohId,
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
    fn bytes(&self) -> usize {
        self.payload + self.attachment
    }
}

/// A filter of messages between a neighbour and this node.
pub(crate) trait Filter: Send + Sync {
    /// Returns the check of messages on `key` that pass these links in direction `flow`; `None` if
    /// all of them pass. `key` is `None` if it could not be resolved.
    fn check(
        &self,
        links: &LinkFacts,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn RouteFilter>>;

    /// Returns the filter's counters.
    fn samples(&self) -> Vec<Sample> {
        Vec::new()
    }

    /// Returns true if the rules depend on interfaces, which must be queried from the system.
    fn needs_interfaces(&self) -> bool {
        false
    }
}

/// The check of one filter on a route, for one neighbour and direction.
pub(crate) trait RouteFilter: Send + Sync {
    /// Returns the QoS with which a message passes; `None` if it does not pass. Counts nothing.
    fn carried(&self, seen: MessageView) -> Option<Qos>;

    /// Counts a message that did not pass.
    fn note_dropped(&self, seen: MessageView);
}

/// The checks of all filters for one neighbour and direction, in the order of the filters.
#[derive(Default)]
pub(crate) struct RouteFilters(Vec<Box<dyn RouteFilter>>);

impl RouteFilters {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a message passes unchanged. Counts nothing.
    #[inline]
    pub(crate) fn leave(&self, seen: MessageView) -> bool {
        let left = Some(seen.qos);
        self.0.iter().all(|check| check.carried(seen) == left)
    }

    /// Returns the QoS with which a message passes. The first check that drops it counts it.
    pub(crate) fn judge(&self, mut seen: MessageView) -> Option<Qos> {
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

/// The filters that a node's configuration defines.
#[derive(Default)]
pub(crate) struct Filters {
    all: Vec<Box<dyn Filter>>,
}

impl Filters {
    pub(crate) fn new(settings: &Settings) -> Filters {
        let mut all: Vec<Box<dyn Filter>> = Vec::new();
        all.extend(OverwriteFilter::new(&settings.network_rules).map(|hook| Box::new(hook) as _));
        all.extend(LowPassFilter::new(&settings.low_pass_rules).map(|hook| Box::new(hook) as _));
        Filters { all }
    }

    /// Returns true if there is no filter.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn need_interfaces(&self) -> bool {
        self.all.iter().any(|hook| hook.needs_interfaces())
    }

    /// Returns the checks of messages on `key` that pass these links in direction `flow`.
    pub(crate) fn checks(
        &self,
        links: &LinkFacts,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> RouteFilters {
        let all = self.all.iter();
        RouteFilters(
            all.filter_map(|hook| hook.check(links, flow, key))
                .collect(),
        )
    }

    /// Returns the counters of all filters.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.all.iter().flat_map(|hook| hook.samples()).collect()
    }
}
