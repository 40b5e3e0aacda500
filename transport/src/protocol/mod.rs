// SPDX-License-Identifier: MIT OR Apache-2.0
//! The protocol between two nodes, sans-IO: plain functions of state, input and time that say what
//! to do. No socket, no clock, no waiting in here; the drivers and the fuzzer call the same functions,
//! and a simulation runs the drivers.
//!
//! A link begins with a [`handshake`], which turns [`parameters::LocalParameters`] of both sides
//! into [`parameters::Established`], [`options`] included. From then on [`tx`] makes batches of messages, [`rx`] messages
//! of batches, and [`timers`] keeps both sides assured that the other is alive. [`patience`] says how long a peer may keep its sources waiting.

pub mod auth;
pub mod certificate;
pub mod compression;
pub mod handshake;
pub mod multilink;
pub mod options;
pub mod parameters;
pub mod patience;
pub mod rx;
pub mod timers;
pub mod tx;
