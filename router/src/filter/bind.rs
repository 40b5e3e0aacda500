// SPDX-License-Identifier: MIT OR Apache-2.0

//! Binding of filters to neighbours.

use std::net::SocketAddr;

use zonda_codec::{KeyExpr, Locator};

use crate::{
    config::Flow,
    model::LinkStatus,
    node::state::{Face, State},
    scouting::this_host,
    table::{FaceId, scouting::Interface},
};

use super::{bound::Bound, contract::Subject, filters::Filters};

/// Returns the filters of messages on `key` between the neighbour at `face` and this node; `None`
/// for this node's own session. They are bound once for each key, as long as the cache has room.
pub(crate) fn bound(
    state: &mut State,
    face: FaceId,
    flow: Flow,
    key: Option<&KeyExpr<'_>>,
) -> Bound {
    let State { filters, faces, .. } = state;
    if filters.is_empty() {
        return None;
    }
    let face = faces.get_mut(&face)?;
    let text = key.map_or("", |key| key.as_str());
    let known = face.bound.of(filters.number(), flow);
    if let Some(known) = known.get(text) {
        return known.clone();
    }
    bind(filters, face, flow, key)
}

#[cold]
fn bind(filters: &Filters, face: &mut Face, flow: Flow, key: Option<&KeyExpr<'_>>) -> Bound {
    let places = face.places();
    let local = places.iter().map(|place| &place.local);
    let subject = subject(&face.status, local, filters.need_interfaces());
    let bound = filters.bind(&subject, flow, key);
    let text = key.map_or("", |key| key.as_str());
    let known = face.bound.of(filters.number(), flow);
    known.insert(text, bound.clone());
    bound
}

/// Drops the bound filters of a neighbour whose links have changed, and the routes with them.
pub(crate) fn forget_bound(state: &mut State, face: FaceId) {
    let has_filters = !state.filters.is_empty();
    if let Some(face) = state.faces.get_mut(&face).filter(|_| has_filters) {
        face.bound = Default::default();
        state.table.outdate_routes();
    }
}

/// Returns a neighbour whose links have these ends here, with its interfaces only if
/// `with_interfaces`.
pub(super) fn subject<'f, 'l>(
    peer: &'f LinkStatus,
    local: impl Iterator<Item = &'l Locator> + Clone,
    with_interfaces: bool,
) -> Subject<'f> {
    let interfaces = match with_interfaces {
        true => interfaces_of(local.clone()),
        false => Vec::new(),
    };
    Subject {
        peer,
        protocols: local.map(|local| local.proto().to_owned()).collect(),
        interfaces,
    }
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
