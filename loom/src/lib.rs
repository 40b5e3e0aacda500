// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of the libraries that synchronise threads by hand, built with loom's locks, atomics
//! and threads, so that their tests try every order of the threads' steps. A separate workspace,
//! because `--cfg loom` would also change the runtimes that the libraries are built with. See
//! `README.md`.
#![cfg(loom)]
#![forbid(unsafe_code)]

#[cfg(test)]
#[allow(dead_code, reason = "not all of it is tried")]
#[path = "../../transport/src/link/quic/inbox.rs"]
mod desk;
#[cfg(test)]
#[path = "../../transport/src/outbox/election.rs"]
mod election;
#[path = "../../runtime/src/guard.rs"]
pub mod guard;
#[cfg(test)]
#[allow(dead_code, reason = "not all of it is tried")]
#[path = "../../shm/src/kept.rs"]
mod kept;
#[path = "../../runtime/src/serial.rs"]
pub mod serial;

#[cfg(test)]
mod lanes;
#[cfg(test)]
mod spin;
#[cfg(test)]
mod writer;
