// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries to the admin space, which the node answers itself: with its description at the root,
//! and with the reports below, the node's counters, its limits, and the latest events of its
//! connections.
//!
//! A report takes the node's lock several times, so it is built after the state change that
//! received the query. Only a key that names a report gets it; `@/**` does not, because a report of
//! many links is long.

use std::{sync::Arc, time::Instant};

use zonda_codec::{Encoding, KeyExpr, Qos, Reliability, encoding};

use crate::{
    admin::{self, report_cache::Report},
    metrics,
    model::{Publication, SampleKind, Value},
    node::{handle::Node, shared::Shared, state::State},
    query::{
        After, Call, QueryableId,
        reply::{self, OutgoingReply},
    },
    table::LocalBranch,
};

/// A value of the admin space.
struct AdminText<'a> {
    key: &'a KeyExpr<'a>,
    text: &'a str,
    /// The name of its encoding.
    encoding: &'static str,
}

/// A query for reports, to be answered without a lock.
struct ReportQuery {
    node: Arc<Shared>,
    branch: LocalBranch,
    reports: Vec<(Report, KeyExpr<'static>)>,
}

impl ReportQuery {
    /// Replies with each report, and ends the admin space's part of the query.
    fn answer(self) {
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
                let told = AdminText {
                    key,
                    text,
                    encoding,
                };
                node.tell_admin(&told, &branch, state, after);
            }
            state.table.finish_branch(branch.face, branch.rid);
        };
        node.change(change).finish();
    }
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
                let branch = branch.clone();
                let asked = ReportQuery {
                    node,
                    branch,
                    reports,
                };
                after.calls.push(Call::Later(Box::new(|| asked.answer())));
            }
            None => state.table.finish_branch(branch.face, branch.rid),
        }
    }

    /// Replies with a text.
    fn tell_admin(
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
        if let Ok(unsaid) = OutgoingReply::sample(told.key, QueryableId(0), &sample) {
            reply::reply_at_once(self, branch, &unsaid, state, after);
        }
    }

    /// Returns the description of the node, perhaps a recent one.
    fn described(&self, state: &mut State) -> Arc<str> {
        let begin = Instant::now();
        if let Some(known) = state.described.recent(begin) {
            return known;
        }
        let text = admin::describe(&self.overview(state)).to_string().into();
        state.described.keep(begin, &text);
        text
    }

    fn report(self: &Arc<Self>, report: Report) -> String {
        let node = Node {
            shared: Arc::clone(self),
            session: Arc::default(),
        };
        match report {
            Report::Metrics => metrics::text(&metrics::node::brief(&node.snapshot())),
            Report::Limits => admin::limits_text(&node.limits()),
            Report::Events => self.events.recent().to_string(),
        }
    }
}
