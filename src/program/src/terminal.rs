// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of a program, in [printable characters](plain).

use std::io::{self, IsTerminal};

use clap::{ArgAction, Args};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

pub use zonda_transport::text::plain;

/// Default log filter of a daemon: failures, its start, and neighbours that come and go.
pub const LOG_OF_DAEMON: &str =
    "warn,zonda_router::start=info,zonda_router::peers::connection_log=info";

/// Log target of the daemon's start.
pub const START: &str = "zonda_router::start";

/// Default log filter of other programs.
const LOG_DEFAULT: &str = "warn";

/// The amount that a program logs of its node.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Verbosity {
    /// Log more on standard error: -v what connects and what fails, -vv and -vvv all; RUST_LOG chooses more exactly
    #[arg(short, long, action = ArgAction::Count, global = true, display_order = 100)]
    verbose: u8,
    /// Log only what goes wrong; -qq nothing
    #[arg(short, long, action = ArgAction::Count, global = true, display_order = 101)]
    quiet: u8,
}

impl Verbosity {
    /// Logs to standard error like [`log`]: by these flags, else by `RUST_LOG`, else by `default`.
    pub fn log(self, default: &str) {
        let level = match (self.verbose, self.quiet) {
            (0, 0) => return log_by(EnvFilter::try_from_default_env(), default),
            (0, 1) => "error",
            (0, _) => "off",
            (1, _) => "info",
            (2, _) => "debug",
            _ => "trace",
        };
        log_by(EnvFilter::try_new(level), default);
    }
}

/// Logs to standard error by `RUST_LOG`, each event in one line of printable characters.
pub fn log() {
    log_by(EnvFilter::try_from_default_env(), LOG_DEFAULT);
}

fn log_by<E>(filter: Result<EnvFilter, E>, default: &str) {
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(default));
    let fields = debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", plain(&value)),
            name => write!(writer, "{name}={}", plain(&value)),
        }
    });
    // An error means that a logger is installed already.
    let _ = tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .log_internal_errors(false)
        .try_init();
}
