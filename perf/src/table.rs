// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table that `perf quick` prints, in a form that can be pasted into a Markdown page.

use super::case::{Case, Kind, bytes};
use super::record;
use super::result::{Cell, Spread, beside};

/// What stands where there is no figure.
pub const NONE: &str = "-";
/// The programs in the order in which a message meets them.
pub const ROLES: [&str; 3] = ["sender", "router", "receiver"];

/// One row per cell, in the order of the plan. `references` are the systems that get a column of
/// ratios.
pub fn table(cells: &[Cell], references: &[&str]) -> String {
    let mut header: Vec<String> = [
        "case",
        "system",
        "msg/s",
        "min..max",
        "Gb/s",
        "CPU ns/msg",
        "p50 µs",
        "p90",
        "p99",
        "p99.9",
        "max",
    ]
    .map(String::from)
    .into();
    header.extend(references.iter().map(|r| format!("x {r}")));
    let mut last: Option<Case> = None;
    let rows = cells.iter().map(|cell| {
        let name = if last == Some(cell.case) {
            String::new()
        } else {
            title(&cell.case)
        };
        last = Some(cell.case);
        row(cells, cell, name, references)
    });
    zonda_program::table(header, rows, 2..)
}

fn title(case: &Case) -> String {
    let what = match case.kind {
        Kind::Throughput => "",
        Kind::RoundTrip => "ping ",
    };
    format!("{what}{} {}", bytes(case.size), case.topology)
}

fn row(cells: &[Cell], cell: &Cell, name: String, references: &[&str]) -> Vec<String> {
    let rate = cell.rate();
    let mut row = vec![
        name,
        cell.system.to_owned(),
        rate.map_or(NONE.into(), |r| short(r.median)),
        rate.map_or(NONE.into(), |r| range(r.min, r.max)),
        cell.bits()
            .map_or(NONE.into(), |b| format!("{:.2}", b / 1e9)),
        cpu(cell),
    ];
    let micros = cell.micros();
    row.extend((0..5).map(|i| {
        micros
            .get(i)
            .map_or(NONE.into(), |(_, s)| format!("{:.1}", s.median))
    }));
    row.extend(references.iter().map(|reference| {
        let other = beside(cells, cell, reference).filter(|other| other.system != cell.system);
        other
            .and_then(|o| cell.times_better(o))
            .map_or(NONE.into(), |x| format!("{x:.2}"))
    }));
    row
}

/// Sender, router, receiver.
fn cpu(cell: &Cell) -> String {
    let figures: Vec<String> = cell
        .cpu()
        .iter()
        .map(|(_, ns)| ns.map_or("n/a".into(), nanos))
        .collect();
    if figures.is_empty() {
        NONE.into()
    } else {
        figures.join(" / ")
    }
}

/// A metric of each program: sender, router, receiver.
pub fn by_role(cell: &record::Cell, metric: &str, text: impl Fn(Spread) -> String) -> String {
    let figures = ROLES.map(|role| cell.spread(&format!("{metric}_{role}")));
    let texts: Vec<String> = figures.into_iter().flatten().map(text).collect();
    match texts.is_empty() {
        true => NONE.into(),
        false => texts.join(" / "),
    }
}

/// The middle and, where they differ from it, the ends.
pub fn spread(s: Spread, text: fn(f64) -> String) -> String {
    match (text(s.min), text(s.max)) {
        (min, max) if min == max => min,
        (min, max) => format!("{} ({min}..{max})", text(s.median)),
    }
}

/// Whole nanoseconds up to 9999, then thousands.
pub fn nanos(ns: f64) -> String {
    if ns < 9999.5 {
        format!("{ns:.0}")
    } else {
        short(ns)
    }
}

/// From the smallest to the largest, or nothing if they look alike.
pub fn range(min: f64, max: f64) -> String {
    if short(min) == short(max) {
        NONE.into()
    } else {
        format!("{}..{}", short(min), short(max))
    }
}

/// Three significant digits with a unit: 2.93M, 870k, 12.0.
pub fn short(figure: f64) -> String {
    let (value, unit) = match figure {
        f if f >= 999.5e3 => (f / 1e6, "M"),
        f if f >= 999.5 => (f / 1e3, "k"),
        f => (f, ""),
    };
    match value {
        v if v >= 99.95 => format!("{v:.0}{unit}"),
        v if v >= 9.995 => format!("{v:.1}{unit}"),
        v => format!("{v:.2}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::Topology;
    use super::super::event::Count;
    use super::super::footprint::Cost;
    use super::super::result::Round;
    use super::super::throughput::Flow;
    use super::*;

    #[test]
    fn figures_are_short() {
        for (figure, text) in [
            (2_930_000.0, "2.93M"),
            (118_400_000.0, "118M"),
            (999_900.0, "1.00M"),
            (870_400.0, "870k"),
            (12_000.0, "12.0k"),
            (99.96, "100"),
            (7.0, "7.00"),
        ] {
            assert_eq!(short(figure), text);
        }
    }

    fn cell(system: &'static str, rates: &[f64]) -> Cell {
        let case = Case {
            kind: Kind::Throughput,
            topology: Topology::PeerToPeer,
            size: 1024,
            manner: None,
        };
        let flow = |rate: &f64| {
            let counts = vec![Count {
                messages: 1,
                nanos: 1,
            }];
            let sender = Cost {
                cpu_nanos: Some(41.6),
                ..Cost::default()
            };
            Round::Flow(Flow {
                rate: *rate,
                costs: vec![("sender", sender), ("receiver", Cost::default())],
                counts,
            })
        };
        let rounds = rates.iter().map(flow).collect();
        Cell {
            case,
            system,
            rounds,
            trouble: None,
        }
    }

    #[test]
    fn rows_stand_beside_each_other() {
        let cells = [
            cell("zonda", &[3e6, 1e6, 2e6]),
            cell("bare", &[4e6]),
            cell("zenoh", &[]),
        ];
        let text = table(&cells, &["bare", "zenoh"]);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|l| l.split('|').map(str::trim).collect())
            .collect();
        let cpu = "42 / n/a";
        assert_eq!(
            rows[2][1..14],
            [
                "1KiB p2p",
                "zonda",
                "2.00M",
                "1.00M..3.00M",
                "16.38",
                cpu,
                "-",
                "-",
                "-",
                "-",
                "-",
                "0.50",
                "-"
            ]
        );
        assert_eq!(
            rows[3][1..14],
            [
                "", "bare", "4.00M", "-", "32.77", cpu, "-", "-", "-", "-", "-", "-", "-"
            ]
        );
        assert_eq!(rows[4][2..5], ["zenoh", "-", "-"]);
    }
}
