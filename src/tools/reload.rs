// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda reload`: gives running routers the rules of a file.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use zonda::query::QueryTarget;
use zonda::{Config, Session, Wait};
use zonda_program::{Connection, Failure, await_attempts, complain, plain, print};
use zonda_router::config::writable_keys;

use super::remote::{PATIENCE, Whom, chosen, replies};

const HELP: &str = "\
Examples:
  zonda reload router.json5 -e tcp/127.0.0.1:7447
  zonda reload rules.json5 --router any -e tcp/127.0.0.1:7447     every router of the mesh

Takes access_control, downsampling, low_pass_filter and qos/network from the file, with their defaults where it has none, and \
nothing else. A router needs adminspace/permissions/write: true, and returns to its own file at its next start. On the \
router's machine, `kill -HUP PID` (systemctl reload zondad) makes it read its own file again.

Exit code: 0 if the rules are in force on each router; 1 if one refuses them; 2 for bad usage or a faulty file.";

/// Give running routers the rules of a file.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Reload {
    /// The configuration
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The router: its id, or `any` for each that is reached; the only neighbour by default
    #[arg(long, value_name = "ZID|any")]
    router: Option<Whom>,
    /// Switch access control off where the file has none and a router has it on
    #[arg(long)]
    without_access_control: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Reload {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        // The file is checked before any router is asked.
        let usage = |error: String| Failure::Usage(format!("{}: {error}", self.file.display()));
        let given = Config::from_file(&self.file).map_err(|error| usage(error.to_string()))?;
        let values = given.writable_values();
        let rules = Config::router().replaced(&values);
        let rules = rules.map_err(|error| usage(error.to_string()))?;
        rules.validate().map_err(|error| usage(error.to_string()))?;
        let is_open = !rules.settings().access_enabled;
        let session = self.connection.open()?;
        await_attempts(&session);
        let outcome = self.give(&session, &values, is_open && !self.without_access_control);
        session.close().wait()?;
        outcome
    }

    /// Gives each router the values; with `keeps_closed` only those without access control.
    fn give(&self, session: &Session, values: &str, keeps_closed: bool) -> Result<(), Failure> {
        let whom = chosen(self.router.as_ref(), session)?;
        let mut refused = 0;
        for (zid, _) in whom.insist(session, "")? {
            if keeps_closed && is_closed(session, &zid)? {
                refused += 1;
                complain(format_args!(
                    "router {zid} has access control and the file does not: give it one with access_control, or \
                     --without-access-control"
                ));
                continue;
            }
            match write(session, &zid, values)? {
                Ok(text) => print(format_args!("router {zid}: {text}")),
                Err(error) => {
                    refused += 1;
                    complain(format_args!(
                        "router {zid} refuses the rules: {}",
                        plain(&error)
                    ));
                }
            }
        }
        match refused {
            0 => Ok(()),
            _ => Err(Failure::NoResult),
        }
    }
}

/// Returns true if a router has access control.
fn is_closed(session: &Session, zid: &str) -> Result<bool, Failure> {
    let key = format!("@/{zid}/router/config/access_control/enabled");
    let found = replies(session, &key)?;
    Ok(found.iter().any(|(_, text)| text == "true"))
}

/// Writes the values to a router. Returns what has changed, or why the router refuses.
fn write(session: &Session, zid: &str, values: &str) -> Result<Result<String, String>, Failure> {
    let selector = format!("@/{zid}/router/config");
    let get = session.get(&selector).target(QueryTarget::All);
    let replies = get.payload(values).timeout(PATIENCE).wait()?;
    let Ok(reply) = replies.recv() else {
        return Ok(Err("it does not answer".to_owned()));
    };
    let text =
        |bytes: &zonda::bytes::ZBytes| String::from_utf8_lossy(&bytes.to_bytes()).into_owned();
    Ok(match reply.result() {
        Ok(sample) => Ok(changes(&text(sample.payload()))),
        Err(error) => Err(text(error.payload())),
    })
}

/// Describes the reply of a router.
fn changes(reply: &str) -> String {
    let reply: Value = serde_json::from_str(reply).unwrap_or_default();
    let changed = reply["changed"].as_array().into_iter().flatten();
    let changed: Vec<_> = changed.filter_map(Value::as_str).collect();
    let mut text = match changed.is_empty() {
        true => format!("nothing has changed in {}", writable_keys().join(", ")),
        false => format!("in force now: {}", changed.join(", ")),
    };
    if let Some(routers) = reply["routers"].as_u64().filter(|routers| *routers > 0) {
        text += &format!("; what {routers} routers have declared so far stays declared");
    }
    if let Some(count) = reply["forgotten"].as_u64().filter(|count| *count > 0) {
        text += &format!("; {count} neighbours have to declare again what was refused");
    }
    text
}
