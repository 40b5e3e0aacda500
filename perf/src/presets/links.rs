// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf links`: the table of message-io's study. For each transport, the share of its speed
//! that this project, message-io and the reference reach: throughput of a gigabyte, and the one-way
//! time of a byte with both ends on one thread.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use zonda_program::{Failure, seconds};

use super::{RecordArgs, flow};
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::Link;
use crate::measure::measure;
use crate::reference::{MessageIo, Reference};
use crate::scenario::rates::Pace;
use crate::scenario::sizes::one_size;
use crate::scenario::{Scenario, Topology, Trips, bytes};
use crate::surroundings::note;
use crate::system::{Kind, MESSAGE_IO, Span, System, ZENOH, ZONDA};
use crate::workers::is_available;

/// Payload of the throughput: the largest round number that all four send in one datagram.
const CHUNK: usize = 65_000;
/// Bytes of the throughput, as in the study.
const BYTES: u64 = 1 << 30;
/// Bytes with `--quick`.
const BYTES_QUICK: u64 = 1 << 28;
/// The protocol without a library.
const NATIVE: &str = "native";
/// This project with a separate runtime between the two ends.
const THREADS: &str = "zonda, own threads";
/// Cells of a system without the transport, and of one that was not requested.
const NO_TRANSPORT: &str = "none";
const NOT_ASKED: &str = "not asked";

/// Examples in the help, and the meaning of the table.
const HELP: &str = "\
Examples:
  zonda perf links --quick                              about a minute
  zonda perf links --with-message-io peers/message-io/target/release \\
                   --with-zenoh peers/zenoh/target/release
  zonda perf links --transports tcp,ws                  two of them
  zonda perf links --json links.json                    kept for perf compare

How to read it:
  GB/s       of payload that arrived, in messages of 65000 bytes, from one process to another; in brackets
             the efficiency, the share of what the native protocol moves
  us         median of one message of 1 byte from the call that sends it until it is received, both ends on
             one thread of one process; in brackets the overhead, what is more than native
  native     tcp: bytes without frames; framed: a length before each message; udp: datagrams; ws: tungstenite;
             tls: rustls; unix: a socket in the file system; all on blocking sockets. quic: quinn, run by the
             thread that waits
  zonda      two sessions, in the second table on a runtime of the calling thread
  own threads  the same on the default runtime: a message changes threads on its way
  lost %     of zonda's messages over UDP. What counts is what arrived; the others lose, too, and do not say it
  none       it has no such transport";

/// Options of `perf links`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Links {
    /// Transports to measure
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_value = "udp,tcp,framed,ws,tls,quic,unix")]
    transports: Vec<Transport>,
    /// A quarter of the bytes, in two short rounds
    #[arg(long)]
    quick: bool,
    /// Bytes that have to arrive in each round [default: 1G; 256M with --quick]
    #[arg(long, value_name = "SIZE", value_parser = one_size)]
    bytes: Option<usize>,
    /// Send single bytes for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    seconds: Duration,
    /// Measure everything this often; the tables show the median [default: 5; 2 with --quick]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: Option<u32>,
    #[command(flatten)]
    message_io: MessageIo,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    kept: RecordArgs,
    /// Only say what would be measured, and how long it would take
    #[arg(long)]
    list: bool,
}

/// A row of the tables.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// Datagrams
    Udp,
    /// A stream of bytes; nodes frame them all the same
    Tcp,
    /// Messages over TCP
    Framed,
    /// WebSocket
    Ws,
    /// TLS over TCP
    Tls,
    /// A socket in the file system
    Unix,
    /// A stream of QUIC
    Quic,
}

impl Transport {
    /// Returns the link, if it is available, and the row's name with a blank, which begins its
    /// entries' titles.
    fn row(self) -> Option<(Link, &'static str)> {
        let row = match self {
            Transport::Udp => (Link::Udp, "udp "),
            Transport::Tcp => (Link::Tcp, "tcp "),
            Transport::Framed => (Link::Tcp, "framed tcp "),
            Transport::Ws => (Link::Ws, "ws "),
            Transport::Tls => (Link::Tls, "tls "),
            Transport::Quic => (Link::Quic, "quic "),
            #[cfg(unix)]
            Transport::Unix => (Link::Unix, "unix "),
            #[cfg(not(unix))]
            Transport::Unix => return None,
        };
        Some(row).filter(|(link, _)| is_available(*link))
    }
}

impl Links {
    /// Measures, prints the tables and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let rounds = self.rounds.unwrap_or(if self.quick { 2 } else { 5 });
        // flows and one-way messages of every transport
        let (flows, ways) = (self.flow_span(), self.way_span());
        let systems = self.systems()?;
        let mut all = self.entries("flow", &systems, &flow(Topology::PeerToPeer, CHUNK), flows);
        let trips = Trips::new(Topology::OneThread, 1, Pace::BackToBack);
        all.extend(self.entries("way", &systems, &Scenario::Trips(trips), ways));
        let mut settings = settings(rounds, ways, json!("default"));
        settings.insert("bytes".into(), json!(flows.bytes));
        let campaign = Campaign {
            tool: "links",
            settings,
            rounds,
            json: self.kept.json.as_deref(),
            is_list: self.list,
            keeps_samples: false,
            measure: &measure,
        };
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // tables
        let tables = self.tables(&outcome.entries, &systems);
        let legend = format!(
            "{}, fresh programs in each, systems in turn. Throughput: until {} arrived. See --help.",
            outcome.rounds(),
            bytes(flows.bytes as usize)
        );
        outcome.print(&format!("{tables}\n{legend}"));
        outcome.finish(self.kept.json.as_deref())
    }

    /// Returns the span of a flow.
    fn flow_span(&self) -> Span {
        let usual = if self.quick { BYTES_QUICK } else { BYTES };
        Span {
            bytes: self.bytes.map_or(usual, |bytes| bytes as u64),
            ..Span::new(0.1, 0.0)
        }
    }

    /// Returns the span for which single bytes are sent.
    fn way_span(&self) -> Span {
        let seconds = self.seconds.as_secs_f64();
        Span::new(seconds / 4.0, seconds)
    }

    /// Returns the systems, one for each column.
    fn systems(&self) -> Result<Vec<System>, Failure> {
        let threads = zonda::config::RuntimeKind::default().name();
        let mut all = vec![
            System::new(NATIVE, Kind::Bare),
            System::own(ZONDA, None),
            System::own(THREADS, Some(threads)),
        ];
        let message_io = self.message_io.programs()?;
        let message_io = message_io.map(|directory| Kind::MessageIo(directory.to_owned()));
        all.extend(message_io.map(|kind| System::new(MESSAGE_IO, kind)));
        all.extend(System::zenoh(self.reference.programs_one_way()?));
        Ok(all)
    }

    /// Returns a scenario on each transport with each system that supports it.
    fn entries(&self, what: &str, systems: &[System], of: &Scenario, span: Span) -> Vec<Entry> {
        let mut all = Vec::new();
        for transport in &self.transports {
            // a transport that this build lacks is reported and left out
            let Some((link, label)) = transport.row() else {
                let name = transport.to_possible_value();
                let name = name.map(|value| value.get_name().to_owned());
                let name = name.unwrap_or_default();
                note(&format!(
                    "{name} is left out: this build, or this system, does not have it"
                ));
                continue;
            };
            let is_stream = *transport == Transport::Tcp;
            // each system on this link
            let mut systems = systems.to_vec();
            systems.retain(|system| what == "way" || system.name != THREADS);
            for system in &mut systems {
                (system.link, system.is_stream) = (link, is_stream);
            }
            all.extend(entries(label, &[*of], &systems, |_| span));
        }
        all
    }

    /// Returns both tables.
    fn tables(&self, entries: &[Entry], systems: &[System]) -> String {
        let column = |name: &'static str| (name, systems.iter().any(|s| s.name == name));
        let flows = [NATIVE, ZONDA, MESSAGE_IO, ZENOH].map(column);
        let ways = [NATIVE, ZONDA, THREADS, MESSAGE_IO, ZENOH].map(column);
        format!(
            "\nThroughput, GB/s (share of native)\n\n{}\n\nOne way of 1 byte, us (more than native)\n\n{}",
            self.table(entries, &flows, share),
            self.table(entries, &ways, overhead)
        )
    }

    /// Returns a table with a row for each transport and a column for each system that was or could
    /// have been requested.
    fn table(&self, entries: &[Entry], columns: &[(&str, bool)], figure: Figure) -> String {
        let mut rows = Vec::new();
        for (_, label) in self.transports.iter().filter_map(|t| t.row()) {
            // the entries of this transport, by system
            let here = entries.iter().filter(|e| e.title().starts_with(label));
            let here: Vec<&Entry> = here.collect();
            let of = |name: &str| -> Vec<&Entry> {
                let of = here.iter().filter(|e| e.system.name == name);
                of.copied().collect()
            };
            let native = of(NATIVE).into_iter().find(|e| figure(e, e).is_some());
            // a figure, or the reason why there is none
            let texts = columns.iter().map(|&(name, is_asked)| {
                let mut of = of(name).into_iter().peekable();
                let is_here = of.peek().is_some();
                let shown = of.find_map(|e| figure(e, native.unwrap_or(e)));
                match (shown, is_asked) {
                    (Some(text), _) => text,
                    (None, false) => NOT_ASKED.into(),
                    (None, true) if is_here => "failed".into(),
                    (None, true) => NO_TRANSPORT.into(),
                }
            });
            rows.push(
                [label.trim_end().to_owned()]
                    .into_iter()
                    .chain(texts)
                    .collect::<Vec<_>>(),
            );
        }
        let names = columns.iter().map(|(name, _)| *name);
        zonda_program::table(["transport"].into_iter().chain(names), rows, 1..)
    }
}

/// A function that formats the cell of an entry, given the native one.
type Figure = fn(&Entry, &Entry) -> Option<String>;

/// Formats throughput, and its share of the native one.
fn share(entry: &Entry, native: &Entry) -> Option<String> {
    let gigabytes = |entry: &Entry| {
        let size = entry.scenario.flow()?.size as f64;
        Some(entry.cell.median("rate")? * size / 1e9)
    };
    let own = gigabytes(entry)?;
    let mut text = format!("{own:.2}");
    if entry.system.name != NATIVE
        && let Some(native) = gigabytes(native)
    {
        text += &format!(" ({:.0} %)", 100.0 * own / native);
    }
    let (lost, offered) = (entry.cell.median("lost"), entry.cell.median("offered"));
    if entry.system.link.is_lossy()
        && let Some((lost, offered)) = lost.zip(offered)
    {
        text += &format!(", lost {:.1} %", 100.0 * lost / offered);
    }
    Some(text)
}

/// Formats the one-way time, and its difference to the native one.
fn overhead(entry: &Entry, native: &Entry) -> Option<String> {
    entry.scenario.trips()?;
    let own = entry.cell.median("p50")?;
    match native.cell.median("p50") {
        Some(native) if entry.system.name != NATIVE => {
            Some(format!("{own:.2} ({:+.2})", own - native))
        }
        _ => Some(format!("{own:.2}")),
    }
}
