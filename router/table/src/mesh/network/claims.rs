// SPDX-License-Identifier: MIT OR Apache-2.0

//! Claims: states of a router from a neighbour that does not lead to it. This node forwards them to
//! the neighbour that does, and so they reach the router itself, which refutes untrue ones: it
//! sends its own state with a greater count. Claims that stay unrefuted are believed after a while,
//! or as soon as the trees lead to the router through the neighbour that sent them.

use std::time::{Duration, Instant};

use zonda_codec::ZenohId;

use super::{
    CLOCKS_BEGIN, Heard, Network,
    hearing::Leads,
    news::{Claim, News, Said},
};
use crate::{
    deadline::Deadline,
    face_id::{Action, FaceId},
};

/// Time that a router has to refute a claim.
const REFUTED_WITHIN: Duration = Duration::from_secs(2);

/// Distance of a claim from the count of a router that counts from 1 beyond which it cannot be true.
const LEAP: u64 = 1000;

impl Network {
    /// Returns true if there is a claim about any router.
    pub(in crate::mesh) fn is_in_doubt(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Returns true if a claim came by a link.
    pub(in crate::mesh) fn has_claim_by(&self, face: FaceId) -> bool {
        self.claims.values().any(|claim| claim.face == face)
    }

    pub(super) fn claimed_links(&self, number: u16) -> usize {
        let claim = self.claims.get(&number);
        claim.map_or(0, |claim| claim.said.links.len())
    }

    pub(super) fn note_claim(
        &mut self,
        at: usize,
        number: u16,
        said: Said,
        to: ZenohId,
        news: &mut News,
    ) {
        let known = self.claims.get(&number);
        if known.is_some_and(|claim| claim.said.sn >= said.sn) {
            return;
        }
        // An impossible claim about a neighbour is refuted in its place, and not stored.
        if self.zid(number) == Some(to) && self.is_leap(number, said.sn) {
            if self.vouched.insert(number) && self.vouch(number, &said, news) {
                self.links[at].due.insert(number);
            }
            return;
        }
        // Any other claim replaces an older one, and the routers that it lists become known.
        let mentioned: Vec<ZenohId> = said.links.keys().copied().collect();
        self.listed = self.listed + mentioned.len() - self.claimed_links(number);
        let claim = Claim {
            said,
            to,
            face: self.links[at].face,
            since: None,
        };
        self.claims.insert(number, claim);
        for zid in mentioned {
            self.meet_anew(zid, news);
        }
        // The neighbour that leads to the router receives the claim.
        let mut links = self.links.iter_mut().rev();
        if let Some(link) = links.find(|link| link.zid == to) {
            link.due.insert(number);
            news.is_passed_on = true;
        }
    }

    /// Returns true if a count cannot be that of a neighbour which counts from 1.
    fn is_leap(&self, number: u16, sn: u64) -> bool {
        let count = self.own_count(number);
        count < CLOCKS_BEGIN && sn > count.saturating_add(LEAP)
    }

    /// Returns the count in the last state that a neighbour sent of itself.
    fn own_count(&self, number: u16) -> u64 {
        let zid = self.zid(number);
        let links = self.links.iter().filter(|link| Some(link.zid) == zid);
        links.map(|link| link.said).max().unwrap_or(0)
    }

    /// Refutes a claim about a neighbour that does not do so itself, as routers that count from 1
    /// do not. At most once a second: two neighbours of it may have different states of it for as
    /// long as one of their links is dead. False if the claim is true.
    fn vouch(&mut self, number: u16, said: &Said, news: &mut News) -> bool {
        let Some(node) = self.node_mut(number) else {
            return false;
        };
        if node.links == said.links {
            node.sn = node.sn.max(said.sn);
            return false;
        }
        node.sn = said.sn.saturating_add(1);
        news.changed.insert(number)
    }

    /// Drops an older claim, after a state with this count was believed.
    pub(super) fn drop_claim(&mut self, number: u16, sn: u64, news: &mut News) {
        if self.claims.get(&number).is_some_and(|c| c.said.sn <= sn) {
            self.forget_claim(number);
            news.is_thinner = true;
        }
    }

    pub(super) fn forget_claim(&mut self, number: u16) {
        if let Some(claim) = self.claims.remove(&number) {
            self.listed -= claim.said.links.len();
        }
    }

    /// Drops the claims that came by a link that is gone.
    pub(super) fn end_claims_by(&mut self, face: FaceId) {
        let ended = self.claims.iter().filter(|(_, claim)| claim.face == face);
        let ended: Vec<u16> = ended.map(|(number, _)| *number).collect();
        for number in ended {
            self.forget_claim(number);
        }
    }

    /// Believes the claims of neighbours that lead to their routers in the new trees.
    pub(in crate::mesh) fn regard_claims(
        &mut self,
        leads: impl Leads,
        actions: &mut Vec<Action>,
    ) -> Heard {
        let is_led = |network: &Network, number: u16, claim: &Claim| {
            let teller = network.links.iter().find(|link| link.face == claim.face);
            let leader = network.zid(number).and_then(|zid| leads(&zid));
            leader.is_none() || leader == teller.map(|link| link.zid)
        };
        self.settle_claims(is_led, actions)
    }

    /// Believes the claims that were not refuted in time.
    pub(super) fn believe_unrefuted(&mut self, now: Instant, actions: &mut Vec<Action>) -> Heard {
        for claim in self.claims.values_mut() {
            claim.since.get_or_insert(now);
        }
        let is_old = |network: &Network, number, claim: &Claim| {
            let since = claim.since.unwrap_or(now);
            since + network.refuted_within(number) <= now
        };
        self.settle_claims(is_old, actions)
    }

    /// Returns the time that a router has to refute a claim here. It is shorter for a neighbour, so
    /// that this node can refute in its place before routers further away believe the claim.
    fn refuted_within(&self, number: u16) -> Duration {
        match self.zid(number) {
            Some(zid) if self.is_own_word_known(&zid) => REFUTED_WITHIN / 2,
            _ => REFUTED_WITHIN,
        }
    }

    /// Believes the claims that are due, except those about neighbours, whose own states count.
    fn settle_claims(
        &mut self,
        is_due: impl Fn(&Network, u16, &Claim) -> bool,
        actions: &mut Vec<Action>,
    ) -> Heard {
        let due = self.claims.iter();
        let due = due.filter(|(number, claim)| is_due(self, **number, claim));
        let due: Vec<u16> = due.map(|(number, _)| *number).collect();
        // A claim about a neighbour that counts from 1 is refuted in its place.
        let mut news = News::default();
        for number in due {
            let is_neighbour = self
                .zid(number)
                .is_some_and(|zid| self.is_own_word_known(&zid));
            let Some(claim) = self.claims.remove(&number) else {
                continue;
            };
            self.listed -= claim.said.links.len();
            news.is_thinner = true;
            match is_neighbour {
                true if self.own_count(number) < CLOCKS_BEGIN => {
                    self.vouch(number, &claim.said, &mut news);
                }
                true => {}
                false => self.believe(number, claim.said, &mut news),
            }
        }
        // Routers that only a claim listed may be unreachable now.
        let is_news = self.follow(None, &news, actions);
        Heard {
            is_news,
            is_renumbered: false,
        }
    }

    /// Returns the time when the next claim is believed.
    pub(super) fn claim_deadline(&self) -> Option<Deadline> {
        let due = self.claims.iter().map(|(number, claim)| match claim.since {
            None => Deadline::Now,
            Some(since) => Deadline::At(since + self.refuted_within(*number)),
        });
        due.min()
    }
}
