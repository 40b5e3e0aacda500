// SPDX-License-Identifier: MIT OR Apache-2.0

//! Routers that were lost a moment ago.

use std::time::{Duration, Instant};

use zonda_codec::ZenohId;

/// Time for which a lost router stays away.
pub(super) const AWAY: Duration = Duration::from_millis(250);

/// Routers that were lost a moment ago.
#[derive(Debug, Default)]
pub(crate) struct RecentlyLost(Vec<(ZenohId, Instant)>);

impl RecentlyLost {
    pub(crate) fn note(&mut self, zid: ZenohId, now: Instant) {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < AWAY;
        self.0.retain(|(other, at)| *other != zid && is_recent(at));
        self.0.push((zid, now));
    }

    /// Returns the time for which this router still has to stay away.
    pub(super) fn rest(&self, zid: ZenohId, now: Instant) -> Option<Duration> {
        let (_, at) = self.0.iter().find(|(other, _)| *other == zid)?;
        let rest = AWAY.checked_sub(now.saturating_duration_since(*at))?;
        (!rest.is_zero()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_lost_stays_away_for_a_while() {
        let (zid, other) = (ZenohId::random_from(1), ZenohId::random_from(2));
        let (mut lost, begin) = (RecentlyLost::default(), Instant::now());
        let after = |ms| begin + Duration::from_millis(ms);
        assert_eq!(lost.rest(zid, begin), None);
        lost.note(zid, begin);
        assert_eq!(lost.rest(zid, after(50)), Some(Duration::from_millis(200)));
        assert_eq!(lost.rest(other, after(50)), None);
        lost.note(zid, after(100));
        assert_eq!(lost.rest(zid, after(300)), Some(Duration::from_millis(50)));
        assert_eq!(lost.rest(zid, after(350)), None);
        lost.note(other, after(400));
        assert_eq!(lost.0.len(), 1, "old ones are forgotten");
    }
}
