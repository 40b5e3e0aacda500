// SPDX-License-Identifier: MIT OR Apache-2.0

//! Filters of messages between a neighbour and this node: rate limits, access control, changes
//! of QoS, and a size limit. One file or directory each.
//!
//! A [`Filter`] is bound to a neighbour, a direction and a key; the result decides about each
//! message once. Bound filters are cached per neighbour and key, and are part of the routes that
//! data messages take ([`FilteredRoute`]). A route without them is the same as without filters, and
//! costs the same.

mod access_control;
mod bind;
mod bound;
mod clients;
mod contract;
mod declared;
mod downsampling;
mod drops;
mod effects;
mod filters;
mod gate;
mod low_pass;
mod overwrite;
mod refused;
mod reload;
mod route;
mod running_trace;
mod scope;
#[cfg(test)]
mod tests;
mod trace;

pub use access_control::{DecidingRule, Explanation, Neighbour, Rules};
pub(crate) use bind::{bound, forget_bound};
pub(crate) use bound::{BoundCaches, decide};
pub(crate) use clients::ClientVerdicts;
pub use contract::Message;
pub(crate) use contract::Reason;
pub(crate) use contract::{Effect, MessageView};
pub(crate) use declared::{take_declare, take_interest};
pub(crate) use drops::Dropped;
pub(crate) use effects::{Neighbourhood, refused_keys};
pub(crate) use filters::Filters;
pub(crate) use gate::gate_of;
pub(crate) use refused::Refused;
pub(crate) use reload::reload_filters;
pub(crate) use route::{FilteredRoute, view_of};
pub(crate) use running_trace::Tracing;
pub(crate) use trace::Pass;
