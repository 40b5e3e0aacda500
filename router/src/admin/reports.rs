// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reports below the admin space's root: the node's counters, its limits, and the latest events
//! of its connections.
//!
//! A report takes the node's lock several times, so it is built after the state change that
//! received the query. Only a key that names a report gets it; `@/**` does not, because a report of
//! many links is long.

use std::sync::Arc;

use serde_json::json;
use zonda_codec::KeyExpr;

use crate::{
    admin::{AdminText, report_cache::Report},
    metrics,
    node::{handle::Node, limits::LimitStatus, shared::Shared, state::State},
    query::After,
    table::LocalBranch,
};

/// A query for reports, to be answered without a lock.
pub(crate) struct ReportQuery {
    node: Arc<Shared>,
    branch: LocalBranch,
    reports: Vec<(Report, KeyExpr<'static>)>,
}

impl ReportQuery {
    pub(crate) fn new(
        node: Arc<Shared>,
        branch: &LocalBranch,
        reports: Vec<(Report, KeyExpr<'static>)>,
    ) -> Self {
        let branch = branch.clone();
        ReportQuery {
            node,
            branch,
            reports,
        }
    }

    /// Replies with each report, and ends the admin space's part of the query.
    pub(crate) fn answer(self) {
        let ReportQuery {
            node,
            branch,
            reports,
        } = self;
        // The reports are built without the lock.
        let make = |report| node.admin_reports.text(report, || node.report(report));
        let texts = reports.iter().map(|(report, _)| make(*report));
        let texts: Vec<_> = texts.collect();
        // The replies are sent under the lock.
        let change = |state: &mut State, after: &mut After| {
            for ((report, key), text) in reports.iter().zip(&texts) {
                let encoding = report.encoding();
                node.tell_admin(
                    &AdminText {
                        key,
                        text,
                        encoding,
                    },
                    &branch,
                    state,
                    after,
                );
            }
            state.table.finish_branch(branch.face, branch.rid);
        };
        node.change(change).finish();
    }
}

impl Shared {
    fn report(self: &Arc<Self>, report: Report) -> String {
        let node = Node {
            shared: Arc::clone(self),
            session: Arc::default(),
        };
        match report {
            Report::Metrics => metrics::text(&node.metrics_in_brief()),
            Report::Limits => {
                let limits: Vec<_> = node.limits().iter().map(LimitStatus::to_json).collect();
                json!(limits).to_string()
            }
            Report::Events => self.events.recent().to_string(),
        }
    }
}
