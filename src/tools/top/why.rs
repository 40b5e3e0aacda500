// SPDX-License-Identifier: MIT OR Apache-2.0
//! One line that names what stalls.

use serde_json::Value;
use zonda_program::plain;

use super::rows::Row;
use super::snapshot::Snapshot;

/// Seconds for which a closed slow consumer is news.
const NEWS_S: f64 = 600.0;

/// Names the slowest neighbour, slow consumers that the router closed, and limits that were
/// reached between two snapshots; `now` is in seconds since 1970.
pub fn why(rows: &[Row], before: &Snapshot, after: &Snapshot, events: &Value, now: f64) -> String {
    let slow = rows.iter().filter(|row| row.is_slow());
    let slowest = slow.max_by_key(|row| (row.queued_bytes, row.full_per_s, row.dropped_per_s));
    let mut parts: Vec<String> = slowest.map(of_neighbour).into_iter().collect();
    parts.extend(closed(events, now));
    let reached = after.reached.iter().filter(|(key, count)| {
        let old = before.reached.get(*key).copied().unwrap_or(0);
        **count > old
    });
    parts.extend(reached.map(|(key, _)| format!("the limit {key} was reached")));
    match parts.is_empty() {
        true => "nothing stalls".to_owned(),
        false => plain(&parts.join("; ")).into_owned(),
    }
}

fn of_neighbour(row: &Row) -> String {
    let (role, zid, address) = (&row.role, &row.zid, &row.address);
    let mut line = format!("{role} {zid} at {address} does not keep up");
    if row.queued > 0 {
        line += &format!(": {} messages ({} B) wait", row.queued, row.queued_bytes);
    }
    if let Some(priority) = &row.fullest_priority {
        line += &format!(", most in priority {priority}");
    }
    if let Some(seconds) = row.stalled_s {
        line += &format!(", none was sent for {seconds:.0} s");
    }
    if row.full_per_s > 0 {
        line += &format!(", its queue was full {} times/s", row.full_per_s);
    }
    if row.dropped_per_s > 0 {
        line += &format!(", {} messages/s are dropped", row.dropped_per_s);
    }
    line
}

/// Names the slow consumer that was closed last.
fn closed(events: &Value, now: f64) -> Option<String> {
    let events = events["events"].as_array()?;
    let age = |event: &Value| event["at"].as_f64().map(|at| (now - at).max(0.0));
    let event = events
        .iter()
        .rev()
        .find(|event| event["reason"] == "too-slow")?;
    let age = age(event).filter(|age| *age <= NEWS_S)?;
    let zid = event["link"]["zid"].as_str().unwrap_or("?");
    Some(format!("slow consumer {zid} was closed {age:.0} s ago"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Instant;

    fn line(rows: &[Row], after: &str, events: &Value) -> String {
        let read = |text| Snapshot::read(text, Instant::now());
        why(rows, &read(""), &read(after), events, 1000.0)
    }

    #[test]
    fn nothing_stalls() {
        let idle = Row::default();
        assert_eq!(line(&[idle], "", &Value::Null), "nothing stalls");
        let old = json!({"events": [{"reason": "too-slow", "at": 1.0}]});
        assert_eq!(line(&[], "", &old), "nothing stalls");
    }

    #[test]
    fn each_cause_is_named() {
        let slow = Row {
            zid: "a1".to_owned(),
            role: "client".to_owned(),
            address: "tcp/1".to_owned(),
            queued: 7,
            queued_bytes: 900,
            fullest_priority: Some("Data".to_owned()),
            stalled_s: Some(3.0),
            full_per_s: 2,
            dropped_per_s: 5,
            ..Row::default()
        };
        assert_eq!(
            line(&[Row::default(), slow], "", &Value::Null),
            "client a1 at tcp/1 does not keep up: 7 messages (900 B) wait, most in priority Data, \
             none was sent for 3 s, its queue was full 2 times/s, 5 messages/s are dropped"
        );
        let events =
            json!({"events": [{"reason": "too-slow", "at": 988.0, "link": {"zid": "b2"}}]});
        assert_eq!(
            line(&[], "", &events),
            "slow consumer b2 was closed 12 s ago"
        );
        let reached = "zonda_limit_reached_total{key=\"limits/x\"} 1\n";
        assert_eq!(
            line(&[], reached, &Value::Null),
            "the limit limits/x was reached"
        );
    }
}
