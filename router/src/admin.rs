// SPDX-License-Identifier: MIT OR Apache-2.0

//! Texts of the admin space: the root, with this node's id and connections as JSON, and the
//! reports below it. They are made from snapshots; the node sends them as replies.

pub(crate) mod report_cache;

use serde_json::json;

use crate::node::{limits::LimitStatus, snapshot::Overview};

/// Returns the value of the root.
pub(crate) fn describe(overview: &Overview<'_>) -> serde_json::Value {
    // The locators, and the connections in the order of ids.
    let locators = overview.locators.iter();
    let locators: Vec<String> = locators.map(ToString::to_string).collect();
    let mut sessions = overview.neighbours.clone();
    sessions.sort_by_key(|status| status.zid);
    let sessions: Vec<_> = sessions
        .iter()
        .map(|status| {
            json!({
                "peer": status.zid.to_string(),
                "whatami": status.whatami.to_string(),
                "links": [{ "src": status.local.to_string(), "dst": status.remote.to_string() }],
            })
        })
        .collect();
    json!({
        "zid": overview.zid.to_string(),
        "version": concat!("zonda ", env!("CARGO_PKG_VERSION")),
        "metadata": serde_json::from_str(overview.metadata).unwrap_or_else(|_| json!({})),
        "locators": locators,
        "sessions": sessions,
        "endpoints": overview.endpoints,
        "turned_away": overview.turned_away,
        "plugins": {},
    })
}

/// Returns the report of limits.
pub(crate) fn limits_text(limits: &[LimitStatus]) -> String {
    let limits: Vec<_> = limits.iter().map(LimitStatus::to_json).collect();
    json!(limits).to_string()
}
