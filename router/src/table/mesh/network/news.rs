// SPDX-License-Identifier: MIT OR Apache-2.0

//! News of the routers: as a neighbour gives them, as long as they are in doubt, and on their way to the neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::table::face_id::FaceId;

/// The state of a router as a neighbour gives it.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) sn: u64,
    pub(super) links: BTreeMap<ZenohId, u16>,
    pub(super) whatami: Option<WhatAmI>,
    pub(super) locators: Option<Vec<Locator>>,
}

/// The numbers of the routers that a neighbour had something new to say about.
#[derive(Debug, Default)]
pub(super) struct News {
    /// No state mentioned them before.
    pub(super) new: BTreeSet<u16>,
    pub(super) changed: BTreeSet<u16>,
    /// A router lists fewer links than before.
    pub(super) is_thinner: bool,
    /// A neighbour was wrong about this node itself.
    pub(super) is_refuted: bool,
    /// A neighbour is to hear of a claim.
    pub(super) is_passed_on: bool,
}

/// News that are not believed yet.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) said: Said,
    /// The neighbour that is to hear of it.
    pub(super) to: ZenohId,
    /// The link that it came by.
    pub(super) face: FaceId,
    /// `None` as long as the clock was not looked at.
    pub(super) since: Option<Instant>,
}

/// The time of the next message to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pace {
    /// At once.
    #[default]
    Over,
    /// It was sent so many bytes, and the clock was not looked at since.
    Begins(usize),
    Until(Instant),
}

impl Pace {
    pub(super) fn note(&mut self, bytes: usize) {
        *self = match *self {
            Pace::Begins(before) => Pace::Begins(before + bytes),
            Pace::Over | Pace::Until(_) => Pace::Begins(bytes),
        };
    }
}
