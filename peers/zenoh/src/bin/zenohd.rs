// SPDX-License-Identifier: MIT OR Apache-2.0
//! A router made of the reference's library: a session in router mode, nothing loaded into it.

use std::time::Duration;

use clap::{Parser, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use zenoh::{Session, Wait};
use zenoh_peers::{Common, Mode, fail, line};

/// Forwards between the nodes that connect to it until SIGINT or SIGTERM.
#[derive(Parser)]
struct Cli {
    /// Accepted for the reference's scripts; there is no REST interface here
    #[arg(long, value_name = "SOCKET")]
    rest_http_port: Option<String>,
    /// Do not stamp messages that carry no timestamp
    #[arg(long)]
    no_timestamp: bool,
    /// Permissions of other nodes in the admin space
    #[arg(long, value_enum)]
    adminspace_permissions: Option<Permissions>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Permissions {
    R,
    W,
    Rw,
    None,
}

fn main() {
    let cli = Cli::parse();
    // before the session opens, so that no early signal is lost
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).unwrap_or_else(|e| fail("cannot catch signals", e));
    if cli
        .rest_http_port
        .as_deref()
        .is_some_and(|p| !p.eq_ignore_ascii_case("none"))
    {
        eprintln!("note: --rest-http-port is ignored, this router has no REST interface");
    }
    let session = cli.common.open(Mode::Router, &settings(&cli));
    line(format_args!("zid {}", session.info().zid().wait()));
    match bound_endpoints(&cli, &session) {
        Some(endpoints) => endpoints
            .iter()
            .for_each(|e| line(format_args!("listening on {e}"))),
        None => eprintln!("note: the admin space does not tell the bound endpoints"),
    }
    signals.forever().next();
    if let Err(e) = session.close().wait() {
        fail("cannot close the session", e);
    }
}

/// Returns the configuration settings for the router's own flags.
fn settings(cli: &Cli) -> Vec<(&'static str, &'static str)> {
    let mut settings = vec![("adminspace/enabled", "true")];
    if cli.no_timestamp {
        settings.push(("timestamping/enabled", "false"));
    }
    if let Some(permissions) = cli.adminspace_permissions {
        settings.push((
            "adminspace/permissions",
            match permissions {
                Permissions::R => "{read: true, write: false}",
                Permissions::W => "{read: false, write: true}",
                Permissions::Rw => "{read: true, write: true}",
                Permissions::None => "{read: false, write: false}",
            },
        ));
    }
    settings
}

/// Returns the addresses that the router listens at, from its own admin space: the stable API has
/// no other way, so the result is `None` where reading it is forbidden.
fn bound_endpoints(cli: &Cli, session: &Session) -> Option<Vec<String>> {
    if matches!(
        cli.adminspace_permissions,
        Some(Permissions::W | Permissions::None)
    ) {
        return None;
    }
    let key = format!("@/{}/router", session.info().zid().wait());
    let replies = session
        .get(key)
        .timeout(Duration::from_secs(1))
        .wait()
        .ok()?;
    let reply = replies.recv().ok()?;
    let payload = reply.result().ok()?.payload().to_bytes();
    let about: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    let locators: Vec<String> = about["locators"]
        .as_array()?
        .iter()
        .filter_map(|l| l.as_str().map(str::to_owned))
        .collect();
    (!locators.is_empty()).then_some(locators)
}
