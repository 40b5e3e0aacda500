// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page of a record: for each case one figure per metric over the varying quantity, with every
//! measured system, and at the end all figures as a table.

use serde_json::Value;

use super::chart::{Chart, Place, Point, Series};
use super::distribution;
use super::{Page, bars, boxes, colour, escape, fact, section, words};
use crate::numbers::Unit;
use crate::record::{Better, Cell, Record, X};
use crate::scenario::distinct;

/// Metrics in the order of their figures, and the order over rates; other metrics follow by name.
/// `bits` is computed from the rate and the size.
const ORDER: [&str; 2] = ["rate", "bits"];
const ORDER_OVER_RATES: [&str; 6] = ["p50", "p90", "p99", "p99.9", "max", "rate"];
/// Systems with a fixed colour on every page.
const SYSTEMS: [(&str, &str); 6] = [
    ("std", "c-dark"),
    ("bare sockets", "c-dark"),
    ("bare", "c-dark"),
    ("zonda", "c0"),
    ("zenoh", "c1"),
    ("node", "c2"),
];
/// The first colour of all other systems.
const OTHERS: usize = 3;

/// The meaning of the figures.
const LEGEND: &str = "Curves: median of the rounds; bands: slowest to fastest round, or around p50 from 2.5 to 97.5 % of the round trips where \
                      these are known; both axes are logarithmic. Bars: median, with a line from the slowest to the fastest round. Point at a dot or a bar for its figures.";
/// The case of a section with several cases, which no checkbox hides.
const SIDE_BY_SIDE: &str = "";
/// Metrics with bar charts.
const BARRED: [&str; 6] = [
    "bits",
    "p50",
    "p99",
    "cpu_sender",
    "cpu_router",
    "cpu_receiver",
];

/// Returns the whole page.
pub fn page(record: &Record) -> String {
    // a section for each group, then bars, then the table
    let systems = distinct(record.cells.iter().map(|c| c.system.clone()));
    let groups = groups(record);
    let sections: Vec<String> = groups.iter().map(|g| g.section(&systems)).collect();
    let mut body = sections.concat();
    body += &side_by_side(&groups, &systems);
    // without any figure, the table is open
    let is_open = body.is_empty();
    body += &everything(record, is_open);
    // bars of several cases are in one figure, which no checkbox of a case hides
    let drawn = groups.iter().zip(&sections);
    let drawn = drawn.filter(|(_, section)| !section.is_empty());
    let cases = distinct(drawn.map(|(group, _)| group.case.clone())).into_iter();
    let cases = boxes(
        "case",
        cases.map(|case| [case.clone(), words::case(&case), String::new()]),
    );
    // checkboxes for the systems, and the text above the figures
    let coloured = systems.iter();
    let coloured = coloured.map(|s| [s.clone(), s.clone(), class(s, &systems)]);
    let summary = words::summary(record, &systems).into_iter();
    let summary: Vec<String> = summary.map(|line| escape(&line)).collect();
    let legend = words::legend(&systems);
    Page {
        title: format!("zonda perf {}", record.tool),
        facts: facts(record),
        legend: format!(
            "<b>{}</b></p>\n<p>{}{LEGEND}",
            summary.join("<br>\n"),
            escape(&legend)
        ),
        boxes: cases + &boxes("system", coloured),
        body,
    }
    .html()
}

/// Cells of one case that differ in the same quantity.
struct Group<'r> {
    case: String,
    /// Name and unit of the quantity; empty for cells without one.
    x: (String, String),
    cells: Vec<&'r Cell>,
}

fn groups(record: &Record) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in &record.cells {
        let x = cell.x.as_ref();
        let x = x.map_or_else(Default::default, |x| (x.name.clone(), x.unit.clone()));
        match groups.iter_mut().find(|g| g.case == cell.case && g.x == x) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group {
                case: cell.case.clone(),
                x,
                cells: vec![cell],
            }),
        }
    }
    join_ends(&mut groups);
    groups
}

/// The end of the name of a case whose cells have no place, because they run as fast as possible.
const ENDLESS: &str = " back to back";

/// Moves cells without a place to the curves of their case over rates, beyond the last rate.
fn join_ends(groups: &mut Vec<Group<'_>>) {
    let (alone, mut curves): (Vec<_>, Vec<_>) = groups.drain(..).partition(|g| g.x.0.is_empty());
    for group in alone {
        let case = group.case.strip_suffix(ENDLESS).unwrap_or(&group.case);
        let is_same = |g: &&mut Group<'_>| g.case == case && g.x.0 == "rate";
        match curves.iter_mut().find(is_same) {
            Some(curve) => curve.cells.extend(group.cells),
            None => curves.push(group),
        }
    }
    *groups = curves;
}

impl Group<'_> {
    fn section(&self, systems: &[String]) -> String {
        // the speed ratio, which readers look for, is shown before the speed
        let ratios = self.ratios(systems);
        let ratios = ratios.map_or_else(String::new, |chart| chart.wide());
        let (mut first, mut others) = (String::new(), String::new());
        for metric in self.metrics() {
            let chart = self.chart(&metric, systems);
            // one place makes no curve; the table has its figures
            if !chart.series.iter().any(|s| s.points.len() > 1) {
                continue;
            }
            match first.is_empty() {
                true => first = chart.wide(),
                false => others += &chart.narrow(),
            }
        }
        // latencies at each place
        for (at, cells) in self.places() {
            let latencies = distribution::figures(&cells, &at, |system| class(system, systems));
            others += &latencies.unwrap_or_default();
        }
        if ratios.is_empty() && first.is_empty() && others.is_empty() {
            return String::new();
        }
        // title and content
        let title = match self.x.0.as_str() {
            "" => words::case(&self.case),
            x => format!("{} by {x}", words::case(&self.case)),
        };
        let content = format!(
            "<div class=\"wide\">{ratios}{first}</div>\n<div class=\"small\">{others}</div>"
        );
        section(&self.case, &title, &content)
    }

    /// Returns true if all cells are at one place, so that they make no curve.
    fn is_one_place(&self) -> bool {
        distinct(self.cells.iter().map(|cell| &cell.x)).len() == 1
    }

    /// Returns a row with a bar for each system.
    fn row(&self, name: &str, metric: &str, systems: &[String]) -> bars::Row {
        let bar = |cell: &&Cell| {
            let (point, _) = point(cell, metric)?;
            Some(bars::Bar {
                system: cell.system.clone(),
                class: class(&cell.system, systems),
                median: point.median,
                band: point.band,
                tip: point.tip,
            })
        };
        bars::Row {
            name: name.to_owned(),
            bars: self.cells.iter().filter_map(bar).collect(),
        }
    }

    /// Returns the cells at each place, with the place's name.
    fn places(&self) -> Vec<(String, Vec<&Cell>)> {
        let xs = distinct(self.cells.iter().map(|cell| &cell.x));
        let place = |x: &Option<X>| {
            let at = x.as_ref().map_or_else(
                || "back to back".to_owned(),
                |x| format!("at {} {}", Unit::named(&x.unit).label(x.value), x.unit),
            );
            let here = self.cells.iter().filter(|cell| cell.x == *x);
            (at, here.copied().collect())
        };
        xs.into_iter().map(place).collect()
    }

    /// Returns the metrics of these cells, in the order of their figures. Metrics that are neither
    /// good nor bad are left out.
    fn metrics(&self) -> Vec<String> {
        let metrics = self.cells.iter().flat_map(|c| &c.metrics);
        let judged = metrics.filter(|(_, metric)| metric.better != Better::Neither);
        let mut names = distinct(judged.map(|(name, _)| name.clone()));
        if self.x.0 == "size" && names.iter().any(|n| n == "rate") {
            names.push("bits".into());
        }
        let order: &[&str] = match self.x.0.as_str() {
            "rate" => &ORDER_OVER_RATES,
            _ => &ORDER,
        };
        names.sort_by_key(|name| order.iter().position(|o| o == name).unwrap_or(order.len()));
        names
    }

    /// Returns the chart of the first system's speed in multiples of each other system's: the table
    /// at a glance.
    fn ratios(&self, systems: &[String]) -> Option<Chart<'_>> {
        let (metric, is_time) = match self.x.0.as_str() {
            "rate" => ("p50", true),
            "size" => ("rate", false),
            _ => return None,
        };
        // the first system is compared with each other one
        let own = systems.first()?;
        let median = |system: &String, cell: &Cell| {
            let mut beside = self
                .cells
                .iter()
                .filter(|c| c.system == *system && c.x == cell.x);
            beside.next()?.median(metric)
        };
        // a series for each other system
        let mut series = Vec::new();
        for system in systems.iter().skip(1) {
            let mut points = Vec::new();
            for cell in self.cells.iter().filter(|c| c.system == *own) {
                let both = cell.median(metric).zip(median(system, cell));
                let ratio =
                    both.map(|(own, other)| if is_time { other / own } else { own / other });
                let Some(ratio) = ratio.filter(|r| r.is_finite() && *r > 0.0) else {
                    continue;
                };
                let x = cell
                    .x
                    .as_ref()
                    .map_or(Place::Beyond, |x| Place::Value(x.value));
                points.push(Point {
                    x,
                    median: ratio,
                    band: (ratio, ratio),
                    tip: format!("{cell}: {ratio:.2} times {system}"),
                });
            }
            points.sort_by(|a, b| order(a).total_cmp(&order(b)));
            if points.len() > 1 {
                series.push(Series {
                    name: format!("x {system}"),
                    class: class(system, systems),
                    points,
                });
            }
        }
        (!series.is_empty()).then(|| Chart {
            title: format!("{own}: how many times as fast"),
            x: (axis(&self.x.0), Unit::named(&self.x.1)),
            y: Unit::Count,
            series,
        })
    }

    fn chart(&self, metric: &str, systems: &[String]) -> Chart<'_> {
        let (mut unit, mut series) = (String::new(), Vec::new());
        // a series for each system that has figures
        for system in systems {
            let mut points = Vec::new();
            for cell in self.cells.iter().filter(|c| c.system == *system) {
                if let Some((point, of)) = point(cell, metric) {
                    points.push(point);
                    unit = of;
                }
            }
            points.sort_by(|a, b| order(a).total_cmp(&order(b)));
            if !points.is_empty() {
                series.push(Series {
                    name: system.clone(),
                    class: class(system, systems),
                    points,
                });
            }
        }
        Chart {
            title: heading(metric, &unit),
            x: (axis(&self.x.0), Unit::named(&self.x.1)),
            y: Unit::named(&unit),
            series,
        }
    }
}

/// Draws cases that make no curve, those at the same place in one section: a bar chart for each
/// metric.
fn side_by_side(groups: &[Group<'_>], systems: &[String]) -> String {
    let alone: Vec<&Group<'_>> = groups.iter().filter(|group| group.is_one_place()).collect();
    let place = |group: &Group<'_>| group.cells.first().and_then(|cell| cell.x.clone());
    let mut body = String::new();
    // one section for each place
    for at in distinct(alone.iter().map(|group| place(group))) {
        let here: Vec<_> = alone.iter().filter(|group| place(group) == at).collect();
        let names: Vec<&str> = here.iter().map(|group| group.case.as_str()).collect();
        let (common, names) = words::apart(&names);
        let mut figures = String::new();
        // one figure for each metric
        for metric in BARRED {
            let rows = here.iter().zip(&names);
            let rows = rows.map(|(group, name)| group.row(name, metric, systems));
            let rows: Vec<_> = rows.filter(|row| !row.bars.is_empty()).collect();
            // a single bar shows less than its row in the table
            if rows.iter().map(|row| row.bars.len()).sum::<usize>() > 1 {
                let unit = here.iter().flat_map(|group| &group.cells);
                let mut unit = unit
                    .filter_map(|cell| point(cell, metric))
                    .map(|(_, unit)| unit);
                let unit = unit.next_back().unwrap_or_default();
                figures += &bars::draw(&heading(metric, &unit), Unit::named(&unit), &rows);
            }
        }
        if figures.is_empty() {
            continue;
        }
        // the title names the common words and the place
        let at = at.map(|x| format!("{} {}", x.name, Unit::named(&x.unit).label(x.value)));
        let title = [Some(common), at].into_iter().flatten();
        let title: Vec<_> = title.filter(|part| !part.is_empty()).collect();
        let content = format!("<div class=\"wide\">{figures}</div>");
        body += &section(SIDE_BY_SIDE, &title.join(", "), &content);
    }
    body
}

/// Returns the heading of a figure, in words. The heading names the unit of plain numbers only;
/// marks of other figures have their unit.
fn heading(metric: &str, unit: &str) -> String {
    let percentile = metric
        .strip_prefix('p')
        .filter(|p| p.parse::<f64>().is_ok());
    let (kind, program) = metric.rsplit_once('_').unwrap_or((metric, ""));
    // known metrics have words, other ones their name
    match (kind, unit) {
        ("bits", _) => "payload, bits per second".to_owned(),
        ("rate", _) => "messages per second".to_owned(),
        ("cpu", _) => format!("CPU time for a message, of the {program}"),
        ("cpu_percent", _) => format!("CPU time, % of a processor, of the {program}"),
        ("rss", _) => format!("resident memory of the {program}"),
        ("max", "us") => "longest latency".to_owned(),
        (_, "us") if metric == "p50" => "median latency".to_owned(),
        (_, "us") if percentile.is_some() => {
            format!(
                "latency that {} % of the messages do not exceed",
                percentile.unwrap_or("")
            )
        }
        _ => {
            let words = metric.replace('_', " ");
            match Unit::named(unit) {
                Unit::Count => format!("{words}, {unit}"),
                _ => words,
            }
        }
    }
}

/// Returns the text below an axis.
fn axis(name: &str) -> &str {
    match name {
        "size" => "payload of a message",
        "rate" => "messages wanted per second; ∞: back to back",
        other => other,
    }
}

fn order(point: &Point) -> f64 {
    match point.x {
        Place::Value(value) => value,
        Place::Beyond => f64::INFINITY,
    }
}

/// Returns the point of a cell, and the unit of its metric.
fn point(cell: &Cell, metric: &str) -> Option<(Point, String)> {
    let (spread, unit) = match metric {
        "bits" => {
            let size = cell.x.as_ref()?.value;
            let mut spread = cell.spread("rate")?;
            for figure in [&mut spread.min, &mut spread.median, &mut spread.max] {
                *figure *= size * 8.0;
            }
            (spread, "bit/s".to_owned())
        }
        name => (cell.spread(name)?, cell.metrics.get(name)?.unit.clone()),
    };
    if spread.median <= 0.0 {
        return None;
    }
    // the tooltip
    let of = Unit::named(&unit);
    let [low, middle, high] = [spread.min, spread.median, spread.max].map(|f| of.label(f));
    let shown = match of {
        Unit::Count => unit.as_str(),
        _ => "",
    };
    let mut tip = format!("{cell}: {middle} {shown} ({low} to {high})");
    if let (Unit::Micros, Some(achieved)) = (of, cell.median("rate")) {
        tip += &format!("; achieved {}/s", Unit::Count.label(achieved));
    }
    // the band of a median latency spans its percentiles, if known
    let band = match (metric, cell.median("p2.5"), cell.median("p97.5")) {
        ("p50", Some(fast), Some(slow)) => (fast, slow),
        _ => (spread.min, spread.max),
    };
    let x = cell
        .x
        .as_ref()
        .map_or(Place::Beyond, |x| Place::Value(x.value));
    let point = Point {
        x,
        median: spread.median,
        band,
        tip,
    };
    Some((point, unit))
}

/// Returns the CSS class of a system's colour, which is the same on every page for a usual system.
fn class(system: &str, systems: &[String]) -> String {
    let usual = |name: &str| SYSTEMS.iter().find(|(known, _)| *known == name);
    if let Some((_, class)) = usual(system) {
        return (*class).to_owned();
    }
    let mut unusual = systems.iter().filter(|s| usual(s).is_none());
    colour(OTHERS + unusual.position(|s| s == system).unwrap_or_default())
}

/// Returns machine, build and settings.
fn facts(record: &Record) -> String {
    let mut facts = fact("taken at", &record.taken_at);
    if let Some(words) = record.command.get(1..) {
        facts += &fact("command", &format!("zonda {}", words.join(" ")));
    }
    let settings = Value::Object(record.settings.clone());
    let about = [
        ("machine", &record.machine),
        ("build", &record.build),
        ("settings", &settings),
    ];
    let more = record
        .more
        .iter()
        .map(|(name, value)| (name.as_str(), value));
    for (name, value) in about.into_iter().chain(more) {
        // a tool's conclusions are in its tables
        if value.is_object() {
            facts += &fact(name, &listed(value));
        }
    }
    facts
}

fn listed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let known = map.iter().filter(|(_, v)| !v.is_null());
            let each: Vec<String> = known.map(|(k, v)| in_words(k, v)).collect();
            each.join(", ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Formats a fact by its name in the record.
fn in_words(name: &str, value: &Value) -> String {
    match (name, value) {
        ("memory_kib", Value::Number(kib)) => {
            let memory = Unit::Kibibytes.label(kib.as_f64().unwrap_or_default());
            format!("{memory} of memory")
        }
        ("cores", _) => format!("{} processors", listed(value)),
        ("rustc", Value::String(text)) => text.clone(),
        ("debug_assertions", Value::Bool(false)) => "without debug assertions".to_owned(),
        ("load_average", Value::Array(loads)) => {
            let loads: Vec<String> = loads.iter().map(listed).collect();
            format!("load {}", loads.join(" / "))
        }
        _ => format!("{} {}", name.replace('_', " "), listed(value)),
    }
}

/// Returns the part of a unit that the label of a figure does not contain.
fn behind(unit: &str) -> &str {
    match Unit::named(unit) {
        Unit::Count => unit,
        _ => unit.split_once('/').map_or("", |(_, per)| per),
    }
}

/// Returns the table of all cells with all their figures.
fn everything(record: &Record, is_open: bool) -> String {
    let mut rows = String::new();
    for cell in &record.cells {
        let x = cell.x.as_ref();
        let x = x.map_or_else(String::new, |x| Unit::named(&x.unit).label(x.value));
        // the columns that all figures of a cell share
        let head = format!(
            "<td>{}<td>{}<td class=\"number\">{x}",
            escape(&cell.case),
            escape(&cell.system)
        );
        for (name, metric) in &cell.metrics {
            let Some(spread) = metric.spread() else {
                continue;
            };
            let of = Unit::named(&metric.unit);
            let figures: String = [spread.median, spread.min, spread.max]
                .map(|f| format!("<td class=\"number\">{}", of.label(f)))
                .concat();
            // old records have the same memory under two names
            let twin = name.strip_prefix("resident_").map(|of| format!("rss_{of}"));
            if twin.is_some_and(|twin| cell.metrics.contains_key(&twin)) {
                continue;
            }
            let name = format!("<td>{}<td>{}", escape(name), escape(behind(&metric.unit)));
            rows += &format!("<tr>{head}{name}{figures}\n");
        }
        if let Some(note) = &cell.note {
            rows += &format!(
                "<tr>{head}<td class=\"note\" colspan=\"5\">{}\n",
                escape(note)
            );
        }
    }
    let open = if is_open { " open" } else { "" };
    format!(
        "<details{open}><summary>All figures</summary><table><tr><th>case<th>system<th class=\"number\">x<th>metric\
         <th>in<th class=\"number\">median<th class=\"number\">least<th class=\"number\">most\n{rows}</table>\
         </details>\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn cell(system: &str, x: Option<(&str, f64)>, metrics: &[(&str, &str, f64)]) -> Cell {
        let mut cell = Cell::new(system, "p2p");
        if let Some((name, value)) = x {
            let unit = if name == "size" { "B" } else { "msg/s" };
            cell = cell.at(name, unit, value);
        }
        for (name, unit, figure) in metrics {
            for round in [0.9, 1.0, 1.1] {
                cell.add(name, unit, Better::Higher, figure * round);
            }
        }
        cell
    }

    fn record(cells: Vec<Cell>) -> Record {
        let mut record = Record::begin("thr", Map::new());
        record.cells = cells;
        record
    }

    #[test]
    fn throughput_has_a_figure_in_messages_and_one_in_bits() {
        let mut cells = Vec::new();
        for system in ["zonda", "bare sockets", "zonda smol"] {
            for size in [8.0, 1024.0] {
                let rate = ("rate", "msg/s", 1e9 / size);
                cells.push(cell(
                    system,
                    Some(("size", size)),
                    &[rate, ("lost", "msg", 0.0)],
                ));
            }
        }
        let html = page(&record(cells));
        assert_eq!(html.matches("<svg").count(), 3, "{html}");
        for part in [
            "zonda: how many times as fast",
            "times bare sockets",
            "messages per second",
            "payload, bits per second",
            "zonda p2p size 8 B: 125M msg/s (112M to 138M)",
            "data-system=\"zonda smol\"",
            "class=\"c-dark\"",
            "class=\"c3\"",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
        let place = |part| html.find(part).expect(part);
        assert!(place(">zonda: how many times as fast") < place(">messages per second"));
    }

    #[test]
    fn headings_are_words() {
        for (metric, unit, heading_is) in [
            (
                "cpu_sender",
                "ns/msg",
                "CPU time for a message, of the sender",
            ),
            ("rss_receiver", "KiB", "resident memory of the receiver"),
            ("p50", "us", "median latency"),
            (
                "p99.9",
                "us",
                "latency that 99.9 % of the messages do not exceed",
            ),
            ("lost", "msg", "lost, msg"),
        ] {
            assert_eq!(heading(metric, unit), heading_is);
        }
        let machine = serde_json::json!({"cores": 2, "memory_kib": 2_097_152, "os": "linux"});
        let words = listed(&machine);
        assert_eq!(words, "2 processors, 2 GiB of memory, os linux");
    }

    #[test]
    fn back_to_back_stands_beyond_the_rates() {
        let p50 = |us| [("p50", "us", us)];
        let cells = vec![
            {
                let mut endless = cell("zonda", None, &p50(20.0));
                endless.case += ENDLESS;
                endless
            },
            cell("zonda", Some(("rate", 1.0)), &p50(60.0)),
            cell("zonda", Some(("rate", 1000.0)), &p50(50.0)),
        ];
        let html = page(&record(cells));
        assert_eq!(html.matches("<svg").count(), 1, "{html}");
        assert!(html.contains(">∞</text>"), "{html}");
        assert_eq!(html.matches("<circle").count(), 3);
    }

    #[test]
    fn cases_at_one_place_are_bars_side_by_side() {
        let mut cells = Vec::new();
        for case in ["udp p2p", "tcp p2p"] {
            for (system, rate) in [("native", 8e4), ("zonda", 9e4)] {
                let mut cell = cell(system, Some(("size", 65_000.0)), &[("rate", "msg/s", rate)]);
                cell.add("cpu_sender", "ns/msg", Better::Lower, 4510.0);
                cell.add("rss_sender", "KiB", Better::Lower, 10_343.0);
                cell.add("resident_sender", "KiB", Better::Neither, 10_343.0);
                cell.case = case.into();
                cells.push(cell);
            }
        }
        let html = page(&record(cells));
        assert_eq!(html.matches("class=\"bar\"").count(), 8, "{html}");
        for part in [
            "<h2>Peer to peer, size 63.5 KiB</h2>",
            ">TCP</text>",
            "zonda beside native: 1.12 times the messages per second.",
            "native: the protocol by blocking sockets",
            "<td>cpu_sender<td>msg<td class=\"number\">4.51 µs",
        ] {
            assert!(html.contains(part), "{part} is missing in {html}");
        }
        assert!(
            !html.contains("<td>resident_sender") && !html.contains("node: "),
            "{html}"
        );
    }

    #[test]
    fn what_makes_no_curve_is_in_the_table() {
        let mut failed = cell("zenoh", None, &[]);
        failed.fail("it did not <start>");
        let alone = cell("zonda", None, &[("p50", "us", 20.0)]);
        let html = page(&record(vec![alone, failed]));
        assert!(
            !html.contains("<svg") && html.contains("<details open>"),
            "{html}"
        );
        assert!(html.contains("<td class=\"number\">20 µs"), "{html}");
        assert!(html.contains("it did not &lt;start>"), "{html}");
    }
}
