// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda info`: facts of this program, and with connection flags, of the nodes it reaches.

use clap::Args;
use serde_json::{Value, json};
use zonda::config::RuntimeKind;
use zonda::session::{LimitStatus, openmetrics};
use zonda::{Session, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, Reach, await_attempts, build, print, print_lines, table,
};
use zonda_router::config::link_kinds;

use super::events;
use super::remote::Whom;
use super::show::each;

const HELP: &str = "\
Examples:
  zonda info                                   version, runtimes and kinds of link
  zonda info -e tcp/127.0.0.1:7447             what a node with these connections reaches
  zonda info --limits                          the limits of a node with this configuration
  zonda info -e tcp/127.0.0.1:7447 --metrics   everything that this router counts
  zonda info -e tcp/127.0.0.1:7447 --watch     the router's links, and each that comes, fails or goes, with the reason
  zonda info -e tcp/127.0.0.1:7447 --router any --limits   the limits of each router of the mesh

--metrics, --limits and --watch ask the router that this node is connected to, if that is its only neighbour, or the routers that \
--router names; else they tell of this node itself, as --own does.

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time, or when an endpoint to connect to was not reached (but \
with --watch); 2 for bad usage.";

/// Show what this program is and, with -e or -l, what its node is connected to.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Info {
    /// Go on and print each link that comes, fails or goes, with the reason, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Print a table of limits: key, value, what is used now, how often each was reached
    #[arg(long)]
    limits: bool,
    /// Print everything that is counted as OpenMetrics text, which Prometheus reads
    #[arg(long, conflicts_with = "limits")]
    metrics: bool,
    /// Ask this router: its id, or `any` for each that is reached
    #[arg(long, value_name = "ZID|any")]
    router: Option<Whom>,
    /// Tell of this program's own node, whatever it is connected to
    #[arg(long, conflicts_with = "router")]
    own: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Above a table of limits.
const HEADER: [&str; 5] = ["key", "limit", "used", "reached", "what is counted"];

/// Limits for people.
fn table_of(limits: &Value) -> String {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let rows = limits.as_array().into_iter().flatten();
    let rows = rows
        .map(|limit| ["key", "value", "used", "reached", "counts"].map(|name| cell(&limit[name])));
    table(HEADER, rows, 1..4)
}

/// Formats the facts in lines that begin with their subject.
fn for_people(facts: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let texts = |value: &Value| each_of(value, text).join(", ");
    // Facts of the program.
    let program = ["version", "protocol", "profile", "rustc"].map(|name| text(&facts[name]));
    let [version, protocol, profile, rustc] = program;
    let runtime = &facts["runtime"];
    let mut rows = vec![
        (
            "program",
            format!("zonda {version}, protocol {protocol}, {profile}, {rustc}"),
        ),
        (
            "runtime",
            format!("{} ({})", text(&runtime["runs"]), text(&runtime["why"])),
        ),
        ("runtimes", texts(&facts["runtimes"])),
        ("protocols", texts(&facts["link_kinds"])),
    ];
    // Facts of the node, if one was opened.
    if facts["zid"].is_string() {
        let link = |link: &Value| {
            let parts = ["role", "zid", "remote", "opened_by"].map(|name| text(&link[name]));
            let [role, zid, remote, opener] = parts;
            let range = match link["priority_range"].as_array().map(Vec::as_slice) {
                Some([first, last]) => format!(", for priorities {first} to {last}"),
                _ => String::new(),
            };
            format!("{role} {zid} at {remote}, opened by {opener}{range}")
        };
        let missing = |one: &Value| match one["why"].as_str() {
            Some(why) => format!("{}: {why}", text(&one["endpoint"])),
            None => format!("{}: under way", text(&one["endpoint"])),
        };
        rows.push(("zid", text(&facts["zid"])));
        let lists = [
            ("listening", each_of(&facts["listening"], text)),
            ("link", each_of(&facts["links"], link)),
            ("unreached", each_of(&facts["unreached"], missing)),
        ];
        for (name, lines) in lists {
            match lines.is_empty() {
                true => rows.push((name, "none".to_owned())),
                false => rows.extend(lines.into_iter().map(|line| (name, line))),
            }
        }
    }
    // In two columns.
    let lines = rows.iter().map(|(name, line)| format!("{name:<10} {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn each_of(list: &Value, line: impl Fn(&Value) -> String) -> Vec<String> {
    list.as_array().into_iter().flatten().map(line).collect()
}

impl Info {
    /// Prints the facts.
    pub fn run(self) -> Result<(), Failure> {
        // Facts that need no session.
        let runtimes: Vec<String> = RuntimeKind::available().map(|r| r.to_string()).collect();
        let mut facts = json!({
            "version": build::VERSION,
            "protocol": format!("zenoh 0x{:02x}", zonda_codec::PROTOCOL_VERSION),
            "rustc": build::RUSTC,
            "profile": build::PROFILE,
            "runtimes": runtimes,
            "link_kinds": link_kinds(),
            "runtime": self.runtime()?,
        });
        // A session is opened only where one is needed.
        let opens = !self.connection.connect.is_empty() || !self.connection.listen.is_empty();
        let reports = self.watch || self.limits || self.metrics;
        if self.router.is_some() && !reports {
            const ALONE: &str = "--router goes with --metrics, --limits or --watch";
            return Err(Failure::Usage(ALONE.to_owned()));
        }
        let session = match opens || reports || self.router.is_some() {
            true => Some(self.connection.open()?),
            false => None,
        };
        // Reports of routers end here.
        if let Some(session) = &session {
            await_attempts(session);
            if let Some(whom) = self.whom(session).filter(|_| reports) {
                self.ask(session, &whom)?;
                return Ok(session.close().wait()?);
            }
            self.connected(session, &mut facts)?;
        }
        // Facts in the requested form.
        match (self.connection.json, &session) {
            (false, Some(_)) if self.limits => {
                print_lines(format_args!("{}", table_of(&facts["limits"])))
            }
            (_, Some(session)) if self.metrics => {
                let text = openmetrics(&session.info().metrics());
                print_lines(format_args!("{}", text.trim_end()))
            }
            (true, _) => print(format_args!("{facts}")),
            (false, _) => print_lines(format_args!("{}", for_people(&facts))),
        }
        let Some(session) = session else {
            return Ok(());
        };
        // Events until Ctrl-C.
        if self.watch {
            self.follow(&session)?;
        }
        // An unreached endpoint is a failure, unless its events were watched.
        let reached = match self.watch {
            true => Ok(()),
            false => Reach::default().finish(&session),
        };
        session.close().wait()?;
        reached
    }

    /// Returns the routers to query; `None` for the own node.
    fn whom(&self, session: &Session) -> Option<Whom> {
        match (&self.router, self.own) {
            (Some(whom), _) => Some(whom.clone()),
            (None, true) => None,
            (None, false) => Whom::only_neighbour(session),
        }
    }

    /// Prints the reports of routers about themselves.
    fn ask(&self, session: &Session, whom: &Whom) -> Result<(), Failure> {
        if self.watch {
            return whom.follow(session, self.connection.json);
        }
        // Reports in the form of the flags, one router after the other.
        let name = if self.metrics { "metrics" } else { "limits" };
        let reports = whom.insist(session, name)?;
        for (zid, text) in &reports {
            if self.connection.json && self.limits {
                let limits: Value = serde_json::from_str(text).unwrap_or_default();
                print(format_args!("{}", json!({"router": zid, "limits": limits})));
                continue;
            }
            if reports.len() > 1 {
                print(format_args!("# router {zid}"));
            }
            match self.limits {
                true => {
                    let limits = serde_json::from_str(text).unwrap_or_default();
                    print_lines(format_args!("{}", table_of(&limits)))
                }
                false => print_lines(format_args!("{}", text.trim_end())),
            }
        }
        Ok(())
    }

    /// Adds the session's connections to the facts.
    fn connected(&self, session: &Session, facts: &mut Value) -> Result<(), Failure> {
        let info = session.info();
        facts["runtime"]["runs"] = json!(info.runtime());
        facts["zid"] = json!(session.zid().to_string());
        let listening: Vec<String> = info.locators().iter().map(ToString::to_string).collect();
        facts["listening"] = json!(listening);
        let metadata = self.connection.to_config()?.settings().metadata;
        facts["metadata"] = serde_json::from_str(&metadata).unwrap_or_default();
        facts["links"] = info.links().iter().map(events::link).collect();
        facts["endpoints"] = info.endpoints().iter().map(events::endpoint).collect();
        facts["turned_away"] = info.turned_away().iter().map(events::turned_away).collect();
        facts["limits"] = info.limits().iter().map(LimitStatus::to_json).collect();
        facts["unreached"] = info
            .unreached()
            .iter()
            .map(|u| json!({"endpoint": u.endpoint.to_string(), "why": u.reason}))
            .collect();
        Ok(())
    }

    /// Prints events of the connections, until Ctrl-C.
    fn follow(&self, session: &Session) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let listener = session.info().events_listener().history(true).wait()?;
        let next = |patience| listener.recv_timeout(patience);
        each(None, &interrupt, next, |event| {
            match self.connection.json {
                true => print(format_args!("{}", events::event(&event))),
                false => print(format_args!("{event}")),
            }
            Ok(())
        })
    }

    /// Returns the runtime that a node runs on with this configuration, with the reason.
    fn runtime(&self) -> Result<Value, Failure> {
        let config = self.connection.to_config()?;
        let settings = config.settings();
        let asked = settings.runtime_kind;
        let (runs, why) = match asked.effective() {
            Ok((_, Some(refusal))) if settings.runtime_uring_required => (None, refusal),
            Ok((runs, Some(refusal))) => (Some(runs), refusal),
            Ok((runs, None)) if config.is_set("runtime") => (Some(runs), "asked for".to_owned()),
            Ok((runs, None)) => (Some(runs), "the default of this program".to_owned()),
            Err(error) => (None, error.to_string()),
        };
        Ok(json!({
            "asked": asked.name(),
            "runs": runs.map(RuntimeKind::name),
            "why": why,
        }))
    }
}
