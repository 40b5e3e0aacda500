// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions' reports about their connections: each kind of reason once on the side that connects
//! and once on the accepting side, as event, as status of the endpoint and as count; and the calls
//! of listeners.
#![forbid(unsafe_code)]

mod accepting;
mod crossing;
mod dialing;
mod ending;
mod found;
mod listening;
mod places;
mod scene;
