// SPDX-License-Identifier: MIT OR Apache-2.0

//! The forwarding table seen from outside, through the messages of its neighbours.

mod aggregation;
mod bench;
mod captures;
mod gateways;
mod histories;
mod interests;
mod listed;
mod liveliness;
mod localities;
mod model;
mod questions;
mod routers;
mod routes;
mod session;
mod shared_peers;
mod steps;
mod validity;
