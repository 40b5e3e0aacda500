// SPDX-License-Identifier: MIT OR Apache-2.0
//! Silence of a router in a group with another router.
//!
//! The reference never sends to a group again once it has seen two routers there. A router
//! therefore first listens for another one, and sends no JOIN while that one is alive. Any node can
//! claim to be a router, so the claim is believed only as far as this purpose needs:
//!
//! * A router that has sent a JOIN continues: a node that receives both has received it first.
//! * Each JOIN is believed for three intervals, whatever lease it announces.
//! * Two simultaneous claims are not of routers of the reference, which would have left the group
//!   after the first.
//! * Two routers with a link to each other would deliver everything twice. The one with the greater
//!   id sends no JOIN.

use std::time::{Duration, Instant};

use zonda_codec::ZenohId;

use crate::protocol::parameters::LEASE_MAX;

/// Intervals between JOINs for which one JOIN is believed.
const BELIEVED: u32 = 3;

/// JOIN of another router.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouterJoin {
    pub(super) zid: ZenohId,
    /// Lease of the router, as far as it is accepted.
    pub(super) lease: Duration,
    /// Set if this node has a link to a node with this id.
    pub(super) is_linked: bool,
}

/// Knowledge of a node about other routers in a group.
#[derive(Debug)]
pub(super) struct OtherRouters {
    own: ZenohId,
    believed_max: Duration,
    until: Option<Instant>,
    has_spoken: bool,
    /// Router for which this one is silent, and the end of the silence.
    other: Option<(ZenohId, Instant)>,
}

impl OtherRouters {
    /// Creates the initial state of a node with the id `own` that sends a JOIN once in an
    /// `interval`; a router first listens for another one.
    pub(super) fn at_first(
        own: ZenohId,
        is_router: bool,
        interval: Duration,
        now: Instant,
    ) -> OtherRouters {
        OtherRouters {
            own,
            believed_max: interval.saturating_mul(BELIEVED),
            until: is_router.then(|| later(now, interval.mul_f32(1.2))),
            has_spoken: false,
            other: None,
        }
    }

    /// Notes the claim of another router. Returns true if this one is silent because of it.
    pub(super) fn hear_router(&mut self, claim: RouterJoin, now: Instant) -> bool {
        let until = later(now, claim.lease.min(self.believed_max));
        if claim.is_linked && claim.zid < self.own {
            self.until = self.until.max(Some(until));
            return true;
        }
        if self.has_spoken {
            return false;
        }
        match self.other {
            Some((zid, until)) if zid != claim.zid && now < until => {
                self.until = None;
                self.has_spoken = true;
                false
            }
            _ => {
                self.other = Some((claim.zid, until));
                self.until = self.until.max(Some(until));
                true
            }
        }
    }

    /// Returns true if this node may send a JOIN at `now`, and counts it as sent.
    pub(super) fn may_speak(&mut self, now: Instant) -> bool {
        let may = self.until.is_none_or(|until| now >= until);
        self.has_spoken |= may;
        may
    }
}

fn later(now: Instant, wait: Duration) -> Instant {
    now.checked_add(wait).unwrap_or(now + LEASE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(2);
    const HOUR: Duration = Duration::from_secs(3600);

    fn zid(number: u128) -> ZenohId {
        ZenohId::random_from(number)
    }

    fn quiet(now: Instant) -> OtherRouters {
        OtherRouters {
            own: zid(5),
            believed_max: INTERVAL * BELIEVED,
            until: Some(now + INTERVAL),
            has_spoken: false,
            other: None,
        }
    }

    fn claim(number: u128) -> RouterJoin {
        RouterJoin {
            zid: zid(number),
            lease: HOUR,
            is_linked: false,
        }
    }

    #[test]
    fn a_router_that_was_there_first_goes_on() {
        let now = Instant::now();
        let mut quiet = quiet(now);
        assert!(!quiet.may_speak(now));
        let later = now + INTERVAL;
        assert!(quiet.may_speak(later));
        assert!(!quiet.hear_router(claim(1), later));
        assert!(quiet.may_speak(later));
    }

    #[test]
    fn a_claim_is_believed_for_three_intervals_at_most() {
        let now = Instant::now();
        let mut quiet = quiet(now);
        assert!(quiet.hear_router(claim(1), now));
        assert!(!quiet.may_speak(now + INTERVAL * 3 - Duration::from_millis(1)));
        assert!(quiet.may_speak(now + INTERVAL * 3));
        let mut short = super::tests::quiet(now);
        let lease = INTERVAL * 2;
        assert!(short.hear_router(RouterJoin { lease, ..claim(1) }, now));
        assert!(short.may_speak(now + lease));
    }

    #[test]
    fn two_claims_at_a_time_are_not_believed() {
        let now = Instant::now();
        let mut quiet = quiet(now);
        assert!(quiet.hear_router(claim(1), now));
        assert!(quiet.hear_router(claim(1), now));
        assert!(!quiet.hear_router(claim(2), now));
        assert!(quiet.may_speak(now));
    }

    #[test]
    fn of_two_routers_with_a_link_one_keeps_quiet() {
        let now = Instant::now();
        let mut quiet = quiet(now);
        assert!(quiet.may_speak(now + INTERVAL));
        let linked = |number| RouterJoin {
            is_linked: true,
            ..claim(number)
        };
        assert!(!quiet.hear_router(linked(9), now + INTERVAL));
        assert!(quiet.hear_router(linked(1), now + INTERVAL));
        assert!(!quiet.may_speak(now + INTERVAL));
        assert!(quiet.may_speak(now + INTERVAL * 4));
    }
}
