// SPDX-License-Identifier: MIT OR Apache-2.0
//! An explanation in lines for people.

use serde_json::Value;

use crate::Message;
use crate::walk::word;

/// Bytes that wait for a neighbour, from which on the lines tell them.
const WAITING_BYTES: u64 = 64 << 10;

/// Returns the reason for which a message is denied, with what would let it pass.
pub fn denial(effects: &Value) -> Option<String> {
    let mut all = effects.as_array()?.iter();
    let effect = all.find(|effect| effect["denied"] == true)?;
    let mut line = format!("{}: {}", word(effect, "filter"), word(effect, "text"));
    for hint in effect["hints"].as_array().into_iter().flatten() {
        line += &format!("\n  {}", hint.as_str().unwrap_or_default());
    }
    Some(line)
}

/// Returns a noun for so many.
pub fn plural_of(noun: &str, count: usize) -> String {
    match count {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}

/// Returns a line for each router on the way, and lines for the filters that have an effect.
pub fn path(message: &Message, reports: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for report in reports {
        let (router, from) = (word(report, "zid"), word(report, "from"));
        let known = match report["from_is_known"] == true {
            true => "",
            false => ", which is not its neighbour now",
        };
        // The outcome names a router that refuses the message.
        if denial(&report["ingress"]).is_some() {
            continue;
        }
        lines.push(format!("router {router} gets it from {from}{known}"));
        lines.extend(effects(&report["ingress"]));
        for hop in report["onward"].as_array().into_iter().flatten() {
            lines.extend(onward(message, reports, hop));
        }
    }
    lines
}

/// Returns the lines of a node that gets the message from a router, if it is on the way.
fn onward(message: &Message, reports: &[Value], hop: &Value) -> Vec<String> {
    let (zid, role) = (word(hop, "zid"), word(hop, "role"));
    let is_on_way = message.to.as_ref().is_none_or(|to| *to == zid)
        || reports.iter().any(|report| word(report, "zid") == zid);
    if !is_on_way || denial(&hop["egress"]).is_some() {
        return Vec::new();
    }
    let whose = if hop["own"] == true {
        "its own session, "
    } else {
        ""
    };
    let mut lines = vec![format!("  sends it to {whose}{role} {zid}")];
    lines.extend(effects(&hop["egress"]));
    let waiting = hop["queued_bytes"].as_u64().unwrap_or(0);
    if waiting >= WAITING_BYTES {
        lines.push(format!("    {waiting} bytes wait for it: it reads slowly"));
    }
    match hop["dropped"].as_u64() {
        None | Some(0) => {}
        Some(dropped) => lines.push(format!(
            "    {dropped} messages for it were dropped so far, because it read too slowly"
        )),
    }
    lines
}

/// Returns a line for each filter that has an effect on the message, and lets it pass.
fn effects(effects: &Value) -> impl Iterator<Item = String> {
    let all = effects.as_array().into_iter().flatten();
    let passing = all.filter(|effect| effect["denied"] != true);
    passing.map(|effect| format!("    {}: {}", word(effect, "filter"), word(effect, "text")))
}
