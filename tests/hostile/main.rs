// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers that misbehave, by accident or on purpose: a router serves an honest publisher and an
//! honest subscriber while raw connections do what the protocol does not allow. After each case the
//! offender is closed or ignored, as the protocol demands, and the honest clients have lost no
//! message.
//!
//! Cases in one process look at a [`scene`]. Cases with router, honest clients and attackers in
//! processes of their own look at a [`world`], which explains how to write one; [`attacks`] holds
//! them, and the adversary.
#![cfg(unix)]

#[cfg(target_os = "linux")]
mod attacks;
#[path = "../../session/tests/authority/mod.rs"]
mod authority;
mod clocks;
mod closing;
mod crowds;
mod declarations;
mod framing;
mod greetings;
mod hand;
mod lies;
mod places;
mod questions;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the cases of findings use it as they are closed")]
mod roles;
mod scene;
#[cfg(all(feature = "shm", target_os = "linux"))]
mod shm;
mod shutdown;
mod slow;
mod stacks;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "the cases of findings use it as they are closed")]
mod world;
