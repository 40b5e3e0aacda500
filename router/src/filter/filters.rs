// SPDX-License-Identifier: MIT OR Apache-2.0

//! The filters of a node.

use std::sync::Arc;

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
    drops::Drops,
    low_pass::LowPassFilter,
    overwrite::OverwriteFilter,
};

/// The filters that a node's configuration defines, in the order in which they decide.
#[derive(Default)]
pub(crate) struct Filters {
    all: Vec<Arc<dyn Filter>>,
    downsampling: Option<Arc<DownsamplingFilter>>,
    access: Option<Arc<AccessFilter>>,
    drops: Arc<Drops>,
    /// Number of filters that the node had before.
    number: u64,
}

impl Filters {
    pub(crate) fn new(settings: &Settings) -> Filters {
        Filters::default().replaced(settings)
    }

    /// Returns other filters, which continue the counters of these.
    pub(super) fn replaced(&self, settings: &Settings) -> Filters {
        let mut all: Vec<Arc<dyn Filter>> = Vec::new();
        let downsampling = DownsamplingFilter::again(&settings.downsampling, &self.downsampling);
        all.extend(downsampling.clone().map(|one| one as _));
        // rights that contradict each other are none; such a node does not open anyway
        let access = settings.access_control();
        let access = access.unwrap_or_else(|_| Some(AccessControl::closed()));
        let access = access.map(|control| AccessFilter::new(control, self.access.as_deref()));
        let access = access.map(Arc::new);
        all.extend(access.clone().map(|one| one as _));
        all.extend(OverwriteFilter::new(&settings.network_rules).map(|one| Arc::new(one) as _));
        all.extend(LowPassFilter::new(&settings.low_pass_rules).map(|one| Arc::new(one) as _));
        #[cfg(test)]
        all.extend(super::tests::planted());
        Filters {
            all,
            downsampling,
            access,
            drops: Arc::clone(&self.drops),
            number: self.number + 1,
        }
    }

    /// Returns the number of filters that the node had before.
    pub(super) fn number(&self) -> u64 {
        self.number
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

    /// Returns the counters of dropped messages.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let reasons = self.all.iter().filter_map(|filter| filter.reason());
        let drops = reasons.flat_map(|why| self.drops.samples(why));
        let own = self.all.iter().flat_map(|filter| filter.samples());
        drops.chain(own).collect()
    }
}
