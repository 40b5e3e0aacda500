// SPDX-License-Identifier: MIT OR Apache-2.0

//! A route, and where its messages are counted.

use std::sync::Arc;

use zonda_codec::EntityGlobalId;

use crate::flow::{route::Route, tally::Tally};

/// Where a publisher's messages go, and where a thread counts them.
pub(crate) struct Way {
    pub(crate) route: Arc<Route>,
    pub(crate) tally: Arc<Tally>,
    /// The publisher.
    pub(crate) source: EntityGlobalId,
}
