// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several links to one neighbour: whether one more may join, and which there are.

use std::sync::{Arc, Weak};

use zonda_codec::{Locator, transport::reason};
use zonda_runtime::AnyRuntime;
use zonda_transport::{driver::Joining, protocol::parameters::Established};

use crate::table::FaceId;

/// A connection that stands: the face, and which of its links if there may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) face: FaceId,
    pub(crate) link: Option<u64>,
}

/// A connection that may have several links.
pub(crate) trait Several: Send + Sync {
    /// The links that stand, oldest first.
    fn standing(&self) -> Vec<u64>;

    /// Makes a link part of the connection; `None` if that has ended.
    fn join(self: Arc<Self>, runtime: &AnyRuntime, joining: Joining) -> Option<u64>;
}

/// The links of a face that may have several.
pub(crate) struct Links {
    bundle: Weak<dyn Several>,
    /// What the first link agreed on; the others must have agreed on the same.
    agreed: Established,
    /// Admitted and about to join.
    joining: usize,
    /// Every link that has joined, with its two ends; those that are gone included until the next one joins.
    places: Vec<(u64, Locator, Locator)>,
}

impl Links {
    pub(crate) fn new(bundle: Weak<dyn Several>, agreed: Established) -> Self {
        Links {
            bundle,
            agreed,
            joining: 0,
            places: Vec::new(),
        }
    }

    /// Keeps a place for one more link, or gives the close reason that turns it away.
    pub(crate) fn reserve(&mut self, newcomer: &Established, links_max: usize) -> Result<(), u8> {
        if !is_alike(&self.agreed, newcomer) {
            return Err(reason::INVALID);
        }
        let standing = self.alive().len();
        if standing == 0 || standing + self.joining >= links_max {
            return Err(reason::MAX_LINKS);
        }
        self.joining += 1;
        Ok(())
    }

    pub(crate) fn note(&mut self, link: u64, local: Locator, remote: Locator) {
        let alive = self.alive();
        self.places.retain(|(id, ..)| alive.contains(id));
        self.places.push((link, local, remote));
    }

    pub(crate) fn alive(&self) -> Vec<u64> {
        self.bundle
            .upgrade()
            .map_or_else(Vec::new, |several| several.standing())
    }

    /// Gives a place back.
    pub(crate) fn release(&mut self) {
        self.joining = self.joining.saturating_sub(1);
    }

    /// The connection, while it stands.
    pub(crate) fn connection(&self) -> Option<Arc<dyn Several>> {
        self.bundle.upgrade()
    }

    /// Both ends of each link that stands, oldest first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &(u64, Locator, Locator)> {
        let alive = self.alive();
        self.places
            .iter()
            .filter(move |(id, ..)| alive.contains(id))
    }
}

/// Whether two links come from the same node and may carry the same connection.
fn is_alike(first: &Established, newcomer: &Established) -> bool {
    let fixed = |e: &Established| (e.whatami, e.sn_mask, e.qos, e.patch);
    newcomer.options.multilink().is_some()
        && first.options.are_alike(&newcomer.options)
        && fixed(first) == fixed(newcomer)
        && first.batch_size <= newcomer.batch_size
}
