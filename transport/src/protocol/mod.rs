// SPDX-License-Identifier: MIT OR Apache-2.0
//! Protocol between two nodes, sans-IO: plain functions of state, input and time that return the
//! next step. The module has no socket and no clock, and never waits; the drivers and the fuzzer
//! call the same functions, and a simulation runs the drivers.
//!
//! A link begins with a [`handshake`], which turns [`parameters::LocalParameters`] of both sides
//! into [`parameters::Established`], [`options`] included. From then on [`tx`] makes batches of
//! messages, [`rx`] makes messages of batches, and [`timers`] sends keep-alives and detects a dead
//! peer. [`patience`] limits the time for which a peer may stall its sources.

pub mod auth;
pub mod certificate;
pub mod compression;
pub mod handshake;
pub mod multilink;
pub mod options;
pub mod parameters;
pub mod patience;
pub mod rx;
pub mod shared;
pub mod timers;
pub mod tx;
