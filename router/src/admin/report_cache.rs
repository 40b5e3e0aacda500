// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reports of a node, and the cache of its admin space's latest texts.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::KeyExpr;
use zonda_transport::sync::Mutex;

use crate::admin::question::JSON;

/// Lifetime of a cached text, as a multiple of the time that it took to build.
const REUSED: u32 = 20;

/// A report of a node: one key of its admin space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The root: the node's id, locators and connections, as JSON.
    Root,
    /// The root with the counts of what was sent and received.
    RootWithStats,
    /// The node's counters, as OpenMetrics text.
    Metrics,
    /// The limits, as JSON.
    Limits,
    /// The latest events of connections, as JSON.
    Events,
    /// The network of routers, or of peers if this node is one, as Graphviz.
    NorthGraph,
    /// The network of a router's peers, as Graphviz.
    PeerGraph,
}

impl Report {
    /// All reports.
    pub(crate) const ALL: [Report; 7] = [
        Report::Root,
        Report::RootWithStats,
        Report::Metrics,
        Report::Limits,
        Report::Events,
        Report::NorthGraph,
        Report::PeerGraph,
    ];

    pub(crate) const fn encoding(self) -> &'static str {
        match self {
            Report::Root | Report::RootWithStats | Report::Limits | Report::Events => JSON,
            Report::Metrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Report::NorthGraph | Report::PeerGraph => "text/plain",
        }
    }

    /// Returns the key of the report on a node with this root.
    pub(crate) fn key(self, root: &KeyExpr<'_>) -> Option<KeyExpr<'static>> {
        let below = match self {
            Report::Root | Report::RootWithStats => return Some(root.clone().into_owned()),
            Report::Metrics => "metrics",
            Report::Limits => "limits",
            Report::Events => "events",
            Report::NorthGraph => "linkstate/north",
            Report::PeerGraph => "linkstate/south:0:peer",
        };
        root.join(below).ok()
    }
}

/// A text that is reused while it is younger than [`REUSED`] times its build time. Queries for it,
/// however frequent, use at most a twentieth of a processor.
#[derive(Debug, Default)]
struct CachedText(Option<BuiltText>);

#[derive(Debug)]
struct BuiltText {
    text: Arc<str>,
    at: Instant,
    took: Duration,
}

impl CachedText {
    /// Returns the text if it is recent.
    fn recent(&self, now: Instant) -> Option<Arc<str>> {
        let known = self.0.as_ref()?;
        let age = now.saturating_duration_since(known.at);
        let is_recent = age < known.took.saturating_mul(REUSED);
        is_recent.then(|| Arc::clone(&known.text))
    }

    /// Stores a text whose build began at `begin` and ends now.
    fn keep(&mut self, begin: Instant, text: &Arc<str>) {
        let at = Instant::now();
        self.0 = Some(BuiltText {
            text: Arc::clone(text),
            at,
            took: at.saturating_duration_since(begin),
        });
    }
}

/// The latest reports of a node.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<[CachedText; Report::ALL.len()]>);

impl Reports {
    pub(crate) fn text(&self, report: Report, make: impl FnOnce() -> String) -> Arc<str> {
        // A recent report is reused.
        let begin = Instant::now();
        let known = self.0.lock()[report as usize].recent(begin);
        if let Some(known) = known {
            return known;
        }
        // Otherwise a new one is built without the lock, and cached.
        let text: Arc<str> = make().into();
        self.0.lock()[report as usize].keep(begin, &text);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_took_long_is_used_again() {
        let reports = Reports::default();
        let slow = || {
            std::thread::sleep(Duration::from_millis(20));
            "slow".to_owned()
        };
        assert_eq!(&*reports.text(Report::Limits, slow), "slow");
        let again = reports.text(Report::Limits, || "made anew".to_owned());
        assert_eq!(&*again, "slow");
        let other = reports.text(Report::Events, || "another".to_owned());
        assert_eq!(&*other, "another");
    }
}
