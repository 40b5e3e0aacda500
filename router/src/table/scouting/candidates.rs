// SPDX-License-Identifier: MIT OR Apache-2.0

//! The nodes that were heard of and are to be connected to: which attempt is next, and when. One attempt at a node at a
//! time, a bounded number of them at once, each failure makes the next one later, and after some the node is forgotten
//! until it is heard of again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::table::scouting::{
    dials::{DialLimits, Dials, Outcome, Verdict},
    host::LOCATORS_MAX,
};

/// A node that was heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub zid: ZenohId,
    /// Its role.
    pub whatami: WhatAmI,
    /// The places at which it can be reached.
    pub locators: Vec<Locator>,
    /// The neighbour that named it; `None` if it was found by multicast.
    pub teller: Option<ZenohId>,
}

/// An attempt to make: at each locator in turn, until one leads to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The node that must answer.
    pub zid: ZenohId,
    /// The places to try.
    pub locators: Vec<Locator>,
}

/// Whether there is a link to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// There is.
    Up,
    /// The node is introducing itself: it will be clear soon.
    Coming,
    /// There is none.
    None,
}

/// The bounds of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateLimits {
    /// Nodes that are remembered. Default 10 000. More are ignored and counted.
    pub nodes_max: usize,
    /// Attempts under way at once. Default 16; 1 for a client, which wants one link only.
    pub attempts_max: usize,
    /// Failures in a row after which a node is forgotten. Default 8.
    pub failures_max: u32,
    /// Nodes that one neighbour may have named. Default 2500. More are ignored and counted.
    pub nodes_per_neighbour_max: usize,
    /// Attempts that may fail.
    pub dials: DialLimits,
}

impl Default for CandidateLimits {
    fn default() -> Self {
        CandidateLimits {
            nodes_max: 10_000,
            attempts_max: 16,
            failures_max: 8,
            nodes_per_neighbour_max: 2500,
            dials: DialLimits::default(),
        }
    }
}

/// The counts of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CandidateCounts {
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Nodes that were given up after failures in a row.
    pub given_up: u64,
    /// Nodes that were ignored because too many are remembered.
    pub over_limit: u64,
    /// Attempts that were put off because others at the same place, at the same address, or for the same neighbour had
    /// failed.
    pub held_back: u64,
    /// Of these, those put off because of [`DialLimits`].
    pub failed_too_often: u64,
    /// Attempts at which another node answered than the one that was named.
    pub other_node: u64,
}

/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The time for which an attempt of one's own is more trusted than a link that is there.
const PREFERENCE: Duration = Duration::from_millis(500);

/// A link that ends sooner is wanted back, however it ended: where two nodes connect to each other at once, each may
/// have closed the link that the other one kept.
const SETTLED: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Candidate {
    whatami: WhatAmI,
    teller: Option<ZenohId>,
    locators: Vec<Locator>,
    failures: u32,
    /// When the next attempt may be made; of one under way, when it began; of a link, since when it is known.
    not_before: Instant,
    state: State,
    /// It said goodbye while an attempt was under way.
    has_left: bool,
}

/// The end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// The other node said Close, as one does that ends.
    Goodbye,
    /// This node closed it.
    Closed,
    /// It broke, or one of two was closed as one too many.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    UnderWay,
    Linked,
}

/// The nodes to connect to.
#[derive(Debug)]
pub struct Candidates {
    own: ZenohId,
    limits: CandidateLimits,
    nodes: HashMap<ZenohId, Candidate>,
    /// The number of nodes that each neighbour has named.
    named: HashMap<ZenohId, usize>,
    dials: Dials,
    under_way: usize,
    counts: CandidateCounts,
}

impl Candidate {
    fn link(&mut self, now: Instant) {
        self.state = State::Linked;
        self.not_before = now;
    }
}

impl Candidates {
    /// None yet, for the node `own`.
    pub fn new(own: ZenohId, limits: CandidateLimits) -> Self {
        Candidates {
            own,
            limits,
            nodes: HashMap::new(),
            named: HashMap::new(),
            dials: Dials::new(limits.dials),
            under_way: 0,
            counts: CandidateCounts::default(),
        }
    }

    /// A node was heard of. What is known of it is brought up to date; a pause after a failure goes on. True if an attempt
    /// at it may be [due](Candidates::due).
    pub fn hear(&mut self, found: Found, now: Instant) -> bool {
        let Found {
            zid,
            whatami,
            mut locators,
            teller,
        } = found;
        locators.truncate(LOCATORS_MAX);
        if locators.is_empty() || zid == self.own {
            return false;
        }
        if let Some(known) = self.nodes.get_mut(&zid) {
            known.whatami = whatami;
            known.locators = locators;
            known.has_left = false;
            return known.state == State::Waiting && known.not_before <= now;
        }
        let named = teller.and_then(|teller| self.named.get(&teller)).copied();
        let is_full = named.unwrap_or(0) >= self.limits.nodes_per_neighbour_max;
        if is_full || self.nodes.len() >= self.limits.nodes_max {
            self.counts.over_limit += 1;
            return false;
        }
        if let Some(teller) = teller {
            *self.named.entry(teller).or_default() += 1;
        }
        let candidate = Candidate {
            whatami,
            teller,
            locators,
            failures: 0,
            not_before: now,
            state: State::Waiting,
            has_left: false,
        };
        self.nodes.insert(zid, candidate);
        true
    }

    /// The attempts to make now. `link` tells whether there is a link already.
    pub fn due(&mut self, now: Instant, link: impl Fn(&ZenohId) -> Link) -> Vec<Attempt> {
        let mut ready: Vec<(WhatAmI, Instant, ZenohId)> = Vec::new();
        let mut under_way: HashMap<ZenohId, usize> = HashMap::new();
        for (zid, node) in &mut self.nodes {
            match (link(zid), node.state) {
                (Link::Up, State::Waiting) => node.link(now),
                (Link::None, State::Waiting) if node.not_before <= now => {
                    ready.push((node.whatami, node.not_before, *zid));
                }
                (_, State::UnderWay) => {
                    *under_way
                        .entry(node.teller.unwrap_or(self.own))
                        .or_default() += 1;
                }
                _ => {}
            }
        }
        // routers first, and among equals the one that waits longest
        ready.sort_by_key(|(whatami, since, zid)| (whatami.code(), *since, *zid));
        let each = (self.limits.attempts_max / 2).max(1);
        let mut attempts = Vec::new();
        for (_, _, zid) in ready {
            if self.under_way >= self.limits.attempts_max {
                break;
            }
            let teller = self.nodes.get(&zid).and_then(|node| node.teller);
            let of_teller = under_way.entry(teller.unwrap_or(self.own)).or_default();
            if (teller.is_some() && *of_teller >= each) || !self.may_try(&zid, now) {
                continue;
            }
            if let Some(node) = self.nodes.get_mut(&zid) {
                *of_teller += 1;
                node.state = State::UnderWay;
                node.not_before = now;
                self.under_way += 1;
                self.counts.attempts += 1;
                let locators = node.locators.clone();
                attempts.push(Attempt { zid, locators });
            }
        }
        attempts
    }

    /// Tells if some place of a node may be tried now; if not, it is put off, or forgotten where none ever may.
    fn may_try(&mut self, zid: &ZenohId, now: Instant) -> bool {
        let Some(node) = self.nodes.get_mut(zid) else {
            return false;
        };
        let verdicts = node
            .locators
            .iter()
            .map(|l| self.dials.verdict(zid, node.teller, l, now));
        let (mut next, mut is_spent) = (None, false);
        for verdict in verdicts {
            match verdict {
                Verdict::Now => return true,
                Verdict::At(at) | Verdict::Spent(at) => {
                    next = Some(next.map_or(at, |next: Instant| next.min(at)));
                    is_spent |= matches!(verdict, Verdict::Spent(_));
                }
                Verdict::Never => {}
            }
        }
        self.counts.held_back += 1;
        self.counts.failed_too_often += u64::from(is_spent);
        match next {
            Some(at) => node.not_before = at,
            None => {
                self.forget(zid);
                self.counts.given_up += 1;
            }
        }
        false
    }

    fn forget(&mut self, zid: &ZenohId) {
        let teller = self.nodes.remove(zid).and_then(|node| node.teller);
        if let Some(teller) = teller
            && let Some(count) = self.named.get_mut(&teller)
        {
            *count -= 1;
            if *count == 0 {
                self.named.remove(&teller);
            }
        }
    }

    /// A place of a node that is being connected to is tried now, if it may be. If so, [`tried`](Candidates::tried) follows.
    pub fn begin(&mut self, zid: &ZenohId, locator: &Locator, now: Instant) -> bool {
        let teller = self.nodes.get(zid).and_then(|node| node.teller);
        let begins = self.dials.begin(zid, teller, locator, now);
        self.counts.held_back += u64::from(!begins);
        begins
    }

    /// Notes the end of an attempt at a place.
    pub fn tried(&mut self, locator: &Locator, outcome: Outcome, now: Instant) {
        self.counts.other_node += u64::from(matches!(outcome, Outcome::Other(_)));
        self.dials.ended(locator, outcome, now);
    }

    /// Tells if a link that this node opens now is to stay rather than one of the same node that comes in: two nodes that
    /// hear of each other connect to each other at the same time, and the link of the greater id is kept. Data on the
    /// other one could get lost when it is closed, so it should not come up at all. One's own attempt counts for half a
    /// second: it may lead nowhere.
    pub fn prefers_own(&self, zid: &ZenohId, now: Instant) -> bool {
        self.own > *zid && self.own_attempt_until(zid, now).is_some()
    }

    /// Until when, at most, a link of that node that comes in has to wait for the end of this node's own attempt to connect
    /// there. Nodes of other makes keep whichever link is open first, whatever the ids: such a node may have taken this
    /// one's link by now, and would close the link that it opened itself as soon as that is open, too.
    pub fn waits_for_own_until(&self, zid: &ZenohId, now: Instant) -> Option<Instant> {
        match self.own < *zid {
            true => self.own_attempt_until(zid, now),
            false => None,
        }
    }

    /// Until when an attempt that is under way counts.
    fn own_attempt_until(&self, zid: &ZenohId, now: Instant) -> Option<Instant> {
        let node = self.nodes.get(zid)?;
        let end = node.not_before + PREFERENCE;
        (node.state == State::UnderWay && now < end).then_some(end)
    }

    /// The end of an attempt.
    pub fn ended(&mut self, zid: &ZenohId, is_linked: bool, now: Instant) {
        let Some(node) = self.nodes.get_mut(zid) else {
            return;
        };
        if node.state != State::UnderWay {
            return;
        }
        self.under_way -= 1;
        let has_left = std::mem::take(&mut node.has_left);
        match is_linked {
            true => node.link(now),
            false if has_left => self.forget(zid),
            false => {
                node.state = State::Waiting;
                self.counts.failures += 1;
                self.put_off(zid, now);
            }
        }
    }

    /// Tells if a node said goodbye while an attempt at it was under way.
    pub fn has_left(&self, zid: &ZenohId) -> bool {
        self.nodes.get(zid).is_some_and(|node| node.has_left)
    }

    /// A link is gone. A node that said goodbye is forgotten, as it has ended; so is one whose link this node closed, if the link
    /// had lasted.
    pub fn lost(&mut self, zid: &ZenohId, parting: Parting, now: Instant) {
        let Some(node) = self.nodes.get_mut(zid) else {
            return;
        };
        let lasted = now.saturating_duration_since(node.not_before) >= SETTLED;
        match node.state {
            State::UnderWay => node.has_left = parting == Parting::Goodbye,
            _ if parting == Parting::Goodbye => self.forget(zid),
            State::Linked if parting == Parting::Closed && lasted => self.forget(zid),
            before => {
                if before == State::Linked && lasted {
                    node.failures = 0;
                }
                node.state = State::Waiting;
                self.put_off(zid, now);
            }
        }
    }

    /// Puts the next attempt off, or gives the node up. Of two nodes that fail to connect to each other at the same time
    /// the one with the greater id is earlier the next time.
    fn put_off(&mut self, zid: &ZenohId, now: Instant) {
        let Some(node) = self.nodes.get_mut(zid) else {
            return;
        };
        node.failures += 1;
        if node.failures >= self.limits.failures_max {
            self.forget(zid);
            self.counts.given_up += 1;
            return;
        }
        let pause = FIRST_PAUSE * 2u32.saturating_pow(node.failures - 1).min(64);
        let pause = pause.min(LONGEST_PAUSE);
        node.not_before = match self.own > *zid {
            true => now + pause / 2,
            false => now + pause,
        };
    }

    /// When the next attempt is due, if none of those under way ends before.
    pub fn deadline(&self) -> Option<Instant> {
        if self.under_way >= self.limits.attempts_max {
            return None;
        }
        let waiting = self.nodes.values().filter(|n| n.state == State::Waiting);
        waiting.map(|node| node.not_before).min()
    }

    /// Counts the nodes that are remembered.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Tells if none is remembered.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Attempts under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> CandidateCounts {
        self.counts
    }
}
