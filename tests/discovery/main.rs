// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of nodes that find each other: by multicast in networks of the test's own, and by gossip
//! over loopback.
#![cfg(target_os = "linux")]

mod gossip;
mod namespace;
mod opening;
mod scene;
mod scouting;
