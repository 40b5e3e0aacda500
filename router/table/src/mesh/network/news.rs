// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes of routers: as a neighbour sends them, as claims, and on their way to the neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::face_id::FaceId;

/// State of a router as a neighbour sent it.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) sn: u64,
    pub(super) links: BTreeMap<ZenohId, u16>,
    pub(super) whatami: Option<WhatAmI>,
    pub(super) locators: Option<Vec<Locator>>,
    pub(super) marks_trees: bool,
}

/// Changes of one message, by the numbers of the routers.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Routers that no state listed before.
    pub(super) new: BTreeSet<u16>,
    pub(super) changed: BTreeSet<u16>,
    /// True if a router lists fewer links than before.
    pub(super) is_thinner: bool,
    /// True if a neighbour's state of this node itself was wrong.
    pub(super) is_refuted: bool,
    /// True if a claim is to be sent to a neighbour.
    pub(super) is_passed_on: bool,
}

/// State that is not believed yet.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) said: Said,
    /// The neighbour that is to receive it.
    pub(super) to: ZenohId,
    /// The link that it came by.
    pub(super) face: FaceId,
    /// `None` until the next call with a time.
    pub(super) since: Option<Instant>,
}

/// Time of the next message to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Pace {
    /// At once.
    #[default]
    Over,
    /// A message of so many bytes was sent; the next call with a time sets the end of the pause.
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
