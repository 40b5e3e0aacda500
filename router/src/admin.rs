// SPDX-License-Identifier: MIT OR Apache-2.0

//! The admin space: its root with this node's id and connections as JSON, and the
//! [reports](reports) below.

pub(crate) mod report_cache;
mod reports;

use std::{sync::Arc, time::Instant};

use serde_json::json;
use zonda_codec::{Encoding, KeyExpr, Qos, Reliability, encoding};

use crate::{
    admin::{report_cache::Report, reports::ReportQuery},
    model::{Publication, SampleKind, Value},
    node::{
        shared::Shared,
        state::{CachedAnswer, State},
    },
    query::{After, Call},
    table::LocalBranch,
};

/// Lifetime of a cached description, as a multiple of the time that it took to build.
const REUSED: u32 = 20;

/// A value of the admin space.
pub(crate) struct AdminText<'a> {
    pub(crate) key: &'a KeyExpr<'a>,
    pub(crate) text: &'a str,
    /// The name of its encoding.
    pub(crate) encoding: &'static str,
}

impl Shared {
    /// Replies to a query on `key` that reaches the admin space, and ends its branch there: at
    /// once, or after the reports.
    pub(crate) fn answer_admin(
        &self,
        branch: &LocalBranch,
        key: &KeyExpr<'_>,
        state: &mut State,
        after: &mut After,
    ) {
        // The root is sent at once.
        let root = state.table.admin_key().clone();
        let answers = self.settings.adminspace_enabled && self.settings.adminspace_readable;
        if answers && key.intersects(&root) {
            let text = self.described(state);
            let text = AdminText {
                key: &root,
                text: &text,
                encoding: "application/json",
            };
            self.tell_admin(&text, branch, state, after);
        }
        // Reports are built later, without the lock; they end the branch.
        let reports = match answers {
            true => Report::named(key, &root),
            false => Vec::new(),
        };
        match self.this.upgrade().filter(|_| !reports.is_empty()) {
            Some(node) => {
                let asked = ReportQuery::new(node, branch, reports);
                after.calls.push(Call::Later(Box::new(|| asked.answer())));
            }
            None => state.table.finish_branch(branch.face, branch.rid),
        }
    }

    /// Replies with a text.
    pub(crate) fn tell_admin(
        &self,
        told: &AdminText<'_>,
        branch: &LocalBranch,
        state: &mut State,
        after: &mut After,
    ) {
        let sample = Publication {
            kind: SampleKind::Put,
            payload: Value::Borrowed(told.text.as_bytes()),
            encoding: Encoding {
                id: encoding::id(told.encoding).unwrap_or_default(),
                schema: None,
            },
            attachment: None,
            timestamp: None,
            source_info: None,
            qos: Qos::REQUEST,
            reliability: Reliability::Reliable,
        };
        self.reply_at_once(branch, told.key, &sample, state, after);
    }

    /// Returns the cached description if it is younger than twenty times its build time, else a new
    /// one. Queries for it, however frequent, use at most a twentieth of a processor.
    fn described(&self, state: &mut State) -> Arc<str> {
        let now = Instant::now();
        if let Some(known) = &state.described
            && now.saturating_duration_since(known.at) < known.took.saturating_mul(REUSED)
        {
            return Arc::clone(&known.text);
        }
        let text: Arc<str> = self.describe(state).to_string().into();
        let at = Instant::now();
        let took = at.saturating_duration_since(now);
        state.described = Some(CachedAnswer {
            text: Arc::clone(&text),
            at,
            took,
        });
        text
    }

    fn describe(&self, state: &State) -> serde_json::Value {
        // The locators, and the connections in the order of ids.
        let locators: Vec<String> = state
            .listening
            .iter()
            .flat_map(|listening| listening.locators())
            .map(|locator| locator.to_string())
            .collect();
        let neighbours = state.faces.values().filter(|face| !face.is_group());
        let mut sessions: Vec<_> = neighbours.map(|face| &face.status).collect();
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
            "zid": self.zid.to_string(),
            "version": concat!("zonda ", env!("CARGO_PKG_VERSION")),
            "metadata": serde_json::from_str(&self.settings.metadata).unwrap_or_else(|_| json!({})),
            "locators": locators,
            "sessions": sessions,
            "endpoints": state.dials.describe(|face| state.faces.contains_key(&face)),
            "turned_away": self.refusals.describe(),
            "plugins": {},
        })
    }
}
