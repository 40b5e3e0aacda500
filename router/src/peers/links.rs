// SPDX-License-Identifier: MIT OR Apache-2.0

//! Several links to one neighbour: admission of one more, and the list of present ones.

use std::sync::{Arc, Weak};

use zonda_codec::{Locator, QosLink, transport::reason};
use zonda_runtime::AnyRuntime;
use zonda_transport::{driver::JoiningLink, protocol::parameters::Established};

use crate::table::FaceId;

/// Connection that stands: the face, and the number of the link if there may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkHandle {
    pub(crate) face: FaceId,
    pub(crate) link: Option<u64>,
}

/// Connection that may have several links.
pub(crate) trait MultilinkConnection: Send + Sync {
    /// Returns the links that stand, oldest first.
    fn standing(&self) -> Vec<u64>;

    /// Adds a link to the connection; `None` if the connection has ended.
    fn join(self: Arc<Self>, runtime: &AnyRuntime, joining: JoiningLink) -> Option<u64>;
}

/// Links of a face that may have several.
pub(crate) struct Links {
    bundle: Weak<dyn MultilinkConnection>,
    /// Parameters of the first link; further links must have agreed on the same.
    agreed: Established,
    /// Number of links that are admitted and about to join.
    joining: usize,
    /// Links that have joined; those that have ended are removed when the next one joins.
    places: Vec<(u64, LinkPlace)>,
}

/// Ends of a link, and the priorities and reliability that it is for.
#[derive(Debug, Clone)]
pub(crate) struct LinkPlace {
    pub(crate) local: Locator,
    pub(crate) remote: Locator,
    pub(crate) qos_link: Option<QosLink>,
}

impl Links {
    pub(crate) fn new(bundle: Weak<dyn MultilinkConnection>, agreed: Established) -> Self {
        Links {
            bundle,
            agreed,
            joining: 0,
            places: Vec::new(),
        }
    }

    /// Reserves a place for one more link, or returns the close reason that refuses it.
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

    pub(crate) fn note(&mut self, link: u64, place: LinkPlace) {
        let alive = self.alive();
        self.places.retain(|(id, ..)| alive.contains(id));
        self.places.push((link, place));
    }

    pub(crate) fn alive(&self) -> Vec<u64> {
        self.bundle
            .upgrade()
            .map_or_else(Vec::new, |several| several.standing())
    }

    /// Releases a place.
    pub(crate) fn release(&mut self) {
        self.joining = self.joining.saturating_sub(1);
    }

    /// Returns the connection, while it stands.
    pub(crate) fn connection(&self) -> Option<Arc<dyn MultilinkConnection>> {
        self.bundle.upgrade()
    }

    /// Returns the places of the links that stand, oldest first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &LinkPlace> {
        let alive = self.alive();
        let standing = self.places.iter();
        let standing = standing.filter(move |(id, _)| alive.contains(id));
        standing.map(|(_, place)| place)
    }
}

/// Returns true if two links come from the same node and may carry the same connection.
fn is_alike(first: &Established, newcomer: &Established) -> bool {
    let fixed = |e: &Established| (e.whatami, e.sn_mask, e.qos, e.patch);
    newcomer.options.multilink().is_some()
        && first.options.are_alike(&newcomer.options)
        && fixed(first) == fixed(newcomer)
        && first.batch_size <= newcomer.batch_size
}
