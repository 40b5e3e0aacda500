// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda top`: a table of a router's neighbours, which the router's admin space answers.

#[cfg(feature = "top")]
mod live;
#[cfg(not(feature = "top"))]
#[path = "plain.rs"]
mod live;
mod rows;
mod snapshot;
mod why;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};
use zonda::config::ZenohId;
use zonda::{Session, Wait};
use zonda_program::{
    Connection, Failure, Interrupt, await_attempts, plain, print, print_lines, some_seconds, table,
};

use super::remote::{Whom, chosen};
use rows::{COLUMNS, FULLEST, Row, Stalls, sort};
use snapshot::Snapshot;

const HELP: &str = "\
Examples:
  zonda top -e tcp/127.0.0.1:7447                the neighbours of this router
  zonda top -e tcp/127.0.0.1:7447 --once --why   one line: what stalls
  zonda top -e tcp/127.0.0.1:7447 --json         an object for each interval

Keys: s sorts by the next column, r reverses the order, p pauses, q or Ctrl-C leaves. Without a terminal it prints one \
table, as with --once.

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time, or when the router does not answer; 2 for bad usage.";

/// Show the neighbours of a router, what waits for them, and what stalls.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Top {
    /// Ask this router [default: the one that this node is connected to]
    #[arg(long, value_name = "ZID")]
    router: Option<ZenohId>,
    /// Time between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = some_seconds)]
    interval: Duration,
    /// Look twice, print one table, and leave
    #[arg(long)]
    once: bool,
    /// Name what stalls in one line; with --once in place of the table
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Rates of a router between two looks.
#[derive(Clone, Debug)]
struct View {
    router: String,
    rows: Vec<Row>,
    /// Seconds since the router began to count.
    up_s: Option<f64>,
    memory: u64,
    memory_budget: u64,
    sessions: u64,
    sessions_max: u64,
    why: String,
}

impl View {
    fn header(&self) -> String {
        let up = match self.up_s {
            Some(seconds) => format!("up {}", span(seconds)),
            None => "up ?".to_owned(),
        };
        let sum = |of: fn(&Row) -> u64| self.rows.iter().map(of).fold(0, u64::saturating_add);
        format!(
            "router {}, {up}, {} of {} neighbours, memory {} of {} B, in {} msg/s {} B/s, out {} msg/s {} B/s, queued {} B, dropped {}/s",
            plain(&self.router),
            self.sessions,
            self.sessions_max,
            self.memory,
            self.memory_budget,
            sum(|row| row.in_messages_per_s),
            sum(|row| row.in_bytes_per_s),
            sum(|row| row.out_messages_per_s),
            sum(|row| row.out_bytes_per_s),
            sum(|row| row.queued_bytes),
            sum(|row| row.dropped_per_s),
        )
    }

    fn to_json(&self) -> Value {
        json!({
            "router": self.router,
            "up_s": self.up_s,
            "memory": self.memory,
            "memory_budget": self.memory_budget,
            "sessions": self.sessions,
            "sessions_max": self.sessions_max,
            "neighbours": self.rows,
            "why": self.why,
        })
    }
}

/// Formats a time to the second.
fn span(seconds: f64) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(seconds as u64))
}

/// The questions to one router, and its last answer.
struct Asker<'a> {
    session: &'a Session,
    whom: Whom,
    own: String,
    before: Snapshot,
    stalls: Stalls,
}

impl<'a> Asker<'a> {
    /// Asks for the first time.
    fn begin(session: &'a Session, whom: Whom) -> Result<Self, Failure> {
        let (_, before) = look(session, &whom)?;
        Ok(Asker {
            session,
            whom,
            own: session.zid().to_string(),
            before,
            stalls: Stalls::default(),
        })
    }

    /// Asks again; returns what has changed since.
    fn next(&mut self) -> Result<View, Failure> {
        let (router, now) = look(self.session, &self.whom)?;
        let events = self.whom.insist(self.session, "events")?;
        let events = events.first().map(|(_, text)| text.as_str());
        let events: Value = serde_json::from_str(events.unwrap_or_default()).unwrap_or_default();
        let clock = SystemTime::now().duration_since(UNIX_EPOCH);
        let clock = clock.map_or(0.0, |since| since.as_secs_f64());
        let mut rows = self.stalls.rows(&self.before, &now);
        // The link of this program is no news.
        rows.retain(|row| row.zid != self.own);
        let view = View {
            router,
            up_s: events["began"].as_f64().map(|at| (clock - at).max(0.0)),
            memory: now.memory,
            memory_budget: now.memory_budget,
            sessions: now.sessions,
            sessions_max: now.sessions_max,
            why: why::why(&rows, &self.before, &now, &events, clock),
            rows,
        };
        self.before = now;
        Ok(view)
    }
}

fn look(session: &Session, whom: &Whom) -> Result<(String, Snapshot), Failure> {
    let answers = whom.insist(session, "metrics")?;
    let first = answers.into_iter().next();
    let (router, text) = first.unwrap_or_default();
    let mut snapshot = Snapshot::read(&text, Instant::now());
    for (_, root) in whom.insist(session, "")? {
        snapshot.add_neighbours(&serde_json::from_str(&root).unwrap_or_default());
    }
    Ok((router, snapshot))
}

impl Top {
    /// Prints the table once, or until the user leaves.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        await_attempts(&session);
        let shown = self.show(&session, &interrupt);
        let closed = session.close().wait();
        shown?;
        Ok(closed?)
    }

    fn show(&self, session: &Session, interrupt: &Interrupt) -> Result<(), Failure> {
        let named = self.router.map(Whom::Node);
        let whom = chosen(named.as_ref(), session)?;
        let mut asker = Asker::begin(session, whom)?;
        if !self.once && !self.connection.json && live::is_possible() {
            return live::run(asker, self.interval, self.why, interrupt);
        }
        let repeats = self.connection.json && !self.once;
        loop {
            if interrupt.wait_until(Instant::now() + self.interval) {
                return Ok(());
            }
            match asker.next() {
                Ok(mut view) => self.print(&mut view),
                Err(error) if repeats => zonda_program::complain(format_args!("{error}")),
                Err(error) => return Err(error),
            }
            if !repeats {
                return Ok(());
            }
        }
    }

    fn print(&self, view: &mut View) {
        sort(&mut view.rows, FULLEST, false);
        if self.connection.json {
            return print(format_args!("{}", view.to_json()));
        }
        if !(self.once && self.why) {
            print(format_args!("{}", view.header()));
            let rows = view.rows.iter().map(Row::cells);
            print_lines(format_args!("{}", table(COLUMNS, rows, 2..10)));
        }
        if self.why {
            print(format_args!("{}", view.why));
        }
    }
}
