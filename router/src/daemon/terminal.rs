// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of a program, in [characters that can be seen](plain).

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

pub use zonda_transport::text::plain;

/// What is logged when `RUST_LOG` says nothing.
const LOG_DEFAULT: &str = "warn";

/// Sends log lines to standard error, by `RUST_LOG`, each in one line of characters that can be seen.
pub fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    let fields = debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", plain(&value)),
            name => write!(writer, "{name}={}", plain(&value)),
        }
    });
    // an error means that somebody else logs already
    let _ = tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .log_internal_errors(false)
        .try_init();
}
