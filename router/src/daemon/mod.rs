// SPDX-License-Identifier: MIT OR Apache-2.0

//! The router as a program: the common part of `zondad` and `zonda router`. The flags are those of
//! the reference's daemon, so its scripts work unchanged. This module converts them into a
//! [`Config`](crate::Config), runs a node until a signal arrives, and prints the addresses that the
//! node listens on. It does no routing.

mod allocator;
mod arguments;
mod failure;
pub mod output;
pub mod program;
mod requests;
mod run;
mod settings;
mod signals;
pub mod terminal;

pub use arguments::DaemonArgs;
pub use failure::{DaemonError, one_line};
pub use run::run;
