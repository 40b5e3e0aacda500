// SPDX-License-Identifier: MIT OR Apache-2.0

//! Zonda for C and C++: `libzenohc.so` with the names and the binary interface of zenoh-c, over the
//! library `zonda`.
//!
//! An exported function has the name and the arguments of the header. `place` says how the memory of
//! a program becomes values of Rust, and why exported functions need no unsafe code; `text` and
//! `closure` hold the little that there is.

#![allow(improper_ctypes_definitions, clippy::missing_safety_doc)]

mod advanced;
mod bytes;
mod cancellation;
mod channels;
mod clock;
mod closure;
mod code;
mod config;
mod connectivity;
mod encoding;
#[cfg_attr(feature = "generation-a", path = "generation/a.rs")]
#[cfg_attr(not(feature = "generation-a"), path = "generation/b.rs")]
mod generation;
mod get;
mod keys;
mod legacy;
mod liveliness;
mod logging;
mod matching;
mod place;
mod platform;
mod publisher;
mod qos;
mod querier;
mod query;
mod sample;
mod scouting;
mod serialization;
mod session;
mod shm;
mod strings;
mod subscriber;
mod text;
mod values;
