// SPDX-License-Identifier: MIT OR Apache-2.0

//! Filters on the links of a neighbour.

use std::net::SocketAddr;

use zonda_codec::{KeyExpr, Locator};

use crate::{
    config::Flow,
    hooks::{Filters, LinkFacts, RouteFilters},
    node::state::State,
    scouting::this_host,
    table::{FaceId, scouting::Interface},
};

/// Direction of messages on the links of one neighbour.
#[derive(Clone, Copy)]
pub(crate) struct LinkSide {
    pub(crate) face: FaceId,
    pub(crate) flow: Flow,
}

impl LinkSide {
    /// Messages that come from the neighbour.
    pub(crate) fn ingress(face: FaceId) -> Self {
        let flow = Flow::Ingress;
        LinkSide { face, flow }
    }

    /// Messages that leave for the neighbour.
    pub(crate) fn egress(face: FaceId) -> Self {
        let flow = Flow::Egress;
        LinkSide { face, flow }
    }
}

/// Returns the filters that check messages on `key` on one side of the links of a neighbour; none
/// for this node's own session.
pub(crate) fn filters_of(
    hooks: &Filters,
    state: &State,
    side: LinkSide,
    key: Option<&KeyExpr<'_>>,
) -> RouteFilters {
    let Some(face) = state.faces.get(&side.face).filter(|_| !hooks.is_empty()) else {
        return RouteFilters::default();
    };
    let places = face.places();
    let local = places.iter().map(|(local, _)| local);
    let interfaces = match hooks.need_interfaces() {
        true => interfaces_of(local.clone()),
        false => Vec::new(),
    };
    let links = LinkFacts {
        zid: face.status.zid,
        protocols: local.map(|local| local.proto().to_owned()).collect(),
        interfaces,
    };
    hooks.checks(&links, side.flow, key)
}

/// Returns the interfaces that have the addresses of these ends of links.
///
/// # Blocking
/// A system call at most every ten seconds.
#[cold]
fn interfaces_of<'l>(ends: impl Iterator<Item = &'l Locator>) -> Vec<String> {
    let host = this_host();
    let of_end = |end: &Locator| {
        let at: SocketAddr = end.address().parse().ok()?;
        let has = |interface: &&Interface| {
            let addresses = &interface.addresses;
            addresses.iter().any(|own| own.ip == at.ip().to_canonical())
        };
        host.0.iter().find(has).map(|found| found.name.clone())
    };
    ends.filter_map(of_end).collect()
}
