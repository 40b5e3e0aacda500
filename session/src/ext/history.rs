// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration of an advanced subscriber: its queries for earlier samples, and its recovery of
//! lost ones.

use std::time::Duration;

use crate::query::{Parameters, TimeBound, TimeExpr, TimeRange, ZenohParameters};

/// Selection of the earlier samples that an [`AdvancedSubscriber`](super::AdvancedSubscriber)
/// queries when it is declared. Default: all that caches have.
///
/// ```
/// use zonda::ext::HistoryConfig;
///
/// let history = HistoryConfig::default().detect_late_publishers().max_samples(10).max_age(60.0);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryConfig {
    pub(super) late_publishers: bool,
    pub(super) max_samples: Option<usize>,
    pub(super) max_age: Option<f64>,
}

impl HistoryConfig {
    /// Queries publishers that come later, too, when their token comes (`publisher_detection`).
    pub fn detect_late_publishers(mut self) -> Self {
        self.late_publishers = true;
        self
    }

    /// Limits the samples of each publisher to the newest ones. 0 is refused.
    pub fn max_samples(mut self, depth: usize) -> Self {
        self.max_samples = Some(depth);
        self
    }

    /// Limits the age of the samples, in seconds. 0 is refused.
    pub fn max_age(mut self, seconds: f64) -> Self {
        self.max_age = Some(seconds);
        self
    }

    /// Returns the parameters of the query to the caches.
    pub(super) fn parameters(&self) -> Parameters<'static> {
        let mut parameters = Parameters::empty();
        if let Some(max) = self.max_samples {
            parameters.insert("_max", max.to_string());
        }
        if let Some(age) = self.max_age {
            parameters.set_time_range(TimeRange {
                start: TimeBound::Inclusive(TimeExpr::Now { offset_secs: -age }),
                end: TimeBound::Unbounded,
            });
        }
        parameters
    }
}

/// Recovery of lost samples by an [`AdvancedSubscriber`](super::AdvancedSubscriber). The subscriber
/// sees a gap between two numbers by itself; it learns from heartbeats or by periodic queries that
/// the newest samples are missing.
///
/// ```
/// use std::time::Duration;
/// use zonda::ext::RecoveryConfig;
///
/// let heard = RecoveryConfig::default().heartbeat();
/// let asked = RecoveryConfig::default().periodic_queries(Duration::from_secs(1));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RecoveryConfig<const CONFIGURED: bool = true> {
    pub(super) periodic_queries: Option<Duration>,
    pub(super) heartbeat: bool,
    pub(super) retention: Option<Duration>,
}

impl RecoveryConfig<false> {
    /// Queries every known publisher, once in this time, for samples after the last delivered one.
    pub fn periodic_queries(self, period: Duration) -> RecoveryConfig<true> {
        RecoveryConfig {
            periodic_queries: Some(period),
            heartbeat: false,
            retention: self.retention,
        }
    }

    /// Listens to the heartbeats of publishers.
    pub fn heartbeat(self) -> RecoveryConfig<true> {
        RecoveryConfig {
            periodic_queries: None,
            heartbeat: true,
            retention: self.retention,
        }
    }
}

impl<const CONFIGURED: bool> RecoveryConfig<CONFIGURED> {
    /// Sets how long a publisher is remembered after its last sample; the next one is then its
    /// first. A publisher with a live token is not forgotten. Default: an hour.
    pub fn retention_period(mut self, period: Duration) -> RecoveryConfig<CONFIGURED> {
        self.retention = Some(period);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_asked_for_as_documented() {
        let config = HistoryConfig::default();
        assert_eq!(config.parameters().as_str(), "");
        let config = config.max_samples(10).max_age(60.0);
        assert_eq!(config.parameters().as_str(), "_max=10;_time=[now(-60s)..]");
    }
}
