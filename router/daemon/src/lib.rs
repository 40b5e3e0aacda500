// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! The router as a program: the common part of `zondad` and `zonda router`. The flags are those of
//! the reference's daemon, so its scripts work unchanged. This crate converts them into a
//! [`Config`](zonda_router::Config), runs a node until a signal arrives, and prints the addresses
//! that the node listens on. It does no routing.

mod allocator;
mod arguments;
mod failure;
mod program;
mod requests;
mod run;
mod settings;
mod signals;

pub use arguments::DaemonArgs;
pub use program::Zondad;
pub use run::run;
