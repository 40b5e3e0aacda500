// SPDX-License-Identifier: MIT OR Apache-2.0

//! Route of a publisher with its counters.

use std::sync::Arc;

use zonda_codec::EntityGlobalId;

use crate::flow::{route::Route, tally::Tally};

/// Route of a publisher's messages, with the counters of the thread that publishes them.
pub(crate) struct CachedRoute {
    pub(crate) route: Arc<Route>,
    pub(crate) tally: Arc<Tally>,
    /// Id of the publisher.
    pub(crate) source: EntityGlobalId,
}
