// SPDX-License-Identifier: MIT OR Apache-2.0

//! Link states from a neighbour.
//!
//! A neighbour is believed about itself, and about the routers that this node reaches through it. A
//! different state of any other router is not believed at once: see [`claims`](super::claims).

use std::collections::BTreeMap;

use zonda_codec::{LinkState, LinkStateList, WhatAmI, ZenohId};

use super::{
    CLOCKS_BEGIN, Heard, LINKS_MAX, Network, ROUTERS_MAX, STATES_MAX, TEXT_BYTES_MAX, TEXTS_MAX,
    news::{News, Said},
};
use crate::{
    face_id::{Action, FaceId},
    mesh::trees::ITSELF,
    scouting::{LOCATORS_MAX, is_loopback},
};

/// Largest lead of the count of a router over the clock, in ms: own counts begin with the time. The
/// clock of a small machine is at 1970 until it is set, so this is longer than any clock is wrong;
/// it leaves room to refute greater counts.
const AHEAD_MAX: u64 = 1 << 50;

/// Function that returns the neighbour which leads to a router, according to the trees.
pub(in crate::mesh) trait Leads: Fn(&ZenohId) -> Option<ZenohId> {}

impl<T: Fn(&ZenohId) -> Option<ZenohId>> Leads for T {}

/// Use that this node makes of a state.
enum StateUse {
    Ignored,
    /// Claim, to be sent first to the neighbour that leads to the router.
    Claimed(ZenohId),
    Believed,
}

impl Network {
    /// Sets the time in ms since 1970, which counts of changes begin with.
    pub(in crate::mesh) fn set_clock(&mut self, now: u64) {
        self.clock = Some(now);
    }

    /// Handles a message of a neighbour.
    pub(in crate::mesh) fn hear(
        &mut self,
        face: FaceId,
        states: &LinkStateList<'_>,
        leads: impl Leads,
        actions: &mut Vec<Action>,
    ) -> Heard {
        let mut heard = Heard::default();
        let Some(at) = self.links.iter().position(|link| link.face == face) else {
            return heard;
        };
        self.over_limit += states.len().saturating_sub(STATES_MAX) as u64;
        // Ids come first: a state may list routers that are introduced after it.
        for state in states.iter().take(STATES_MAX) {
            if let Some(zid) = state.zid {
                heard.is_renumbered |= self.bind(at, state.psid, zid);
            }
        }
        // Then the states, up to the limit of links in one message.
        let mut news = News::default();
        let mut room = LINKS_MAX;
        for state in states.iter().take(STATES_MAX) {
            match room.checked_sub(state.links.len()) {
                Some(left) => room = left,
                None => {
                    self.over_limit += 1;
                    continue;
                }
            }
            self.learn(at, &state, &leads, &mut news);
        }
        // Routers without a way are removed once all states are known.
        heard.is_news = self.follow(Some(at), &news, actions);
        heard
    }

    /// Removes the routers that cannot be reached any more, and sends what is new to the
    /// neighbours. True if anything is.
    pub(super) fn follow(
        &mut self,
        from: Option<usize>,
        news: &News,
        actions: &mut Vec<Action>,
    ) -> bool {
        let is_news = !news.new.is_empty() || !news.changed.is_empty();
        if news.is_thinner || !news.new.is_empty() {
            self.forget_unreachable();
        }
        if is_news || news.is_refuted || news.is_passed_on {
            self.spread(from, news, actions);
        }
        is_news || news.is_thinner
    }

    /// Binds a number of the neighbour to a router. True if it stood for another one.
    fn bind(&mut self, at: usize, psid: u64, zid: ZenohId) -> bool {
        let nodes = &mut self.links[at].nodes;
        // A number has to fit into the field of a message.
        match u16::try_from(psid) {
            Ok(number) if nodes.len() < 2 * ROUTERS_MAX || nodes.contains_key(&number) => {
                let before = nodes.insert(number, zid);
                before.is_some_and(|before| before != zid)
            }
            _ => {
                self.over_limit += 1;
                false
            }
        }
    }

    fn bound(&self, at: usize, psid: u64) -> Option<ZenohId> {
        let number = u16::try_from(psid).ok()?;
        self.links[at].nodes.get(&number).copied()
    }

    /// Handles one state.
    fn learn(&mut self, at: usize, state: &LinkState<'_>, leads: &impl Leads, news: &mut News) {
        let Some(zid) = self.bound(at, state.psid) else {
            return;
        };
        // States of this node and of the neighbour have rules of their own.
        if self.number(&zid) == Some(ITSELF) {
            return self.hear_of_itself(at, state, news);
        }
        let Some(number) = self.meet_anew(zid, news) else {
            return;
        };
        if self.links[at].zid == zid {
            return self.hear_own_word(at, number, state, news);
        }
        // A state of any other router is believed, or becomes a claim.
        match self.judge(at, number, state, leads, news) {
            StateUse::Ignored => {}
            StateUse::Claimed(to) => {
                let said = self.read(at, self.claimed_links(number), state);
                self.note_claim(at, number, said, to, news);
            }
            StateUse::Believed => {
                let said = self.read(at, self.believed_links(number), state);
                self.believe(number, said, news);
            }
        }
    }

    /// Believes a neighbour about itself even if there is a newer state of it: that may be from
    /// before a restart, or untrue. The other routers then receive the neighbour's state with a
    /// greater count.
    fn hear_own_word(&mut self, at: usize, number: u16, state: &LinkState<'_>, news: &mut News) {
        if state.sn <= self.links[at].said {
            return;
        }
        self.links[at].said = state.sn;
        let mut said = self.read(at, self.believed_links(number), state);
        let is_ahead = self.is_ahead(state.sn);
        let clock = self.clock.unwrap_or(0);
        let Some(node) = self.node(number) else {
            return;
        };
        let is_same = said.links == node.links && node.sn > 0;
        said.sn = match state.sn > node.sn && !is_ahead {
            true => state.sn,
            false if is_same => node.sn,
            false if is_ahead => clock.max(node.sn.saturating_add(1)),
            false => node.sn.saturating_add(1),
        };
        self.believe(number, said, news);
    }

    /// Handles a state of this node itself with a count greater than its own: sent after a restart
    /// with a clock that is behind, or by a malicious node. The true state is sent with a greater count.
    fn hear_of_itself(&mut self, at: usize, state: &LinkState<'_>, news: &mut News) {
        let own = self.itself_mut().sn;
        if state.sn < own {
            return;
        }
        if self.is_ahead(state.sn) {
            self.over_limit += 1;
            return;
        }
        let said = self.read(at, self.believed_links(ITSELF), state);
        let itself = self.itself_mut();
        let invents = said.links.keys().any(|zid| !itself.links.contains_key(zid));
        let denies = said.links.is_empty() && !itself.links.is_empty();
        match state.sn > own {
            // A neighbour that does not know all routers yet leaves some out.
            false if !invents && !denies => {}
            true if said.links == itself.links => itself.sn = state.sn,
            _ => {
                itself.sn = state.sn.saturating_add(1);
                news.is_refuted = true;
            }
        }
    }

    /// Decides about a state of a router other than the neighbour.
    fn judge(
        &mut self,
        at: usize,
        number: u16,
        state: &LinkState<'_>,
        leads: &impl Leads,
        news: &News,
    ) -> StateUse {
        // Only newer states count; a router that was lost may have begun again at 1.
        let Some(node) = self.node(number) else {
            return StateUse::Ignored;
        };
        let (zid, known) = (node.zid, node.sn);
        let is_found_again = news.new.contains(&number) && state.sn > 0;
        let may_begin_anew = is_found_again && known < CLOCKS_BEGIN;
        if state.sn <= known && !may_begin_anew {
            return StateUse::Ignored;
        }
        // A count that could not be refuted is ignored.
        if self.is_ahead(state.sn) {
            self.over_limit += 1;
            return StateUse::Ignored;
        }
        // Neighbours speak for themselves; other routers through the neighbour that leads to them.
        if self.is_own_word_known(&zid) {
            return StateUse::Claimed(zid);
        }
        let teller = self.links[at].zid;
        let leader = leads(&zid).filter(|leader| *leader != teller && known > 0);
        match leader.filter(|leader| self.link_to(leader).is_some()) {
            Some(leader) => StateUse::Claimed(leader),
            None => StateUse::Believed,
        }
    }

    /// Returns true if a router is a neighbour that has sent a state of itself.
    pub(super) fn is_own_word_known(&self, zid: &ZenohId) -> bool {
        let mut links = self.links.iter();
        links.any(|link| link.zid == *zid && link.said > 0)
    }

    fn is_ahead(&self, sn: u64) -> bool {
        let most = self.clock.map(|clock| clock.saturating_add(AHEAD_MAX));
        most.is_some_and(|most| sn > most)
    }

    fn believed_links(&self, number: u16) -> usize {
        self.node(number).map_or(0, |node| node.links.len())
    }

    /// Reads a state; the routers that it lists are left out unless they were introduced.
    fn read(&mut self, at: usize, before: usize, state: &LinkState<'_>) -> Said {
        let usable = state.locators.map(|texts| {
            let short = texts.iter().take(TEXTS_MAX);
            let short = short.filter(|text| text.len() <= TEXT_BYTES_MAX);
            let parsed = short.filter_map(|text| text.parse().ok());
            let usable = parsed.filter(|locator| !is_loopback(locator));
            usable.take(LOCATORS_MAX).collect()
        });
        Said {
            sn: state.sn,
            links: self.listed(at, before, state),
            whatami: state.whatami,
            locators: usable,
            marks_trees: state.marks_trees,
        }
    }

    /// Reads the routers that a state lists and that were introduced, up to the limit. Lost routers
    /// make room.
    fn listed(
        &mut self,
        at: usize,
        before: usize,
        state: &LinkState<'_>,
    ) -> BTreeMap<ZenohId, u16> {
        let wanted = state.links.len().min(ROUTERS_MAX);
        while self.listed + wanted > LINKS_MAX + before && self.forget_oldest() {}
        let room = (LINKS_MAX + before).saturating_sub(self.listed);
        let room = room.min(ROUTERS_MAX);
        self.over_limit += state.links.len().saturating_sub(room) as u64;
        let mut weights = state.weights.iter().flat_map(|weights| weights.iter());
        let mut listed = BTreeMap::new();
        for psid in state.links.iter().take(room) {
            // The codec has truncated weights to 16 bits.
            let weight = weights.next().and_then(|weight| u16::try_from(weight).ok());
            if let Some(zid) = self.bound(at, psid) {
                listed.insert(zid, weight.unwrap_or(0));
            }
        }
        listed
    }

    /// Replaces the state of a router.
    pub(super) fn believe(&mut self, number: u16, said: Said, news: &mut News) {
        self.drop_claim(number, said.sn, news);
        self.is_reshaped |= self.moves(number, &said.links);
        let Some(node) = self.node_mut(number) else {
            return;
        };
        node.sn = said.sn;
        node.marks_trees = said.marks_trees;
        let role = said.whatami.or(node.whatami).unwrap_or(WhatAmI::Router);
        node.whatami = Some(role);
        if let Some(locators) = said.locators {
            node.locators = locators;
        }
        let mentioned: Vec<ZenohId> = said.links.keys().copied().collect();
        let before = std::mem::replace(&mut node.links, said.links);
        news.is_thinner |= before.keys().any(|zid| !node.links.contains_key(zid));
        self.listed = self.listed + mentioned.len() - before.len();
        news.changed.insert(number);
        for zid in mentioned {
            self.meet_anew(zid, news);
        }
    }

    pub(super) fn meet_anew(&mut self, zid: ZenohId, news: &mut News) -> Option<u16> {
        let is_known = self.numbers.contains_key(&zid);
        let number = self.meet(zid)?;
        if !is_known {
            // The router is back with its last state.
            let node = self.node(number);
            self.is_reshaped |= node.is_some_and(|node| !node.links.is_empty());
            news.new.insert(number);
            self.find_again(number, news);
        }
        Some(number)
    }

    /// Inserts the lost routers that a router which is found again lists.
    fn find_again(&mut self, number: u16, news: &mut News) {
        let mut next = vec![number];
        while let Some(number) = next.pop() {
            let links = self.node(number).into_iter().flat_map(|n| n.links.keys());
            let lost = links.filter(|zid| self.lost.contains_key(zid));
            for zid in lost.copied().collect::<Vec<_>>() {
                if let Some(number) = self.meet(zid) {
                    news.new.insert(number);
                    next.push(number);
                }
            }
        }
    }
}
