// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reports of a node, and the cache of its admin space's latest texts.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::KeyExpr;
use zonda_transport::sync::Mutex;

/// Lifetime of a cached text, as a multiple of the time that it took to build.
const REUSED: u32 = 20;

/// A report of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The node's counters, as OpenMetrics text.
    Metrics,
    /// The limits, as JSON.
    Limits,
    /// The latest events of connections, as JSON.
    Events,
}

impl Report {
    const ALL: [Report; 3] = [Report::Metrics, Report::Limits, Report::Events];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Report::Metrics => "metrics",
            Report::Limits => "limits",
            Report::Events => "events",
        }
    }

    pub(crate) const fn encoding(self) -> &'static str {
        match self {
            Report::Metrics => "text/plain",
            Report::Limits | Report::Events => "application/json",
        }
    }

    /// Returns the reports that a key names.
    pub(crate) fn named(key: &KeyExpr<'_>, root: &KeyExpr<'_>) -> Vec<(Report, KeyExpr<'static>)> {
        let last = key.as_str().rsplit('/').next();
        let named = Report::ALL
            .into_iter()
            .filter(|report| last == Some(report.name()));
        let keyed = named.filter_map(|report| Some((report, root.join(report.name()).ok()?)));
        keyed.filter(|(_, own)| key.intersects(own)).collect()
    }
}

/// A text that is reused while it is younger than [`REUSED`] times its build time. Queries for it,
/// however frequent, use at most a twentieth of a processor.
#[derive(Debug, Default)]
pub(crate) struct CachedText(Option<BuiltText>);

#[derive(Debug)]
struct BuiltText {
    text: Arc<str>,
    at: Instant,
    took: Duration,
}

impl CachedText {
    /// Returns the text if it is recent.
    pub(crate) fn recent(&self, now: Instant) -> Option<Arc<str>> {
        let known = self.0.as_ref()?;
        let age = now.saturating_duration_since(known.at);
        let is_recent = age < known.took.saturating_mul(REUSED);
        is_recent.then(|| Arc::clone(&known.text))
    }

    /// Stores a text whose build began at `begin` and ends now.
    pub(crate) fn keep(&mut self, begin: Instant, text: &Arc<str>) {
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
    fn only_a_key_that_names_a_report_asks_for_it() {
        let root = KeyExpr::new("@/a1/router").expect("a key");
        let named = |key: &str| {
            let key = KeyExpr::new(key.to_owned()).expect("a key");
            let named = Report::named(&key, &root);
            named
                .into_iter()
                .map(|(report, _)| report)
                .collect::<Vec<_>>()
        };
        assert_eq!(named("@/a1/router/metrics"), [Report::Metrics]);
        assert_eq!(named("@/*/router/limits"), [Report::Limits]);
        assert_eq!(named("@/*/*/events"), [Report::Events]);
        for other in [
            "@/**",
            "@/a1/router/**",
            "@/b2/router/metrics",
            "@/a1/router/*",
        ] {
            assert_eq!(named(other), [], "{other}");
        }
    }

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
