// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sends neighbours the newest state of each router that has changed: at once to a neighbour that
//! received nothing for a while, and every 50 ms otherwise, or less often where states are many. A
//! router that changes without end takes a bounded share of the links of a mesh, and data never
//! waits for more than one such message.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use super::{
    Heard, Network, ROUTERS_MAX,
    news::{Claim, News, Pace},
};
use crate::{
    deadline::Deadline,
    face_id::{Action, FaceId},
    link_states::{Entry, OutgoingLinkStates},
    mesh::trees::ITSELF,
};

/// Pause after a message to a neighbour.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes for each of which, sent at once, the pause is one pause longer.
const PAUSE_BYTES: usize = 16 * 1024;

/// Longest pause, in pauses.
const PAUSES_MAX: usize = 32;

/// Time between two refutations in the place of a neighbour that does not refute by itself.
const VOUCHED: Duration = Duration::from_secs(1);

impl Network {
    /// Queues changes for the neighbours: new routers for all, changed ones for all but the sender
    /// of the change and the router itself.
    pub(super) fn spread(&mut self, from: Option<usize>, news: &News, actions: &mut Vec<Action>) {
        for at in 0..self.links.len() {
            let own = self.number(&self.links[at].zid);
            let changed = news.changed.iter();
            let changed = changed.filter(|number| Some(at) != from && Some(**number) != own);
            let itself = news.is_refuted.then_some(&ITSELF);
            let numbers = news.new.iter().chain(changed).chain(itself);
            let numbers: BTreeSet<u16> = numbers.copied().collect();
            self.links[at].due.extend(numbers);
        }
        self.tell_due(actions);
    }

    /// Queues this node's own state for all neighbours but one.
    pub(super) fn tell_itself(&mut self, except: Option<FaceId>, actions: &mut Vec<Action>) {
        for link in &mut self.links {
            if Some(link.face) != except {
                link.due.insert(ITSELF);
            }
        }
        self.tell_due(actions);
    }

    /// Sends the queued states to the neighbours whose pause is over.
    pub(super) fn tell_due(&mut self, actions: &mut Vec<Action>) {
        for at in 0..self.links.len() {
            if self.links[at].pace == Pace::Over {
                self.tell_rest(at, actions);
            }
        }
    }

    /// Sends the queued states to every neighbour. Messages along the new trees follow them.
    pub(in crate::mesh) fn tell_all_due(&mut self, actions: &mut Vec<Action>) {
        for at in 0..self.links.len() {
            self.tell_rest(at, actions);
        }
    }

    fn tell_rest(&mut self, at: usize, actions: &mut Vec<Action>) {
        let due = std::mem::take(&mut self.links[at].due);
        if !due.is_empty() {
            let due: Vec<u16> = due.into_iter().collect();
            self.tell(at, &due, actions);
        }
    }

    /// Ends pauses that are over at this time, and believes claims that were not refuted.
    pub(in crate::mesh) fn look(&mut self, now: Instant, actions: &mut Vec<Action>) -> Heard {
        // Send to the neighbours whose pause has ended, and set the end of a new pause.
        for at in 0..self.links.len() {
            match self.links[at].pace {
                Pace::Over => {}
                Pace::Begins(bytes) => {
                    let pauses = (1 + bytes / PAUSE_BYTES).min(PAUSES_MAX);
                    let pause = PAUSE * u32::try_from(pauses).unwrap_or(1);
                    self.links[at].pace = Pace::Until(now + pause);
                }
                Pace::Until(until) if until <= now => {
                    self.links[at].pace = Pace::Over;
                    self.tell_rest(at, actions);
                }
                Pace::Until(_) => {}
            }
        }
        // This node may refute in the place of a neighbour again after a while.
        if !self.vouched.is_empty() {
            let since = *self.vouched_since.get_or_insert(now);
            if since + VOUCHED <= now {
                self.vouched.clear();
                self.vouched_since = None;
            }
        }
        match self.claims.is_empty() {
            true => Heard::default(),
            false => self.believe_unrefuted(now, actions),
        }
    }

    /// Returns the time at which [`look`](Self::look) has work to do.
    pub(in crate::mesh) fn deadline(&self) -> Option<Deadline> {
        let paces = self.links.iter().filter_map(|link| match link.pace {
            Pace::Over => None,
            Pace::Begins(_) => Some(Deadline::Now),
            Pace::Until(until) => Some(Deadline::At(until)),
        });
        let vouched = match self.vouched_since {
            _ if self.vouched.is_empty() => None,
            None => Some(Deadline::Now),
            Some(since) => Some(Deadline::At(since + VOUCHED)),
        };
        paces.chain(self.claim_deadline()).chain(vouched).min()
    }

    /// Sends the states of these routers, and of those that they list and the neighbour does not
    /// know: all in one message, as the receiver removes routers without a way at its end.
    pub(super) fn tell(&mut self, at: usize, numbers: &[u16], actions: &mut Vec<Action>) {
        // Collect the routers that the states list, as long as the neighbour does not know them.
        let mut list: Vec<u16> = numbers.to_vec();
        let mut listed: HashSet<u16> = numbers.iter().copied().collect();
        let mut next = 0;
        while let Some(number) = list.get(next) {
            let links = self.node(*number).into_iter().flat_map(|n| n.links.keys());
            let claim = self.claim_for(at, *number);
            let claimed = claim.into_iter().flat_map(|claim| claim.said.links.keys());
            let unknown = links.chain(claimed).filter_map(|zid| self.number(zid));
            let unknown = unknown.filter(|number| !self.links[at].told.contains(number));
            let unknown: Vec<u16> = unknown.filter(|number| listed.insert(*number)).collect();
            list.extend(unknown);
            next += 1;
        }
        // Send their states, with ids where the number is new.
        let mut telling = OutgoingLinkStates::default();
        for number in list {
            if let Some(entry) = self.entry(at, number) {
                telling.add(entry);
                self.links[at].told.insert(number);
            }
        }
        // The pause depends on the bytes.
        let begin = actions.len();
        telling.send(self.links[at].face, ROUTERS_MAX, actions);
        let sent = actions.get(begin..).unwrap_or(&[]);
        let bytes = sent.iter().map(Action::weight).sum();
        self.links[at].pace.note(bytes);
    }

    /// Returns the claim about a router, if this neighbour is to receive it.
    fn claim_for(&self, at: usize, number: u16) -> Option<&Claim> {
        let claim = self.claims.get(&number)?;
        (claim.to == self.links.get(at)?.zid).then_some(claim)
    }

    /// Returns the state of a router for a neighbour. Locators are sent of this node and its
    /// neighbours only.
    fn entry(&self, at: usize, number: u16) -> Option<Entry> {
        let (node, link) = (self.node(number)?, self.links.get(at)?);
        // The neighbour that leads to the router receives the claim about it, if there is one.
        let (sn, listed, marks_trees) = match self.claim_for(at, number) {
            Some(Claim { said, .. }) => (said.sn, &said.links, said.marks_trees),
            None => (node.sn, &node.links, node.marks_trees),
        };
        // Links are named by number, and have weights only if any is set.
        let numbered = |(zid, weight): (_, &u16)| Some((self.number(zid)?, *weight));
        let links: Vec<(u16, u16)> = listed.iter().filter_map(numbered).collect();
        let is_near = number == ITSELF || self.link_to(&node.zid).is_some();
        Some(Entry {
            is_gateway: false,
            marks_trees,
            psid: u64::from(number),
            sn,
            zid: (!link.told.contains(&number)).then_some(node.zid),
            whatami: node.whatami,
            locators: match is_near {
                true => node.locators.clone(),
                false => Vec::new(),
            },
            links: links.iter().map(|(number, _)| u64::from(*number)).collect(),
            weights: match links.iter().any(|(_, weight)| *weight != 0) {
                true => links.iter().map(|(_, weight)| u64::from(*weight)).collect(),
                false => Vec::new(),
            },
        })
    }
}
