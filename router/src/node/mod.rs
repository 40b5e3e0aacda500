// SPDX-License-Identifier: MIT OR Apache-2.0

//! Node: many connections and one table, behind a handful of calls.
//!
//! A session *is* a node with a local face; a router is a node without one. [`crate::table`] makes
//! the decisions; the transport's drivers wait. The modules of this crate carry the table's actions
//! out and cache its answers: `flow` for data, `query` for requests and replies, `peers` for
//! connections, `notify` for the table's reports to the session.
//!
//! They share the parts in this module:
//! - `state`: the data under the one lock; `shared`: the lock, and everything else that tasks
//!   share; `update`: the changes under the lock; `handle`: the public handle;
//! - `open`, `close`: the life of the node; `sessions`, `attach`: the sessions on it; `clients`: the clients of services; `sweep`, `tasks` and `ids`: its upkeep;
//! - `limits`, `memory`: the bounds of all resources;
//! - `intercept`, `records`: the records of time-stamp stacks;
//! - `reload`: other rules on a running node;
//! - `report`, `snapshot`: the node's reports about itself; `admin_queries`: the replies of its
//!   admin space.
//!
//! Locks: the state's (declarations, faces, cache misses; never while user code runs), then a
//! lane's or that of a listener's queue, then nothing.

mod admin_queries;
mod attach;
mod clients;
pub(crate) mod clock;
mod close;
pub(crate) mod handle;
pub(crate) mod ids;
pub(crate) mod intercept;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod open;
mod plugins;
#[cfg(feature = "probe")]
mod probe;
mod records;
mod reload;
mod report;
pub(crate) mod running;
mod served_plugin;
pub(crate) mod sessions;
pub(crate) mod shared;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod sweep;
mod tasks;
pub(crate) mod times;
mod update;

pub use crate::{
    config::{Flow, MessageKind},
    flow::{
        publisher::PublisherFace,
        receiving::{Deliveries, Delivery, Opened, Receive, Sink, Take},
        send_result::{Accepted, Plain, SendResult},
        tally::PublisherCounts,
    },
    metrics::table::METRICS,
    model::*,
    notify::{
        listeners::{Listen, ListenerId, Taken},
        liveliness::TokenId,
    },
    peers::{
        dials::{EndpointStatus, Unreached},
        discovery::DiscoveryStatus,
        ended::EndedLinks,
        events::{ConnectionEvent, ConnectionListener, EVENTS_MAX, Tell},
        groups::GroupStatus,
        reasons::{Loss, LossKind, Refusal, RefusalKind},
        refusals::TurnedAway,
    },
    query::*,
};
pub use clients::ClientRights;
pub use handle::Node;
pub use intercept::{QueryStack, TimestampCallback, TimestampContext};
pub use limits::LimitStatus;
pub use memory::{Largest, Usage};
#[cfg(feature = "probe")]
pub use probe::End;
pub use reload::Reloaded;
pub use served_plugin::ServedPlugin;
pub use zonda_transport::link::{LinkAddress, Protocol};
pub use zonda_transport::multicast::{GroupCounts, Member};
