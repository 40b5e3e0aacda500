// SPDX-License-Identifier: MIT OR Apache-2.0

//! The router as a program: what `zondad` and `zonda router` have in common. The flags are the
//! reference daemon's, so its scripts work unchanged; this module turns them into a [`Config`](crate::Config), runs a
//! node until a signal comes and prints what it bound. No routing here.

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
