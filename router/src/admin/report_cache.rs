// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reports of a node, with a cache of the latest ones.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::KeyExpr;
use zonda_transport::sync::Mutex;

/// Lifetime of a cached report, as a multiple of the time that it took to build.
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

/// A cached report.
#[derive(Debug, Clone)]
struct CachedReport {
    text: Arc<str>,
    at: Instant,
    took: Duration,
}

/// The latest reports of a node. Queries for one, however frequent, use at most a twentieth of a
/// processor.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<[Option<CachedReport>; Report::ALL.len()]>);

impl Reports {
    pub(crate) fn text(&self, report: Report, make: impl FnOnce() -> String) -> Arc<str> {
        // A recent report is reused.
        let begin = Instant::now();
        let known = self.0.lock()[report as usize].clone();
        if let Some(known) = known
            && begin.saturating_duration_since(known.at) < known.took.saturating_mul(REUSED)
        {
            return known.text;
        }
        // Otherwise a new one is built without the lock, and cached.
        let text: Arc<str> = make().into();
        let at = Instant::now();
        let took = at.saturating_duration_since(begin);
        let made = CachedReport {
            text: Arc::clone(&text),
            at,
            took,
        };
        self.0.lock()[report as usize] = Some(made);
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
