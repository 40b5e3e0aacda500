// SPDX-License-Identifier: MIT OR Apache-2.0

//! The filters of a node.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use zonda_codec::KeyExpr;

use crate::{
    config::{AccessControl, Flow, Settings},
    metrics::Sample,
};

use super::{
    access_control::AccessFilter,
    bound::{Bound, BoundFilters},
    contract::{Effect, Filter, Message, Subject},
    downsampling::DownsamplingFilter,
    drops::{Dropped, Drops},
    low_pass::LowPassFilter,
    overwrite::OverwriteFilter,
    trace::{Trace, TraceFilter},
};

/// The filters that a node's configuration defines, in the order in which they decide.
#[derive(Default)]
pub(crate) struct Filters {
    /// Filters of the configuration, between those of the traces.
    all: Vec<Arc<dyn Filter>>,
    configured: Vec<Arc<dyn Filter>>,
    traces: Vec<Arc<Trace>>,
    downsampling: Option<Arc<DownsamplingFilter>>,
    access: Option<Arc<AccessFilter>>,
    drops: Arc<Drops>,
    /// Number of filters that the node had before.
    number: u64,
    /// Number of the node's present filters.
    latest: Arc<AtomicU64>,
}

impl Filters {
    pub(crate) fn new(settings: &Settings) -> Filters {
        Filters::default().replaced(settings)
    }

    /// Returns other filters, which continue the counters of these.
    pub(super) fn replaced(&self, settings: &Settings) -> Filters {
        let mut configured: Vec<Arc<dyn Filter>> = Vec::new();
        let downsampling = DownsamplingFilter::again(&settings.downsampling, &self.downsampling);
        configured.extend(downsampling.clone().map(|one| one as _));
        // rights that contradict each other are none; such a node does not open anyway
        let access = settings.access_control();
        let access = access.unwrap_or_else(|_| Some(AccessControl::closed()));
        let access = access.map(|control| AccessFilter::new(control, self.access.as_deref()));
        let access = access.map(Arc::new);
        configured.extend(access.clone().map(|one| one as _));
        configured
            .extend(OverwriteFilter::new(&settings.network_rules).map(|one| Arc::new(one) as _));
        configured
            .extend(LowPassFilter::new(&settings.low_pass_rules).map(|one| Arc::new(one) as _));
        #[cfg(test)]
        configured.extend(super::tests::planted());
        Filters {
            all: Vec::new(),
            configured,
            traces: Vec::new(),
            downsampling,
            access,
            drops: Arc::clone(&self.drops),
            number: self.number,
            latest: Arc::clone(&self.latest),
        }
        .traced(self.traces.clone())
    }

    /// Returns the same filters with these traces.
    pub(super) fn traced(&self, traces: Vec<Arc<Trace>>) -> Filters {
        let of = |flow| {
            let filter = move |trace| Arc::new(TraceFilter::new(trace, flow)) as Arc<dyn Filter>;
            traces.iter().map(filter)
        };
        let all = of(Flow::Ingress).chain(self.configured.iter().cloned());
        let number = self.number + 1;
        self.latest.store(number, Ordering::SeqCst);
        Filters {
            all: all.chain(of(Flow::Egress)).collect(),
            configured: self.configured.clone(),
            downsampling: self.downsampling.clone(),
            access: self.access.clone(),
            drops: Arc::clone(&self.drops),
            number,
            latest: Arc::clone(&self.latest),
            traces,
        }
    }

    /// Returns the running traces.
    pub(super) fn traces(&self) -> &[Arc<Trace>] {
        &self.traces
    }

    /// Returns true until the node has other filters, or is about to have them.
    pub(super) fn are_current(&self) -> bool {
        self.number == self.latest.load(Ordering::SeqCst)
    }

    /// Returns the number of filters that the node had before.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the rules of access control.
    pub(super) fn access(&self) -> Option<&AccessFilter> {
        self.access.as_deref()
    }

    /// Returns the counters of dropped messages by reason.
    pub(super) fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Returns true if there is no filter.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn need_interfaces(&self) -> bool {
        self.all.iter().any(|filter| filter.needs_interfaces())
    }

    /// Binds all filters; `None` if all of them let every message pass.
    pub(super) fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Bound {
        let each = self.all.iter();
        let each: Box<[_]> = each.filter_map(|f| f.bind(subject, flow, key)).collect();
        (!each.is_empty()).then(|| Arc::new(BoundFilters::new(each, flow, &self.drops)))
    }

    /// Explains the effects of all filters on a message, in the order in which they decide.
    pub(super) fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Vec<Effect> {
        let each = self.all.iter();
        each.filter_map(|filter| filter.explain(subject, message))
            .collect()
    }

    /// Returns true if a filter keeps all such messages from passing.
    pub(super) fn deny(&self, subject: &Subject<'_>, message: Message<'_>) -> bool {
        let mut each = self.all.iter();
        each.any(|filter| filter.denies(subject, message))
    }

    /// Returns the counts of dropped messages.
    pub(crate) fn dropped(&self) -> Vec<Dropped> {
        let reasons = self.all.iter().filter_map(|filter| filter.reason());
        reasons.flat_map(|why| self.drops.dropped(why)).collect()
    }

    /// Returns the counters of dropped messages.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let reasons = self.all.iter().filter_map(|filter| filter.reason());
        let drops = reasons.flat_map(|why| self.drops.samples(why));
        let own = self.all.iter().flat_map(|filter| filter.samples());
        drops.chain(own).collect()
    }
}
