// SPDX-License-Identifier: MIT OR Apache-2.0

//! The admin space: keys below `@/<zid>/<role>` with the state of the node, for queries. An
//! [`answer::Answer`] makes the replies to a query part by part, from copies of what it needs, so
//! that the node's lock is held briefly; the node sends them.

pub(crate) mod answer;
pub(crate) mod asker;
pub(crate) mod config_space;
pub(crate) mod explanation;
pub(crate) mod graph;
pub(crate) mod published;
pub(crate) mod question;
pub(crate) mod report_cache;
pub(crate) mod root;
pub(crate) mod tracing;
pub(crate) mod waiting;
pub(crate) mod writes;

use serde_json::json;

use crate::node::limits::LimitStatus;

/// Returns the report of limits.
pub(crate) fn limits_text(limits: &[LimitStatus]) -> String {
    let limits: Vec<_> = limits.iter().map(LimitStatus::to_json).collect();
    json!(limits).to_string()
}
