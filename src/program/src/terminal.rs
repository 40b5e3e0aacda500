// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of a program, in [printable characters](plain).

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use clap::{ArgAction, Args};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::kept_log::Keeper;
pub use crate::kept_log::kept;
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
            (0, 0) => return log_by(EnvFilter::try_from_default_env().ok(), default),
            (0, 1) => "error",
            (0, _) => "off",
            (1, _) => "info",
            (2, _) => "debug",
            _ => "trace",
        };
        log_by(EnvFilter::try_new(level).ok(), default);
    }
}

/// Logs to standard error by `RUST_LOG`, each event in one line of printable characters.
pub fn log() {
    log_by(EnvFilter::try_from_default_env().ok(), LOG_DEFAULT);
}

/// Filter of the log that was installed, unless it was chosen by flags or `RUST_LOG`.
static CHANGEABLE: OnceLock<Changeable> = OnceLock::new();

struct Changeable {
    default: String,
    replace: Box<dyn Fn(EnvFilter) -> bool + Send + Sync>,
}

/// Logs by the filter of a configuration from now on, or by the program's default without one,
/// unless flags or `RUST_LOG` have chosen. Returns true if they have not.
///
/// # Errors
/// The filter's fault; nothing has changed.
pub fn follow(filter: Option<&str>) -> Result<bool, String> {
    let parsed = filter.map(parsed).transpose()?;
    let Some(log) = CHANGEABLE.get() else {
        return Ok(false);
    };
    Ok((log.replace)(
        parsed.unwrap_or_else(|| EnvFilter::new(&log.default)),
    ))
}

/// Checks the filter of a configuration.
///
/// # Errors
/// The filter's fault.
pub fn check_filter(filter: &str) -> Result<(), String> {
    parsed(filter).map(drop)
}

fn parsed(filter: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(filter).map_err(|error| {
        let filter = plain(filter);
        format!("`log/filter`: `{filter}` is no filter ({error}): write `info`, or `warn,zonda_router=debug`")
    })
}

fn log_by(chosen: Option<EnvFilter>, default: &str) {
    let is_chosen = chosen.is_some();
    let filter = chosen.unwrap_or_else(|| EnvFilter::new(default));
    let fields = debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", plain(&value)),
            name => write!(writer, "{name}={}", plain(&value)),
        }
    });
    let builder = tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .log_internal_errors(false)
        .with_filter_reloading();
    let handle = builder.reload_handle();
    // An error means that a logger is installed already.
    if builder.finish().with(Keeper).try_init().is_ok() && !is_chosen {
        let _ = CHANGEABLE.set(Changeable {
            default: default.to_owned(),
            replace: Box::new(move |filter| handle.reload(filter).is_ok()),
        });
    }
}
