// SPDX-License-Identifier: MIT OR Apache-2.0

//! The root of the admin space: this node's id, locators and connections as JSON, with the members
//! of the reference's root, and some of our own behind them.

use serde_json::{Value, json};
use zonda_codec::{Locator, Reliability, WhatAmI, ZenohId};

use crate::{metrics::reference::Traffic, table::LinkWeights};

/// Description of a node in brief, copied under its lock.
pub(crate) struct Overview {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    pub(crate) locators: Vec<Locator>,
    pub(crate) neighbours: Vec<Neighbour>,
    /// State of each configured endpoint.
    pub(crate) endpoints: Value,
    /// Counts of all connections, those that have ended included, where the asker wants them.
    pub(crate) traffic: Option<Traffic>,
}

/// Connection in an [`Overview`]: to a node, or to a member of a group.
pub(crate) struct Neighbour {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    /// Locator of the multicast group that it is a member of.
    pub(crate) group: Option<Locator>,
    pub(crate) links: Vec<LinkEnds>,
    /// Set if payloads go to it in shared memory.
    pub(crate) is_shm: bool,
    /// Weights of the link between two routers.
    pub(crate) weights: Option<LinkWeights>,
    /// Counts of the connection, where the asker wants them.
    pub(crate) traffic: Option<Traffic>,
}

/// Both ends of a link.
pub(crate) struct LinkEnds {
    pub(crate) local: Locator,
    pub(crate) remote: Locator,
    /// First and last priority that it is for, where its ends have agreed on any.
    pub(crate) priorities: Option<(u8, u8)>,
    pub(crate) reliability: Option<Reliability>,
}

/// Returns the value of the root. The metadata are JSON without secrets, `turned_away` counts
/// refused connections.
pub(crate) fn text(mut overview: Overview, metadata: &str, turned_away: Value) -> String {
    overview.neighbours.sort_by_key(|neighbour| neighbour.zid);
    let locators = overview.locators.iter();
    let locators: Vec<String> = locators.map(ToString::to_string).collect();
    let sessions = overview.neighbours.iter();
    let sessions: Vec<_> = sessions.map(|one| session(overview.role, one)).collect();
    let mut root = json!({
        "zid": overview.zid.to_string(),
        "version": concat!("zonda ", env!("CARGO_PKG_VERSION")),
        "metadata": serde_json::from_str(metadata).unwrap_or(Value::Null),
        "locators": locators,
        "sessions": sessions,
        "plugins": null,
        "endpoints": overview.endpoints,
        "turned_away": turned_away,
    });
    if let Some(traffic) = &overview.traffic {
        root["stats"] = stats(traffic);
    }
    root.to_string()
}

/// Returns the counts under the reference's names, as far as this node counts the same things.
fn stats(traffic: &Traffic) -> Value {
    let messages = |count: u64| json!({"net": count, "shm": 0});
    json!({
        "rx_bytes": traffic.received_bytes(),
        "tx_bytes": traffic.sent_bytes(),
        "rx_t_msgs": traffic.received_transport_messages(),
        "rx_n_msgs": messages(traffic.received_messages()),
        "tx_n_msgs": messages(traffic.sent_messages()),
        "tx_n_dropped": traffic.dropped_messages(),
    })
}

/// Returns a connection of a node of role `own`.
fn session(own: WhatAmI, neighbour: &Neighbour) -> Value {
    let links = neighbour.links.iter();
    let links = links.map(|ends| {
        let mut link = json!({"src": ends.local.to_string(), "dst": ends.remote.to_string()});
        if let Some(priorities) = ends.priorities {
            link["priorities"] = json!(priorities);
        }
        if let Some(reliability) = ends.reliability {
            link["reliability"] = json!(format!("{reliability:?}"));
        }
        link
    });
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
    let mut session = json!({
        "peer": peer,
        "whatami": role,
        "links": links,
        "shm": neighbour.is_shm,
        "region": region(own, neighbour.role),
        "weight": weight,
    });
    if let Some(traffic) = &neighbour.traffic {
        session["stats"] = stats(traffic);
    }
    session
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
