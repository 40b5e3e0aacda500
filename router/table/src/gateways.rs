// SPDX-License-Identifier: MIT OR Apache-2.0

//! Other gateways of a peer that this node serves: routers of the same mesh that the peer is linked
//! to as well.
//!
//! The gateway with the greatest id forwards the peer's messages into the mesh; the other gateways
//! drop their copies, as the messages reach them by the mesh. A message that entered the mesh at
//! one of the gateways is delivered to the peer by that gateway, any other message by the gateway
//! with the greatest id.

use std::collections::BTreeSet;

use zonda_codec::ZenohId;

/// Node in the link states of a peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownNode {
    pub(super) zid: ZenohId,
    /// True if the node is a router, so that it may be a gateway of that peer.
    pub(super) is_router: bool,
}

/// Number of routers that one peer may list. Of more the greatest ids count.
const LISTED_MAX: usize = 64;

/// Gateways of one peer in addition to this node. Other neighbours have none.
#[derive(Debug, Default)]
pub(super) struct Gateways {
    /// Routers that the peer is linked to, by its own link states.
    listed: BTreeSet<ZenohId>,
    /// The listed routers that this node reaches.
    others: BTreeSet<ZenohId>,
    /// True if one of these has precedence over this node.
    is_left: bool,
}

impl Gateways {
    /// Replaces the routers that the peer is linked to.
    pub(super) fn list(&mut self, routers: impl Iterator<Item = ZenohId>) {
        self.listed = routers.collect();
        while self.listed.len() > LISTED_MAX {
            self.listed.pop_first();
        }
    }

    /// Returns true if the peer has listed any router.
    pub(super) fn has_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// Updates which of the listed routers this node, `own`, reaches. True if anything has changed.
    pub(super) fn regard(&mut self, own: ZenohId, is_reached: impl Fn(&ZenohId) -> bool) -> bool {
        let reached = self.listed.iter().filter(|zid| **zid != own);
        let others: BTreeSet<ZenohId> = reached.filter(|zid| is_reached(zid)).copied().collect();
        if others == self.others {
            return false;
        }
        self.is_left = others.last().is_some_and(|greatest| *greatest > own);
        self.others = others;
        true
    }

    /// Returns true if the peer has other gateways.
    pub(super) fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// Returns true if another gateway forwards the peer's messages.
    pub(super) const fn is_left(&self) -> bool {
        self.is_left
    }

    /// Returns true if another gateway delivers messages that entered the mesh at this router to
    /// the peer.
    pub(super) fn leave(&self, root: &ZenohId) -> bool {
        self.is_left || self.others.contains(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> ZenohId {
        ZenohId::random_from(number)
    }

    fn of(own: u128, listed: &[u128], reached: &[u128]) -> Gateways {
        let mut gateways = Gateways::default();
        gateways.list(listed.iter().map(|number| id(*number)));
        let reached: Vec<ZenohId> = reached.iter().map(|number| id(*number)).collect();
        gateways.regard(id(own), |zid| reached.contains(zid));
        gateways
    }

    #[test]
    fn the_greatest_that_is_reached_passes_on() {
        assert!(!of(2, &[1, 2], &[1]).is_left());
        assert!(of(2, &[1, 2, 3], &[1, 3]).is_left());
        assert!(!of(2, &[1, 2, 3], &[1]).is_left());
        assert!(!of(2, &[2, 3], &[]).are_several());
        // Ids are ordered by their low byte first.
        assert!(!of(2, &[0x0100, 2], &[0x0100]).is_left());
    }

    #[test]
    fn each_delivers_what_entered_at_itself_and_the_greatest_the_rest() {
        let lesser = of(2, &[2, 3], &[3, 9]);
        assert!(lesser.leave(&id(3)) && lesser.leave(&id(9)));
        let greatest = of(3, &[2, 3], &[2, 9]);
        assert!(greatest.leave(&id(2)) && !greatest.leave(&id(9)));
    }

    #[test]
    fn of_too_many_the_greatest_count() {
        let listed: Vec<u128> = (1..=200).collect();
        assert!(of(100, &listed, &[200]).is_left());
        assert!(!of(100, &listed, &[120]).is_left());
    }
}
