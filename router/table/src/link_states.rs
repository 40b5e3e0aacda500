// SPDX-License-Identifier: MIT OR Apache-2.0

//! Outgoing link states: collected, then encoded into as few messages as the caller allows.

use zonda_codec::{
    Encode, LinkState, LinkStates, Locator, Locators, Numbers, Oam, OamBody, Qos, WhatAmI, ZenohId,
};

use crate::{Action, FaceId, message};

/// Link state of a node.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) psid: u64,
    pub(super) sn: u64,
    /// `None` if the receiver knows the node by its number.
    pub(super) zid: Option<ZenohId>,
    pub(super) whatami: Option<WhatAmI>,
    /// Left out if empty.
    pub(super) locators: Vec<Locator>,
    pub(super) links: Vec<u64>,
    /// True if the node is a gateway of the sender.
    pub(super) is_gateway: bool,
    /// True if the node marks messages with its trees.
    pub(super) marks_trees: bool,
    /// One weight for each link, or none.
    pub(super) weights: Vec<u64>,
}

/// Link states to send.
#[derive(Debug, Default)]
pub(super) struct OutgoingLinkStates(Vec<Entry>);

impl OutgoingLinkStates {
    pub(super) fn add(&mut self, node: Entry) {
        self.0.push(node);
    }

    /// Sends the states to one neighbour, at most `states_max` in one message; returns the number
    /// of messages.
    pub(super) fn send(&self, face: FaceId, states_max: usize, actions: &mut Vec<Action>) -> u64 {
        let mut sent = 0;
        // The locators are borrowed as texts while their states are encoded.
        for part in self.0.chunks(states_max) {
            let texts: Vec<Vec<&str>> = part
                .iter()
                .map(|entry| entry.locators.iter().map(Locator::as_str).collect())
                .collect();
            let states: Vec<LinkState<'_>> = part
                .iter()
                .zip(&texts)
                .map(|(entry, texts)| LinkState {
                    psid: entry.psid,
                    sn: entry.sn,
                    zid: entry.zid,
                    whatami: entry.whatami,
                    locators: (!texts.is_empty()).then(|| Locators::new(texts)),
                    is_gateway: entry.is_gateway,
                    marks_trees: entry.marks_trees,
                    links: Numbers::new(&entry.links),
                    weights: (!entry.weights.is_empty()).then(|| Numbers::new(&entry.weights)),
                })
                .collect();
            // A part that cannot be encoded is left out.
            let Ok(body) = LinkStates(&states).to_vec() else {
                continue;
            };
            let oam = Oam {
                id: Oam::LINK_STATE,
                qos: Qos::DECLARE,
                timestamp: None,
                body: OamBody::Buf(&body),
            };
            message::send(face, &oam, actions);
            sent += 1;
        }
        sent
    }
}
