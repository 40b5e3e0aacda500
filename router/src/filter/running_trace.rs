// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces while they run on a node.

use std::sync::Arc;

use zonda_codec::KeyExpr;

use crate::node::shared::Shared;

use super::trace::{Pass, Trace};

/// Most traces of a node at the same time.
const TRACES_MAX: usize = 4;

/// Running trace, which ends with this value.
pub(crate) struct Tracing {
    trace: Arc<Trace>,
    node: Arc<Shared>,
}

impl Tracing {
    /// Begins a trace; `None` if too many run already.
    pub(crate) fn begin(node: &Arc<Shared>, key: KeyExpr<'static>) -> Option<Tracing> {
        let trace = Arc::new(Trace::new(key));
        let mut has_begun = false;
        node.update(|state| {
            let mut traces = state.filters.traces().to_vec();
            has_begun = traces.len() < TRACES_MAX;
            if has_begun {
                traces.push(Arc::clone(&trace));
                state.filters = Arc::new(state.filters.traced(traces));
                state.table.outdate_routes();
            }
        });
        let node = Arc::clone(node);
        has_begun.then_some(Tracing { trace, node })
    }

    /// Removes the records so far. Returns them, with the number of passes that had no room.
    pub(crate) fn take(&self) -> (Vec<Pass>, u64) {
        self.trace.take()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.node.update(|state| {
            let mut traces = state.filters.traces().to_vec();
            traces.retain(|trace| !Arc::ptr_eq(trace, &self.trace));
            state.filters = Arc::new(state.filters.traced(traces));
            state.table.outdate_routes();
        });
    }
}
