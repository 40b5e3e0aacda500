// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the example programs share: the connection flags, the report of what a program reaches, how it ends, and Ctrl-C.
//!
//! A program is a `clap` parser and one function; [`run`] joins the two:
//!
//! ```ignore
//! fn main() -> ExitCode {
//!     arguments::run(put)
//! }
//! ```

// each example uses its own part of this module
#![allow(dead_code, unused_imports)]

mod connection;
mod interrupt;
mod outcome;
mod reach;
mod received;
mod values;

pub use connection::Connection;
pub use interrupt::Interrupt;
pub use outcome::{Failure, complain, finish, one_line, parse, print, print_lines, run};
pub use reach::{HELP as REACH_HELP, Reach};
pub use received::received;
pub use values::{consolidation, endpoint, key_expr, pattern, priority, seconds, selector, target};
pub use zonda_router::daemon::terminal::log;
