// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs the node between start and signal.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::process::{self, ExitCode};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use zonda_codec::{Locator, ZenohId};

use super::arguments::DaemonArgs;
use super::failure::DaemonError;
use super::settings::without_session;
use super::signals::Shutdown;
use crate::descriptors;
use crate::node::Node;

/// How long peers have to take what is queued for them when the daemon is asked to end, unless `close_timeout_ms` says.
const DRAIN: Duration = Duration::from_secs(5);
/// What is logged when `RUST_LOG` says nothing.
const LOG_DEFAULT: &str = "warn";

/// Runs the daemon until SIGINT or SIGTERM. Errors are printed as one line; the result is the exit code.
///
/// # Blocking
/// For as long as the daemon runs. Takes over the two signals and the process's log.
pub fn run(args: &DaemonArgs) -> ExitCode {
    if args.check_config {
        return check(args);
    }
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("error: {error}"));
            error.exit_code()
        }
    }
}

fn serve(args: &DaemonArgs) -> Result<(), DaemonError> {
    let config = args.to_config()?;
    if args.print_config {
        for value in config.effective() {
            match args.json {
                true => say(format_args!("{}", value.to_json())),
                false => say(format_args!("{value}")),
            }
        }
        return Ok(());
    }
    for warning in args.warnings(&config) {
        complain(format_args!("warning: {warning}"));
    }
    log();
    descriptors::raise();
    if let Some(limit) = descriptors::limit() {
        tracing::info!("{limit} files and sockets may be open (`ulimit -n -H`)");
    }
    let node = zonda_runtime::block_on(Node::open(config))?;
    // Not before: opening may be told to wait for ever, and has nothing that would have to be drained.
    let shutdown = Shutdown::listen()
        .map_err(|e| DaemonError::Run(format!("cannot take over SIGINT and SIGTERM: {e}")))?;
    announce(node.zid(), &node.locators(), args.json);
    shutdown.wait();
    let drain = node.close_timeout().unwrap_or(DRAIN);
    zonda_runtime::block_on(node.close(drain)).map_err(|e| DaemonError::Run(e.to_string()))
}

/// Tells everything that is wrong with the configuration or has no effect.
fn check(args: &DaemonArgs) -> ExitCode {
    let examined = args.sources().examine();
    let mut more = args.flags_without_effect();
    more.extend(without_session(&examined.config));
    for line in examined.lines(&more, args.json) {
        say(format_args!("{line}"));
    }
    match examined.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    }
}

fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    // an error means that somebody else logs already
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .log_internal_errors(false)
        .try_init();
}

fn announce(zid: ZenohId, locators: &[Locator], json: bool) {
    if json {
        // neither an id nor a locator holds anything that JSON would escape
        let listening: Vec<String> = locators.iter().map(|l| format!("\"{l}\"")).collect();
        say(format_args!(
            "{{\"event\":\"ready\",\"zid\":\"{zid}\",\"listening\":[{}]}}",
            listening.join(",")
        ));
    } else {
        let lines: String = locators
            .iter()
            .map(|l| format!("\nlistening on {l}"))
            .collect();
        say(format_args!("zid {zid}{lines}"));
    }
}

/// Prints at once. Ends the daemon quietly when nobody reads its output any more.
fn say(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        process::exit(0);
    }
}

fn complain(line: Arguments<'_>) {
    // standard error may be closed too, and then nobody is left to tell
    let _ = writeln!(io::stderr(), "{line}");
}
