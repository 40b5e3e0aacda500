// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nodes that were found and are to be connected to, with the time of the next attempt at each. One
//! attempt at a node at a time, a bounded number of them at once; each failure makes the next one
//! later, and after some the node is removed until it is found again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::scouting::{
    dials::{DialLimits, DialPermission, Dials, Outcome},
    host::LOCATORS_MAX,
};

/// Node that was found.
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

/// Attempt to make: at each locator in turn, until one leads to the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The node that must answer.
    pub zid: ZenohId,
    /// The places to try.
    pub locators: Vec<Locator>,
}

/// State of the link to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// There is a link.
    Up,
    /// The node is in its handshake: its state will be known soon.
    Coming,
    /// There is no link.
    None,
}

/// Limits of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidateLimits {
    /// Nodes that are stored. Default 10 000. More are ignored and counted.
    pub nodes_max: usize,
    /// Attempts under way at once. Default 16; 1 for a client, which needs one link only.
    pub attempts_max: usize,
    /// Failures in a row after which a node is removed. Default 8.
    pub failures_max: u32,
    /// Nodes that one neighbour may have named. Default 2500. More are ignored and counted.
    pub nodes_per_neighbour_max: usize,
    /// Limits of failed attempts.
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

/// Counts of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CandidateCounts {
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Nodes that were removed after failures in a row.
    pub given_up: u64,
    /// Nodes that were ignored because too many are stored.
    pub over_limit: u64,
    /// Attempts that were put off because of failures at the same place, at the same address, or
    /// for the same neighbour.
    pub held_back: u64,
    /// Attempts among these that were put off because of [`DialLimits`].
    pub failed_too_often: u64,
    /// Attempts at which another node answered than the one that was named.
    pub other_node: u64,
}

/// Pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Time for which an attempt of this node has precedence over an existing link.
const PREFERENCE: Duration = Duration::from_millis(500);

/// Age of a link below which it is opened again, however it ended: when two nodes connect to each
/// other at once, each may have closed the link that the other one kept.
const SETTLED: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Candidate {
    whatami: WhatAmI,
    teller: Option<ZenohId>,
    locators: Vec<Locator>,
    failures: u32,
    /// Time of the next attempt; begin of an attempt under way; for a link, the time since which it
    /// is known.
    not_before: Instant,
    state: DialState,
    /// True if it closed a link with Close while an attempt was under way.
    has_left: bool,
    /// True if the last attempt ended because a link that the node opens is on its way.
    opens_link: bool,
}

/// End of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnding {
    /// The other node sent Close, as a node does that stops.
    Goodbye,
    /// This node closed it.
    Closed,
    /// It broke, or one of two was closed as one too many.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DialState {
    Waiting,
    UnderWay,
    Linked,
}

/// Nodes to connect to.
#[derive(Debug)]
pub struct Candidates {
    own: ZenohId,
    limits: CandidateLimits,
    nodes: HashMap<ZenohId, Candidate>,
    /// Number of nodes that each neighbour has named.
    named: HashMap<ZenohId, usize>,
    dials: Dials,
    under_way: usize,
    counts: CandidateCounts,
}

impl Candidate {
    fn link(&mut self, now: Instant) {
        self.state = DialState::Linked;
        self.not_before = now;
    }
}

impl Candidates {
    /// Returns an empty set of candidates for the node `own`.
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

    /// Records a node that was found, or updates it; a pause after a failure continues. True if an
    /// attempt at it may be [due](Candidates::due).
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
        // A known node keeps its failures.
        if let Some(known) = self.nodes.get_mut(&zid) {
            known.whatami = whatami;
            known.locators = locators;
            known.has_left = false;
            return known.state == DialState::Waiting && known.not_before <= now;
        }
        // A new one counts against the limits of all and of its neighbour.
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
            state: DialState::Waiting,
            has_left: false,
            opens_link: false,
        };
        self.nodes.insert(zid, candidate);
        true
    }

    /// Returns the attempts to make now. `link` returns the state of the link to a node.
    pub fn due(&mut self, now: Instant, link: impl Fn(&ZenohId) -> Link) -> Vec<Attempt> {
        // Collect the nodes that wait, and the attempts under way for each neighbour.
        let mut ready: Vec<(WhatAmI, Instant, ZenohId)> = Vec::new();
        let mut under_way: HashMap<ZenohId, usize> = HashMap::new();
        for (zid, node) in &mut self.nodes {
            match (link(zid), node.state) {
                (Link::Up, DialState::Waiting) => node.link(now),
                (Link::None, DialState::Waiting) if node.not_before <= now => {
                    ready.push((node.whatami, node.not_before, *zid));
                }
                (_, DialState::UnderWay) => {
                    *under_way
                        .entry(node.teller.unwrap_or(self.own))
                        .or_default() += 1;
                }
                _ => {}
            }
        }
        // routers first, and among equals the one that waits longest
        ready.sort_by_key(|(whatami, since, zid)| (whatami.code(), *since, *zid));
        // Begin attempts, at most half of them for one neighbour.
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
                node.state = DialState::UnderWay;
                node.not_before = now;
                self.under_way += 1;
                self.counts.attempts += 1;
                let locators = node.locators.clone();
                attempts.push(Attempt { zid, locators });
            }
        }
        attempts
    }

    /// Returns true if some place of a node may be tried now; if not, the node is put off, or
    /// removed if none ever may.
    fn may_try(&mut self, zid: &ZenohId, now: Instant) -> bool {
        let Some(node) = self.nodes.get_mut(zid) else {
            return false;
        };
        // One place suffices; else the earliest time of all counts.
        let verdicts = node
            .locators
            .iter()
            .map(|l| self.dials.verdict(zid, node.teller, l, now));
        let (mut next, mut is_spent) = (None, false);
        for verdict in verdicts {
            match verdict {
                DialPermission::Now => return true,
                DialPermission::At(at) | DialPermission::Spent(at) => {
                    next = Some(next.map_or(at, |next: Instant| next.min(at)));
                    is_spent |= matches!(verdict, DialPermission::Spent(_));
                }
                DialPermission::Never => {}
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

    /// Begins an attempt at a place of a node that is being connected to, if allowed. If so,
    /// [`tried`](Candidates::tried) follows.
    pub fn begin(&mut self, zid: &ZenohId, locator: &Locator, now: Instant) -> bool {
        let teller = self.nodes.get(zid).and_then(|node| node.teller);
        let begins = self.dials.begin(zid, teller, locator, now);
        self.counts.held_back += u64::from(!begins);
        begins
    }

    /// Records the outcome of an attempt at a place.
    pub fn tried(&mut self, locator: &Locator, outcome: Outcome, now: Instant) {
        self.counts.other_node += u64::from(matches!(outcome, Outcome::Other(_)));
        self.dials.ended(locator, outcome, now);
    }

    /// Returns true if a link that this node opens now has precedence over an incoming one of the
    /// same node: two nodes that find each other connect at the same time, and the link of the
    /// greater id is kept. Data on the other one could be lost when it is closed, so it should not
    /// come up at all. An attempt of this node has precedence for half a second, as it may lead nowhere.
    pub fn prefers_own(&self, zid: &ZenohId, now: Instant) -> bool {
        self.own > *zid && self.own_attempt_until(zid, now).is_some()
    }

    /// Returns the latest time until which an incoming link of that node has to wait for the end of
    /// this node's own attempt to connect there. Other implementations keep the link that is open
    /// first, whatever the ids: such a node may have accepted this node's link by now, and would
    /// close the link that it opened itself as soon as that is open, too.
    pub fn waits_for_own_until(&self, zid: &ZenohId, now: Instant) -> Option<Instant> {
        match self.own < *zid {
            true => self.own_attempt_until(zid, now),
            false => None,
        }
    }

    /// Returns the time until which an attempt under way has precedence.
    fn own_attempt_until(&self, zid: &ZenohId, now: Instant) -> Option<Instant> {
        let node = self.nodes.get(zid)?;
        let end = node.not_before + PREFERENCE;
        (node.state == DialState::UnderWay && now < end).then_some(end)
    }

    /// Records the end of an attempt, and the state of the link to the node afterwards.
    pub fn ended(&mut self, zid: &ZenohId, link: Link, now: Instant) {
        let Some(node) = self.nodes.get_mut(zid) else {
            return;
        };
        if node.state != DialState::UnderWay {
            return;
        }
        self.under_way -= 1;
        let has_left = std::mem::take(&mut node.has_left);
        node.opens_link = link == Link::Coming;
        match link {
            Link::Up => node.link(now),
            _ if has_left => self.forget(zid),
            _ => {
                node.state = DialState::Waiting;
                self.counts.failures += 1;
                self.put_off(zid, now);
            }
        }
    }

    /// Returns true if a node sent Close while an attempt at it was under way.
    pub fn has_left(&self, zid: &ZenohId) -> bool {
        self.nodes.get(zid).is_some_and(|node| node.has_left)
    }

    /// Records the end of a link. A node that sent Close is removed, as it has stopped; so is one
    /// whose link this node closed, if the link had lasted.
    pub fn lost(&mut self, zid: &ZenohId, parting: LinkEnding, now: Instant) {
        let Some(node) = self.nodes.get_mut(zid) else {
            return;
        };
        let lasted = now.saturating_duration_since(node.not_before) >= SETTLED;
        match node.state {
            DialState::UnderWay => node.has_left = parting == LinkEnding::Goodbye,
            _ if parting == LinkEnding::Goodbye => self.forget(zid),
            DialState::Linked if parting == LinkEnding::Closed && lasted => self.forget(zid),
            before => {
                if before == DialState::Linked && lasted {
                    node.failures = 0;
                }
                node.state = DialState::Waiting;
                self.put_off(zid, now);
            }
        }
    }

    /// Puts the next attempt off, or removes the node. Of two nodes that fail to connect to each
    /// other at the same time the one with the greater id tries first the next time.
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

    /// Returns the time of the next attempt, if none of those under way ends before.
    pub fn deadline(&self) -> Option<Instant> {
        if self.under_way >= self.limits.attempts_max {
            return None;
        }
        let waiting = self
            .nodes
            .values()
            .filter(|n| n.state == DialState::Waiting);
        waiting.map(|node| node.not_before).min()
    }

    /// Returns true if a link to some node is to be expected soon: the first attempt at it is under way
    /// or due, or the node opens one. `link` returns the state of the link to a node.
    pub fn expects_links(&self, now: Instant, link: impl Fn(&ZenohId) -> Link) -> bool {
        self.nodes.iter().any(|(zid, node)| match node.state {
            DialState::UnderWay => node.failures == 0,
            DialState::Waiting if node.opens_link => link(zid) != Link::Up,
            DialState::Waiting => node.failures == 0 && node.not_before <= now,
            DialState::Linked => false,
        })
    }

    /// Returns the number of stored nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if no node is stored.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of attempts under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> CandidateCounts {
        self.counts
    }
}
