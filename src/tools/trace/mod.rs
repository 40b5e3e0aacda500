// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda trace`: messages as they pass the links of routers, or where their time went.

mod stack;
mod steps;

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use zonda::cancellation::CancellationToken;
use zonda::handlers::RecvError;
use zonda::query::{ConsolidationMode, QueryTarget, Reply};
use zonda::{Session, Wait};
use zonda_codec::KeyExpr;
use zonda_program::{Connection, Failure, Interrupt, await_attempts, complain, plain, print};

use super::remote::{Whom, chosen};

const HELP: &str = "\
Examples:
  zonda trace 'demo/**' -e tcp/127.0.0.1:7447                     until Ctrl-C
  zonda trace demo/a --router any --seconds 10 -e tcp/127.0.0.1:7447
  zonda trace --stack 'demo/**' -n 1 -e tcp/127.0.0.1:7447
  zonda trace --stack --ask demo/a -n 100 -e tcp/127.0.0.1:7447

A line is a message that passed a link: `from` the neighbour that sent it, before any rule decides about it, or `to` a neighbour, \
behind all rules. A message with a line `from` and no line `to` was stopped there or has no receiver; `zonda explain` says why.

Messages of the traced keys are slower while a trace runs. A router records 1024 messages in a tenth of a second, and counts \
the others. Under access control a trace needs the rights to query the router and to subscribe to KEY.

With --stack this program subscribes to KEY, and prints a table for each message that collects times on its way (zonda put --stack, \
`.timestamp_instrumentation(..)` in a program); with --ask it sends queries to KEY, which takes no help of the other programs. A step \
`a -> b` lasts from the routing of node a to that of node b: what waits in a, and the link. Steps between nodes are as exact as their \
clocks. Several messages of one way have a table of their times at the end.

Exit code: 0 when done, also by Ctrl-C; 1 if no router traces, or no queryable answers; 2 for bad usage.";

/// Longest time of a trace, in seconds.
const SECONDS_MAX: u64 = 3600;

/// Time between two looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time that a router may take longer than the trace.
const SLACK: Duration = Duration::from_secs(2);

/// Print messages as they pass the links of a router.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Trace {
    /// The key expression of the messages
    #[arg(value_name = "KEY", value_parser = super::acl::key)]
    key: KeyExpr<'static>,
    /// The router: its id, or `any` for each that is reached; the only neighbour by default
    #[arg(long, value_name = "ZID|any")]
    router: Option<Whom>,
    /// Show where messages spend their time, from node to node
    #[arg(long, conflicts_with = "router")]
    stack: bool,
    /// Send a query to KEY, as many as -n says, and show the way of the replies
    #[arg(long, requires = "stack")]
    ask: bool,
    /// End after this time
    #[arg(long, value_name = "NUMBER", default_value_t = SECONDS_MAX, value_parser = clap::value_parser!(u64).range(1..=SECONDS_MAX))]
    seconds: u64,
    /// End after so many lines, or with --stack messages
    #[arg(short = 'n', long, value_name = "NUMBER")]
    count: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

/// Lines of a trace.
struct Lines {
    as_json: bool,
    /// Time of the first line, in seconds since 1970.
    begin: Option<f64>,
    printed: u64,
    limit: u64,
    /// The error of a router that does not trace.
    error: Option<String>,
    /// The routers that trace.
    routers: BTreeSet<String>,
}

impl Trace {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        if self.stack {
            return self.show_stacks(&interrupt);
        }
        let session = self.connection.open()?;
        await_attempts(&session);
        let outcome = self.trace(&session, &interrupt);
        session.close().wait()?;
        outcome
    }

    fn trace(&self, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
        let whom = chosen(self.router.as_ref(), session)?;
        let place = match whom {
            Whom::Any => "@/*/router".to_owned(),
            Whom::Node(zid) => format!("@/{zid}/*"),
        };
        let selector = format!("{place}/trace?seconds={};key={}", self.seconds, self.key);
        let token = CancellationToken::default();
        let replies = session
            .get(&selector)
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None)
            .timeout(Duration::from_secs(self.seconds) + SLACK)
            .cancellation_token(token.clone())
            .wait()?;
        let mut lines = Lines {
            as_json: self.connection.json,
            begin: None,
            printed: 0,
            limit: self.count.unwrap_or(u64::MAX),
            error: None,
            routers: BTreeSet::new(),
        };
        // Lines until the routers end, Ctrl-C, or enough lines.
        while !interrupt.happened() && lines.printed < lines.limit {
            match replies.recv_timeout(LOOK_EVERY) {
                Ok(Some(reply)) => lines.take(&reply),
                Ok(None) => {}
                Err(RecvError::Closed) => break,
                Err(error) => return Err(error.into()),
            }
        }
        token.cancel().wait()?;
        lines.finish()
    }
}

impl Lines {
    /// Prints the messages of a reply.
    fn take(&mut self, reply: &Reply) {
        let sample = match reply.result() {
            Ok(sample) => sample,
            Err(error) => {
                let text = String::from_utf8_lossy(&error.payload().to_bytes()).into_owned();
                self.error.get_or_insert(text);
                return;
            }
        };
        let router = sample.key_expr().as_str().split('/').nth(1);
        let router = router.unwrap_or_default().to_owned();
        if self.routers.insert(router.clone()) {
            complain(format_args!("router {router} traces"));
        }
        let told: Value = serde_json::from_slice(&sample.payload().to_bytes()).unwrap_or_default();
        for pass in told["passes"].as_array().into_iter().flatten() {
            if self.printed >= self.limit {
                return;
            }
            self.printed += 1;
            self.show(&router, pass);
        }
        if let Some(count) = told["unrecorded"].as_u64().filter(|count| *count > 0) {
            complain(format_args!(
                "note: router {router} has not recorded {count} messages: there were too many"
            ));
        }
    }

    fn show(&mut self, router: &str, pass: &Value) {
        if self.as_json {
            let mut pass = pass.clone();
            pass["router"] = json!(router);
            return print(format_args!("{pass}"));
        }
        let at = pass["at"].as_f64().unwrap_or_default();
        let since = at - *self.begin.get_or_insert(at);
        let word = |name: &str| pass[name].as_str().unwrap_or("?").to_owned();
        let [kind, key, way, role, zid] = ["kind", "key", "way", "role", "zid"].map(word);
        let (bytes, key) = (&pass["bytes"], plain(&key).into_owned());
        print(format_args!(
            "{since:>9.3} s  router {router}  {kind} {key}  {bytes} B  {way} {role} {zid}"
        ));
    }

    fn finish(self) -> Result<(), Failure> {
        match (!self.routers.is_empty(), self.error) {
            (true, None) => Ok(()),
            (true, Some(error)) => {
                complain(format_args!(
                    "note: a router does not trace: {}",
                    plain(&error)
                ));
                Ok(())
            }
            (false, error) => {
                let reason = error.unwrap_or_else(|| {
                    "it does not let its admin space be read (adminspace/*, or a rule of access control), or does not \
                     know the question"
                        .into()
                });
                Err(Failure::Run(format!(
                    "no router traces: {}",
                    plain(&reason)
                )))
            }
        }
    }
}
