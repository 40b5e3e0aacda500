// SPDX-License-Identifier: MIT OR Apache-2.0

//! Slow consumers: neighbours whose links were closed because their sources waited for them too long.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    time::{Duration, Instant},
};

use zonda_codec::{Locator, ZenohId};
use zonda_transport::protocol::patience::Isolation;

use super::Node;

/// How long it is remembered that a neighbour was a slow consumer.
const MEMORY: Duration = Duration::from_secs(60);

/// Slow consumers that are remembered.
const REMEMBERED_MAX: usize = 256;

/// Slow consumers that get a line in the log within [`MEMORY`].
const NEWS_MAX: usize = 3;

/// The stall budget is halved at most this often.
const HALVINGS_MAX: u32 = 3;

/// The slow consumers of the last minute, and how many there have been.
#[derive(Debug, Default)]
pub(super) struct SlowConsumers {
    recent: VecDeque<(Instant, ZenohId, Locator)>,
    total: u64,
}

impl SlowConsumers {
    /// Notes that the link to a neighbour was closed because it was too slow. True if that is worth a line in the log: the
    /// first time within a minute for one id, and for [`NEWS_MAX`] ids at most.
    pub(super) fn note(&mut self, now: Instant, (zid, remote): (ZenohId, &Locator)) -> bool {
        self.forget(now);
        let mut recent = self.recent.iter();
        let is_news = self.recent.len() < NEWS_MAX && !recent.any(|(_, id, _)| *id == zid);
        self.total += 1;
        if self.recent.len() >= REMEMBERED_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, zid, remote.clone()));
        is_news
    }

    /// The terms for a neighbour that has just connected: each time within the last minute that its id, or its host, was
    /// too slow halves its stall budget.
    pub(super) fn terms(
        &mut self,
        now: Instant,
        (zid, remote): (ZenohId, &Locator),
        full: Isolation,
    ) -> Isolation {
        let halvings = self.known(now, zid, remote).min(HALVINGS_MAX);
        Isolation {
            stall: full.stall / (1 << halvings),
            ..full
        }
    }

    fn forget(&mut self, now: Instant) {
        self.recent
            .retain(|(at, ..)| now.saturating_duration_since(*at) <= MEMORY);
    }

    fn known(&mut self, now: Instant, zid: ZenohId, remote: &Locator) -> u32 {
        self.forget(now);
        let host = host(remote);
        let known = self
            .recent
            .iter()
            .filter(|(_, id, place)| *id == zid || (host.is_some() && self::host(place) == host));
        u32::try_from(known.count()).unwrap_or(u32::MAX)
    }
}

/// The host of a locator, without the port.
fn host(locator: &Locator) -> Option<std::net::IpAddr> {
    let address: SocketAddr = locator.address().parse().ok()?;
    Some(address.ip())
}

impl Node {
    /// How many links this node has closed because the neighbour took too little while others waited for it
    /// (`isolation/*`).
    #[must_use]
    pub fn slow_consumers(&self) -> u64 {
        match self.shared.is_forked() {
            true => 0,
            false => self.shared.state.lock().slow.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_return_within_a_minute_halves_the_budget() {
        let mut slow = SlowConsumers::default();
        let full = Isolation::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let place = |text: &str| -> Locator { text.parse().expect("a locator") };
        let (one, other) = (ZenohId::random_from(1), ZenohId::random_from(2));
        let (here, there) = (place("tcp/10.0.0.1:1000"), place("tcp/10.0.0.2:1000"));
        let stall = |slow: &mut SlowConsumers, at, who| slow.terms(at, who, full).stall;
        assert_eq!(stall(&mut slow, begin, (one, &here)), full.stall);
        assert!(slow.note(begin, (one, &here)));
        assert_eq!(stall(&mut slow, at(1), (one, &there)), full.stall / 2);
        assert_eq!(stall(&mut slow, at(1), (other, &here)), full.stall / 2);
        assert_eq!(stall(&mut slow, at(1), (other, &there)), full.stall);
        assert!(!slow.note(at(2), (one, &here)));
        assert!(slow.note(at(2), (other, &here)));
        for _ in 0..1000 {
            assert!(!slow.note(at(3), (one, &here)));
        }
        assert_eq!(stall(&mut slow, at(4), (one, &here)), full.stall / 8);
        assert_eq!(stall(&mut slow, at(70), (one, &here)), full.stall);
        assert_eq!(slow.total, 1003);
    }
}
