// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table of requests per second, latency and CPU time of every server, in rounds.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, json};
use zonda_perf::Progress;
use zonda_perf::tools::{
    Better, Cell, Record, Round, X, load_average, micros, of_rounds, pairs, short, summary,
};
use zonda_program::{Failure, Interrupt, print, print_lines};

use super::arguments::PerfArgs;
use super::load::{Load, Mode, Outcomes};
use super::system::{Broker, Order, Server, Spent};
use crate::ingest::{Ack, On, SinkKind};

/// Names of the three CPU times.
const PROGRAMS: [&str; 3] = ["cpu_server", "cpu_broker", "cpu_clients"];
/// Text in place of a missing figure.
const NONE: &str = "-";
/// Topic of all measurements.
const TOPIC: &str = "perf";

/// A figure of one server.
#[derive(Clone, Copy, PartialEq)]
struct Case {
    mode: Mode,
    clients: u16,
    on: On,
}

/// Measures all requested figures, and prints them.
pub(super) fn run(args: &PerfArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    // an empty record of all cases
    let broker = Broker::of(args, interrupt)?;
    let cases = cases(args);
    let mut record = Record::begin("kafka", settings(args));
    record.cells = cases.iter().map(cell).collect();
    let mut progress = Progress::new(cases.len() * args.rounds as usize);
    // rounds over all cases, so that drifts of the machine spread over them
    for _ in 0..args.rounds {
        for (case, cell) in cases.iter().zip(&mut record.cells) {
            let name = cell.to_string();
            progress.begin(&name);
            let round = measure(*case, args, &broker, interrupt)?;
            progress.step(&name, &round.line(&["rate", "p50", "p99"]));
            cell.append(round);
        }
    }
    // results: the table, and the requested files
    drop(progress);
    record.load_average_after = load_average();
    show(&cases, &record, args);
    if let Some(file) = &args.json {
        record.write(file)?;
    }
    if let Some(file) = &args.csv {
        write_csv(&record, file)?;
    }
    Ok(())
}

/// Returns the cases, with the servers next to each other, so that they alternate within a round.
fn cases(args: &PerfArgs) -> Vec<Case> {
    let mut cases = Vec::new();
    for &mode in &args.modes {
        for clients in args.clients() {
            let servers = args.servers();
            cases.extend(servers.into_iter().map(|on| Case { mode, clients, on }));
        }
    }
    cases
}

fn cell(case: &Case) -> Cell {
    let mut cell = Cell::new(case.on.to_string(), case.mode.name());
    cell.x = Some(X {
        name: "connections".to_owned(),
        unit: "open".to_owned(),
        value: f64::from(case.clients),
    });
    cell
}

fn settings(args: &PerfArgs) -> Map<String, serde_json::Value> {
    let settings = json!({
        "rounds": args.rounds, "seconds": args.seconds.as_secs_f64(), "rate": args.rate, "body": args.body,
        "broker": if args.mock { "mock" } else { "real" }, "sink": format!("{:?}", args.sink).to_lowercase(),
        "linger_ms": args.producer.linger_ms, "batch_bytes": args.producer.batch_bytes,
        "compression": args.producer.compression, "acks": args.producer.acks,
    });
    match settings {
        serde_json::Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn measure(
    case: Case,
    args: &PerfArgs,
    broker: &Broker,
    interrupt: &Interrupt,
) -> Result<Round, Failure> {
    // a fresh server for each figure
    interrupt.check()?;
    let order = Order {
        on: case.on,
        ack: Ack::Queue,
        topic: TOPIC,
    };
    let server = Server::start(order, args, broker, interrupt)?;
    let mut load = Load {
        address: server.address,
        clients: usize::from(case.clients),
        mode: case.mode,
        body: usize::from(args.body),
        rate: None,
    };
    // first load: requests one after the other, for rate and CPU time
    let warm_up = (args.seconds / 2).min(Duration::from_millis(500));
    let mut spent = Vec::new();
    let closed = load.run(warm_up, args.seconds, || {
        spent.push(Spent::now(server.pid(), broker.pid));
    });
    let mut round = Round::default();
    add_rate(&mut round, &closed, args.seconds);
    if let [begin, end] = spent[..] {
        add_cpu(&mut round, end.since(begin), closed.accepted);
    }
    // second load: requests on a schedule, for latencies
    load.rate = Some(f64::from(args.rate));
    let open = load.run(warm_up, args.seconds, || {});
    add_latency(&mut round, &open, args.seconds);
    round.fault = fault(&closed, "at once").or_else(|| fault(&open, "on schedule"));
    server.kill();
    Ok(round)
}

fn add_rate(round: &mut Round, seen: &Outcomes, span: Duration) {
    let all = seen.accepted + seen.refused;
    round.add(
        "rate",
        "req/s",
        Better::Higher,
        seen.accepted as f64 / span.as_secs_f64(),
    );
    round.add(
        "refused",
        "%",
        Better::Lower,
        100.0 * seen.refused as f64 / all.max(1) as f64,
    );
    round.add("failed", "req", Better::Lower, seen.failures() as f64);
}

fn add_cpu(round: &mut Round, spent: [Option<f64>; 3], accepted: u64) {
    for (name, micros) in PROGRAMS.into_iter().zip(spent) {
        if let Some(micros) = micros.filter(|_| accepted > 0) {
            round.add(name, "us/req", Better::Lower, micros / accepted as f64);
        }
    }
}

fn add_latency(round: &mut Round, seen: &Outcomes, span: Duration) {
    let answered = seen.latencies.len();
    round.add(
        "achieved",
        "req/s",
        Better::Neither,
        answered as f64 / span.as_secs_f64(),
    );
    for (name, percentile) in [
        ("p50", 50.0),
        ("p99", 99.0),
        ("p99.9", 99.9),
        ("max", 100.0),
    ] {
        if answered > 0 {
            round.add(
                name,
                "us",
                Better::Lower,
                micros(&seen.latencies, percentile),
            );
        }
    }
    round.nanos_times = pairs(&seen.latencies);
}

fn fault(seen: &Outcomes, how: &str) -> Option<String> {
    if let Some((reason, count)) = seen.failed.iter().next() {
        return Some(format!("{how}: {count} requests failed: {reason}"));
    }
    (seen.unsent > 0).then(|| format!("{how}: {} requests were never sent", seen.unsent))
}

fn show(cases: &[Case], record: &Record, args: &PerfArgs) {
    // heading with the conditions of the measurement
    print(format_args!("{}", summary()));
    let broker = match (args.sink, args.mock) {
        (SinkKind::Kafka, true) => "a simulated broker on the same machine",
        (SinkKind::Kafka, false) => {
            "the broker on the same machine as server and clients if its CPU time is shown"
        }
        _ => "no broker",
    };
    print(format_args!(
        "{}, {} s each, bodies of {} bytes, {broker}; latency at {} requests/s; CPU time of server, broker and clients per request, in us",
        of_rounds(args.rounds),
        args.seconds.as_secs_f64(),
        args.body,
        args.rate
    ));
    // the table, and notes about faults
    let heads = [
        "connections",
        "",
        "server",
        "req/s",
        "min..max",
        "x original",
        "503 %",
        "CPU/req",
        "p50 us",
        "p99 us",
        "p99.9 us",
        "max us",
    ];
    let rows = cases.iter().zip(&record.cells);
    let rows = rows.map(|(case, cell)| row(case, cell, cases, &record.cells));
    print_lines(format_args!("{}", zonda_program::table(heads, rows, 3..)));
    for cell in &record.cells {
        if let Some(note) = &cell.note {
            print(format_args!("{cell}: {note}"));
        }
    }
}

fn row(case: &Case, cell: &Cell, cases: &[Case], cells: &[Cell]) -> Vec<String> {
    let text = |metric: &str, digits: usize| match cell.median(metric) {
        Some(figure) => format!("{figure:.digits$}"),
        None => NONE.to_owned(),
    };
    let ends = cell
        .spread("rate")
        .map(|s| format!("{}..{}", short(s.min), short(s.max)));
    let rate = cell.median("rate");
    let original = original(case, cases, cells);
    let times = rate
        .zip(original)
        .map(|(own, original)| format!("{:.2}", own / original));
    vec![
        case.clients.to_string(),
        case.mode.name().to_owned(),
        cell.system.clone(),
        rate.map_or(NONE.to_owned(), short),
        ends.unwrap_or_else(|| NONE.to_owned()),
        times.unwrap_or_else(|| NONE.to_owned()),
        text("refused", 1),
        PROGRAMS.map(|program| text(program, 1)).join(" / "),
        text("p50", 0),
        text("p99", 0),
        text("p99.9", 0),
        text("max", 0),
    ]
}

/// Returns the requests per second of the study's server that this one is compared with.
fn original(case: &Case, cases: &[Case], cells: &[Cell]) -> Option<f64> {
    let on = match case.on {
        On::OriginalTokio | On::OriginalUring => return None,
        On::Runtime(zonda_runtime::RuntimeKind::Uring) => On::OriginalUring,
        On::Runtime(_) => On::OriginalTokio,
    };
    let other = Case { on, ..*case };
    let at = cases.iter().position(|case| *case == other)?;
    cells[at].median("rate")
}

/// Writes a line for each figure of each round.
fn write_csv(record: &Record, file: &Path) -> Result<(), Failure> {
    let mut text = String::from("server,mode,connections,metric,unit,round,value\n");
    for cell in &record.cells {
        let connections = cell.x.as_ref().map_or(0.0, |x| x.value);
        for (name, metric) in &cell.metrics {
            for (round, value) in metric.rounds.iter().enumerate() {
                let (system, case, unit) = (&cell.system, &cell.case, &metric.unit);
                // writing to a text does not fail
                let _ = writeln!(
                    text,
                    "{system},{case},{connections},{name},{unit},{},{value}",
                    round + 1
                );
            }
        }
    }
    std::fs::write(file, text).map_err(|error| Failure::doing(file.display(), error))
}
