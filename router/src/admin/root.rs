// SPDX-License-Identifier: MIT OR Apache-2.0

//! The root of the admin space: this node's id, locators and connections as JSON, with the members
//! of the reference's root, and some of our own behind them.

use serde_json::{Value, json};
use zonda_codec::{Locator, WhatAmI, ZenohId};

use crate::table::LinkWeights;

/// Description of a node in brief, copied under its lock.
pub(crate) struct Overview {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    pub(crate) locators: Vec<Locator>,
    pub(crate) neighbours: Vec<Neighbour>,
    /// State of each configured endpoint.
    pub(crate) endpoints: Value,
}

/// Connection in an [`Overview`]: to a node, or to a member of a group.
pub(crate) struct Neighbour {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    /// Locator of the multicast group that it is a member of.
    pub(crate) group: Option<Locator>,
    pub(crate) links: Vec<LinkEnds>,
    /// Weights of the link between two routers.
    pub(crate) weights: Option<LinkWeights>,
}

/// Both ends of a link.
pub(crate) struct LinkEnds {
    pub(crate) local: Locator,
    pub(crate) remote: Locator,
}

/// Returns the value of the root. The metadata are JSON without secrets, `turned_away` counts
/// refused connections.
pub(crate) fn text(mut overview: Overview, metadata: &str, turned_away: Value) -> String {
    overview.neighbours.sort_by_key(|neighbour| neighbour.zid);
    let locators = overview.locators.iter();
    let locators: Vec<String> = locators.map(ToString::to_string).collect();
    let sessions = overview.neighbours.iter();
    let sessions: Vec<_> = sessions.map(|one| session(overview.role, one)).collect();
    json!({
        "zid": overview.zid.to_string(),
        "version": concat!("zonda ", env!("CARGO_PKG_VERSION")),
        "metadata": serde_json::from_str(metadata).unwrap_or(Value::Null),
        "locators": locators,
        "sessions": sessions,
        "plugins": null,
        "endpoints": overview.endpoints,
        "turned_away": turned_away,
    })
    .to_string()
}

/// Returns a connection of a node of role `own`.
fn session(own: WhatAmI, neighbour: &Neighbour) -> Value {
    let links = neighbour.links.iter();
    let links =
        links.map(|ends| json!({"src": ends.local.to_string(), "dst": ends.remote.to_string()}));
    let links: Vec<_> = links.collect();
    let (peer, role) = (neighbour.zid.to_string(), neighbour.role.to_string());
    if let Some(group) = &neighbour.group {
        let group = group.to_string();
        return json!({"peer": peer, "whatami": role, "group": group, "links": links});
    }
    let weight = neighbour.weights.map(|weights| {
        json!({
            "src_weight": weights.own,
            "dst_weight": weights.theirs,
            "actual_weight": weights.actual,
        })
    });
    json!({
        "peer": peer,
        "whatami": role,
        "links": links,
        "shm": false,
        "region": region(own, neighbour.role),
        "weight": weight,
    })
}

/// Returns the name of the region that a neighbour is in: `north`, unless this node is a gateway
/// for it.
fn region(own: WhatAmI, neighbour: WhatAmI) -> &'static str {
    match (own, neighbour) {
        (WhatAmI::Router, WhatAmI::Peer) => "south:0:peer",
        (WhatAmI::Router | WhatAmI::Peer, WhatAmI::Client) => "south:0:client",
        _ => "north",
    }
}
