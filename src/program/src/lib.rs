// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Parts that the programs of the project share: the connection flags, the report of what a program reaches, its end, and
//! Ctrl-C; the level below a session, [`node`]; and what this [`build`] is.
//!
//! A program is a `clap` parser and one function; [`run`] joins the two:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use zonda_program::{Connection, Failure, print, run};
//!
//! #[derive(clap::Parser)]
//! struct Cli {
//!     #[command(flatten)]
//!     connection: Connection,
//! }
//!
//! fn main() -> ExitCode {
//!     run(|cli: Cli| -> Result<(), Failure> {
//!         let session = cli.connection.open()?;
//!         print(format_args!("{}", session.zid()));
//!         Ok(())
//!     })
//! }
//! ```

pub mod build;
pub mod certificates;
mod connection;
mod help;
mod interrupt;
mod kept_log;
mod mistyped;
pub mod node;
mod one_line;
mod outcome;
pub mod output;
mod reach;
mod received;
mod table;
pub mod terminal;
mod values;

pub use connection::Connection;
pub use help::fitted;
pub use interrupt::Interrupt;
pub use outcome::{Failure, finish, one_line, parse, print_lines, run};
pub use output::{Output, complain, print, terminal_width, write, written};
pub use reach::{HELP as REACH_HELP, Reach, await_attempts, kept_from_scouting};
pub use received::received;
pub use table::table;
pub use terminal::{log, plain};
pub use values::{
    consolidation, endpoint, key_expr, pattern, priority, seconds, selector, some_seconds, target,
};
