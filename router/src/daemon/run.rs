// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs the node between start and signal.

use std::process::ExitCode;
use std::time::Duration;

use zonda_codec::{Locator, ZenohId};

use crate::{
    daemon::{
        allocator,
        arguments::DaemonArgs,
        failure::DaemonError,
        output::{complain, print},
        settings::without_session,
        signals::Shutdown,
        terminal,
    },
    descriptors,
    node::handle::Node,
};

/// How long peers have to take what is queued for them when the daemon is asked to end, unless `close_timeout_ms` says.
const DRAIN: Duration = Duration::from_secs(5);

/// Runs the daemon until SIGINT or SIGTERM. Errors are printed as one line; the result is the exit code.
///
/// # Blocking
/// For as long as the daemon runs. Takes over the two signals and the process's log. On Linux with glibc it starts the program
/// once more with its own arguments, in the same process, unless `MALLOC_MMAP_THRESHOLD_` or `GLIBC_TUNABLES` is set.
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
    allocator::settle();
    let config = args.to_config()?;
    if args.print_config {
        for value in config.effective() {
            match args.json {
                true => print(format_args!("{}", value.to_json())),
                false => print(format_args!("{value}")),
            }
        }
        return Ok(());
    }
    for warning in args.warnings(&config) {
        complain(format_args!("warning: {warning}"));
    }
    terminal::log();
    descriptors::raise();
    if let Some(limit) = descriptors::limit() {
        tracing::info!("{limit} files and sockets may be open (`ulimit -n -H`)");
    }
    let is_kept_from_scouting = config.is_kept_from_scouting();
    let node = zonda_runtime::block_on(Node::open(config))?;
    // Not before: opening may be configured to wait for ever, and has nothing that would have to be drained.
    let shutdown = Shutdown::listen()
        .map_err(|e| DaemonError::Run(format!("cannot take over SIGINT and SIGTERM: {e}")))?;
    announce(node.zid(), &node.locators(), args.json);
    if is_kept_from_scouting && !args.json {
        print(format_args!(
            "not scouting: ZONDA_MULTICAST_SCOUTING=off, so others need its address"
        ));
    }
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
        print(format_args!("{line}"));
    }
    match examined.problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    }
}

fn announce(zid: ZenohId, locators: &[Locator], json: bool) {
    if json {
        // neither an id nor a locator holds anything that JSON would escape
        let listening: Vec<String> = locators.iter().map(|l| format!("\"{l}\"")).collect();
        print(format_args!(
            "{{\"event\":\"ready\",\"zid\":\"{zid}\",\"listening\":[{}]}}",
            listening.join(",")
        ));
    } else {
        print(format_args!("zid {zid}"));
        for locator in locators {
            print(format_args!("listening on {locator}"));
        }
    }
}
