// SPDX-License-Identifier: MIT OR Apache-2.0

//! A self-contained page with a drawing of the network and the results.

use std::collections::{HashMap, HashSet};
use std::f64::consts::TAU;
use std::fmt::Write as _;

use crate::outcome::{Change, Delivery, LinkUse, Outcome};

/// Maximum number of links in a table, the busiest first.
const ROWS_MAX: usize = 50;

/// Maximum number of nodes up to which the drawing has their names.
const NAMED_MAX: usize = 60;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;color:#222;background:#fff}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;border-bottom:1px solid #8884;text-align:right}\
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}line{stroke:#7a8ba0}pre{overflow-x:auto;background:#8881;padding:.6em}\
line.bridge{stroke:#c33}circle{fill:#2a6fb0}circle.leaf{fill:#9bb}text{font-size:13px;fill:#222;paint-order:stroke;stroke:#fff;stroke-width:3px}\
@media (prefers-color-scheme: dark){body{color:#ddd;background:#181a1c}text{fill:#ddd;stroke:#181a1c}line.bridge{stroke:#f66}circle{fill:#5aa2e6}}";

/// Origin of a page.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The plan, as it was written.
    pub plan: String,
    /// The program and its version.
    pub program: String,
    /// Date of the rehearsal.
    pub date: String,
}

/// Returns a page with the network and the results of a rehearsal.
pub fn page(outcome: &Outcome, about: &About) -> String {
    // Head and figures.
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Rehearsal</title><style>{STYLE}</style>\n\
         <h1>Rehearsal of {} nodes, {} of them routers</h1>\n<p>{}, {}</p>\n",
        outcome.nodes,
        outcome.routers,
        escaped(&about.program),
        escaped(&about.date)
    );
    page += &table(
        &Delivery::COLUMNS,
        outcome.deliveries().into_iter().map(Into::into),
    );
    // Drawing, tables and plan.
    page += &drawing(outcome);
    page += "<p>Blue: routers; pale: clients and peers. The thicker a line, the more messages of the load it carries. A red link cuts off more than one node when it is \
             lost. Point at a node or a link for its name and figures.</p>\n";
    page += &changes(outcome);
    page += &links(outcome);
    page += &bridges(outcome);
    page += &format!(
        "<details><summary>The plan</summary><pre>{}</pre></details>\n",
        escaped(&about.plan)
    );
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

/// Returns the coordinates of the nodes: routers on a circle, other nodes outside, next to the
/// first node that they are linked to.
fn places(outcome: &Outcome) -> HashMap<&str, (f64, f64)> {
    let mut places = HashMap::new();
    let count = outcome.router_use.len().max(1);
    for (at, router) in outcome.router_use.iter().enumerate() {
        let angle = TAU * at as f64 / count as f64;
        places.insert(
            router.name.as_str(),
            (280.0 * angle.cos(), 280.0 * angle.sin()),
        );
    }
    let mut beside: HashMap<(u64, u64), u32> = HashMap::new();
    for link in &outcome.links {
        let [from, to] = [link.ends[0].as_str(), link.ends[1].as_str()];
        for (node, near) in [(from, to), (to, from)] {
            if places.contains_key(node) {
                continue;
            }
            let &(x, y) = places.get(near).unwrap_or(&(0.0, 0.0));
            let number = beside.entry((x.to_bits(), y.to_bits())).or_default();
            *number += 1;
            // Up to nine nodes on an arc, further ones on wider arcs.
            let ring = f64::from((*number - 1) / 9);
            let turn = (f64::from((*number - 1) % 9) - 4.0) * 0.25;
            let angle = y.atan2(x) + turn;
            let far = 60.0 + 22.0 * ring;
            places.insert(node, (x + far * angle.cos(), y + far * angle.sin()));
        }
    }
    places
}

fn drawing(outcome: &Outcome) -> String {
    let places = places(outcome);
    let wide = outcome.wide_bridges();
    let bridges: HashSet<&[String; 2]> = wide.iter().map(|b| &b.ends).collect();
    let most = outcome.links.iter().map(|link| link.messages).max();
    let most = most.unwrap_or(0).max(1) as f64;
    // Links first, so that nodes cover their ends.
    let mut text = "<svg viewBox=\"-450 -450 900 900\">".to_owned();
    for link in &outcome.links {
        let at = [&link.ends[0], &link.ends[1]].map(|end| places.get(end.as_str()));
        if let [Some((x1, y1)), Some((x2, y2))] = at {
            let width = 0.6 + 3.0 * link.messages as f64 / most;
            let class = match bridges.contains(&link.ends) {
                true => " class=\"bridge\"",
                false => "",
            };
            let _ = write!(
                text,
                "<line{class} x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke-width=\"{width:.1}\"><title>{} - {}: {} messages</title></line>",
                escaped(&link.ends[0]),
                escaped(&link.ends[1]),
                link.messages
            );
        }
    }
    // Nodes in the order of names, so that equal outcomes give equal pages.
    let routers: HashSet<&str> = outcome.router_use.iter().map(|r| r.name.as_str()).collect();
    let mut nodes: Vec<_> = places.iter().collect();
    nodes.sort_unstable_by_key(|(name, _)| **name);
    for (name, (x, y)) in nodes {
        let (class, radius) = match routers.contains(name) {
            true => ("", 7),
            false => (" class=\"leaf\"", 4),
        };
        let name = escaped(name);
        let _ = write!(
            text,
            "<circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{name}</title></circle>"
        );
        let is_router = class.is_empty() && routers.len() <= NAMED_MAX;
        if is_router || places.len() <= NAMED_MAX {
            let _ = write!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
                x + 9.0,
                y + 4.0
            );
        }
    }
    text + "</svg>\n"
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>, tag: &str| {
        let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(&cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let mut text = "<table>".to_owned();
    text += &row(&mut head.iter().map(|cell| (*cell).to_owned()), "th");
    for cells in rows {
        text += &row(&mut cells.into_iter(), "td");
    }
    text + "</table>\n"
}

fn changes(outcome: &Outcome) -> String {
    let rows = outcome.changes.iter().map(|change| change.cells().into());
    table(&Change::COLUMNS, rows)
}

fn links(outcome: &Outcome) -> String {
    let mut most: Vec<&LinkUse> = outcome.links.iter().collect();
    most.sort_by_key(|link| std::cmp::Reverse((link.messages, link.bytes)));
    let rows = most.into_iter().take(ROWS_MAX);
    table(&LinkUse::COLUMNS, rows.map(|link| link.cells().into()))
}

fn bridges(outcome: &Outcome) -> String {
    let rows = outcome
        .wide_bridges()
        .into_iter()
        .take(ROWS_MAX)
        .map(|bridge| {
            let named: Vec<&str> = bridge.cut_off.iter().take(10).map(String::as_str).collect();
            let more = match bridge.cut_off.len() > named.len() {
                true => ", ..",
                false => "",
            };
            vec![
                bridge.ends.join(" - "),
                bridge.cut_off.len().to_string(),
                format!("{}{more}", named.join(", ")),
            ]
        });
    let rows: Vec<_> = rows.collect();
    match rows.is_empty() {
        true => "<p>No link cuts off more than one node when it is lost.</p>\n".to_owned(),
        false => table(&["loss of", "cuts off", "of them"], rows.into_iter()),
    }
}
