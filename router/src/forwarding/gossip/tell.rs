// SPDX-License-Identifier: MIT OR Apache-2.0

//! Link states on their way out: collected, then encoded into as few messages as is reasonable.

use zonda_codec::{
    Encode, LinkState, LinkStates, Locator, Locators, Numbers, Oam, OamBody, Qos, WhatAmI, ZenohId,
};

use crate::forwarding::{Action, FaceId, message};

/// States in one message; a long list goes in several.
const STATES_MAX: usize = 256;

#[derive(Debug)]
struct Entry {
    psid: u64,
    sn: u64,
    zid: ZenohId,
    whatami: WhatAmI,
    locators: Vec<Locator>,
    links: Vec<u64>,
}

/// States to send.
#[derive(Debug, Default)]
pub(super) struct Telling(Vec<Entry>);

impl Telling {
    /// Adds a node; locators that are empty are left out.
    pub(super) fn add(
        &mut self,
        (psid, sn): (u64, u64),
        (zid, whatami): (ZenohId, WhatAmI),
        locators: Vec<Locator>,
        links: &[u64],
    ) {
        self.0.push(Entry {
            psid,
            sn,
            zid,
            whatami,
            locators,
            links: links.to_vec(),
        });
    }

    /// Sends them to one neighbour; tells how many messages that took.
    pub(super) fn send(&self, face: FaceId, actions: &mut Vec<Action>) -> u64 {
        let mut sent = 0;
        for part in self.0.chunks(STATES_MAX) {
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
                    zid: Some(entry.zid),
                    whatami: Some(entry.whatami),
                    locators: (!texts.is_empty()).then(|| Locators::new(texts)),
                    is_gateway: false,
                    links: Numbers::new(&entry.links),
                    weights: None,
                })
                .collect();
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
