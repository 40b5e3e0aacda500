// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sessions tell of their connections: each kind of reason once on the side that connects and once on the side that
//! is connected to, as event, as status of the endpoint and as count; and how listeners are called.
#![forbid(unsafe_code)]

mod accepting;
mod dialing;
mod ending;
mod found;
mod listening;
mod places;
mod scene;
