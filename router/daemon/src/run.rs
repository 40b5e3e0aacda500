// SPDX-License-Identifier: MIT OR Apache-2.0

//! The node's lifetime, from the start to a signal.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use zonda::{Config, Session};
use zonda_codec::{Locator, ZenohId};
use zonda_program::{Failure, complain, finish, print, terminal};
use zonda_router::{descriptors, node::Node, scouting::this_host};
use zonda_services::{Fault, NOT_REQUIRED, Running};

use crate::{
    allocator,
    arguments::DaemonArgs,
    failure, requests,
    settings::without_session,
    signals::{Request, Signals},
};

/// Time for peers to take queued messages when the daemon ends, unless `close_timeout_ms` is set.
const DRAIN: Duration = Duration::from_secs(5);

/// Runs the daemon until SIGINT or SIGTERM; on SIGHUP it reloads its configuration and users, on SIGUSR1 it
/// prints its state. Errors are printed as one line; the result is the exit code.
///
/// # Blocking
/// Blocks as long as the daemon runs. Handles these signals and configures the process's log. On
/// Linux with glibc it executes the program once more with the same arguments, in the same process,
/// unless `MALLOC_MMAP_THRESHOLD_` or `GLIBC_TUNABLES` is set.
pub fn run(args: &DaemonArgs) -> ExitCode {
    if args.check_config {
        return check(args);
    }
    finish(serve(args))
}

fn serve(args: &DaemonArgs) -> Result<(), Failure> {
    allocator::settle();
    let refused = |e: io::Error| Failure::doing("cannot take over the signals", e);
    let mut signals = Signals::hold().map_err(refused)?;
    // The configuration is printed or used.
    let examined = args.examine();
    let notes = examined.notes.clone();
    let config = examined
        .into_config()
        .map_err(|problem| Failure::Usage(problem.to_string()))?;
    if args.print_config {
        for value in config.effective() {
            match args.json {
                true => print(format_args!("{}", value.to_json())),
                false => print(format_args!("{value}")),
            }
        }
        return Ok(());
    }
    for warning in notes.into_iter().chain(args.warnings(&config)) {
        complain(format_args!("warning: {warning}"));
    }
    // The log, the limit of descriptors, and the node.
    terminal::log();
    terminal::kept();
    let filter = config.settings().log_filter;
    terminal::follow(filter.as_deref()).map_err(Failure::Usage)?;
    descriptors::raise();
    if let Some(limit) = descriptors::limit() {
        tracing::info!("{limit} files and sockets may be open (`ulimit -n -H`)");
    }
    let is_kept_from_scouting = config.is_kept_from_scouting();
    let node = zonda_runtime::block_on(Node::open(config.clone())).map_err(failure::of_open)?;
    let services = start_services(&node, &config);
    let services = services.inspect_err(|_| {
        // Nothing was sent yet, so nothing can be late.
        let _ = node.close_blocking(Duration::ZERO);
    })?;
    let since = Instant::now();
    // From here on the signals drain the node. Until now they end the process, because opening may
    // wait for ever and has nothing to drain.
    signals.listen().map_err(refused)?;
    announce(node.zid(), &node.locators(), args.json);
    log_start(&node);
    for service in &services {
        let (name, status) = (service.name(), service.status());
        tracing::info!(target: terminal::START, "{name}: {status}");
    }
    if is_kept_from_scouting && !args.json {
        print(format_args!(
            "not scouting: ZONDA_MULTICAST_SCOUTING=off, so others need its address"
        ));
    }
    loop {
        match signals.next() {
            Request::End => break,
            Request::Reload => {
                for line in requests::reload(&node, &services, args) {
                    complain(format_args!("{line}"));
                }
            }
            Request::Report => complain(format_args!("{}", requests::report(&node, since))),
        }
    }
    services.into_iter().for_each(Running::stop);
    let drain = node.close_timeout().unwrap_or(DRAIN);
    zonda_runtime::block_on(node.close(drain)).map_err(|e| Failure::Run(e.to_string()))
}

/// Starts the services of the configuration, each on a session of its own.
fn start_services(node: &Node, config: &Config) -> Result<Vec<Box<dyn Running>>, Failure> {
    let node = node.clone();
    // Keys of a service are those of the node: the namespace is for the sessions of programs.
    let session = move || Session::from_node(&node, Config::default());
    let started = zonda_services::start_all(config, session, Some(terminal::kept()));
    started.map_err(failure::of_services)
}

/// Logs the version, the id, and the addresses that nodes can connect to, with wildcards resolved.
fn log_start(node: &Node) {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let reached = this_host().locators_for(here, &node.locators());
    let reached: Vec<String> = reached.iter().map(ToString::to_string).collect();
    tracing::info!(
        target: terminal::START,
        "zonda {} {} {} starts; it is reached at {}",
        env!("CARGO_PKG_VERSION"),
        node.role(),
        node.zid(),
        match reached.is_empty() {
            true => "no address".to_owned(),
            false => reached.join(", "),
        }
    );
}

/// Prints everything that is wrong with the configuration or has no effect.
fn check(args: &DaemonArgs) -> ExitCode {
    let mut examined = args.examine();
    examined.try_sockets();
    let services = match examined.problems.is_empty() {
        true => zonda_services::look(&examined.config),
        false => Vec::new(),
    };
    for Fault { error, is_required } in services {
        match is_required {
            true => examined.failures.push(error.to_string()),
            false => examined.hints.push(format!("{error}; {NOT_REQUIRED}")),
        }
    }
    let mut more = args.flags_without_effect();
    more.extend(without_session(&examined.config));
    more.extend(zonda_services::warnings(&examined.config));
    for line in examined.lines(&more, args.json) {
        print(format_args!("{line}"));
    }
    ExitCode::from(examined.exit_code())
}

fn announce(zid: ZenohId, locators: &[Locator], json: bool) {
    if json {
        // Ids and locators have no characters that JSON escapes.
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
