// SPDX-License-Identifier: MIT OR Apache-2.0

//! The state of the node, as the page gets it.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;

use serde_json::{Value, json};
use zonda::Session;
use zonda::session::{Link, Sample};

use super::updates::Sampler;

/// Maximum number of links that an update describes, those with most waiting bytes first.
const LINKS_MAX: usize = 2000;

/// Counters of what came from a neighbour over a link, in nodes that count it.
const RECEIVED: &str = "zonda_link_received_messages";
const RECEIVED_BYTES: &str = "zonda_link_received_bytes";

/// Counters of received messages and bytes, by the id of the neighbour and the address of the link.
type Received<'s> = HashMap<(&'s str, &'s str), [Option<u64>; 2]>;

/// Returns the function that describes the node of a session.
pub(in crate::rest) fn sampler(session: Session) -> Sampler {
    let began = Instant::now();
    Box::new(move || {
        let info = session.info();
        let samples = info.metrics();
        let received = received(&samples);
        let mut links: Vec<Link> = info.links().into_iter().collect();
        let left_out = links.len().saturating_sub(LINKS_MAX);
        if left_out > 0 {
            links.sort_by_cached_key(|link| Reverse(queued_bytes(link)));
            links.truncate(LINKS_MAX);
        }
        let links: Vec<Value> = links.iter().map(|link| of_link(link, &received)).collect();
        json!({
            "zid": session.zid().to_string(),
            "at_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "links": links,
            "links_left_out": left_out,
            "drops": drops(&samples),
        })
        .to_string()
    })
}

fn queued_bytes(link: &Link) -> usize {
    let lanes = link.priorities.iter();
    lanes.map(|lane| lane.queued_bytes).sum()
}

/// Describes a link. What the node does not count is null.
fn of_link(link: &Link, received: &Received<'_>) -> Value {
    let lanes = || link.priorities.iter();
    let (zid, remote) = (link.zid.to_string(), link.remote.to_string());
    let [messages, bytes] = received
        .get(&(zid.as_str(), remote.as_str()))
        .copied()
        .unwrap_or_default();
    json!({
        "zid": zid,
        "role": link.whatami.to_string(),
        "local": link.local.to_string(),
        "remote": remote,
        "sent": lanes().map(|lane| lane.sent).sum::<u64>(),
        "sent_bytes": link.sent.bytes,
        "received": messages,
        "received_bytes": bytes,
        "queued": lanes().map(|lane| lane.queued).sum::<u64>(),
        "queued_bytes": queued_bytes(link),
        "dropped": link.sent.dropped,
        "full": link.sent.refused_full,
    })
}

/// Sums up the counters of received messages and bytes of each link.
fn received(samples: &[Sample]) -> Received<'_> {
    let mut all = Received::new();
    for sample in samples {
        let place = match sample.metric().name {
            RECEIVED => 0,
            RECEIVED_BYTES => 1,
            _ => continue,
        };
        let labels = sample.label("zid").zip(sample.label("remote"));
        let counts = labels.map(|labels| all.entry(labels).or_default());
        if let Some(sum) = counts.and_then(|counts| counts.get_mut(place)) {
            *sum = Some(sum.unwrap_or(0).saturating_add(sample.value()));
        }
    }
    all
}

/// Returns the messages that the node has dropped, by filter, direction and kind, and those that
/// access control has denied, by rule.
fn drops(samples: &[Sample]) -> Vec<Value> {
    let counted = samples.iter().filter(|sample| sample.value() > 0);
    let of = |sample: &Sample| {
        let name = sample.metric().name.strip_prefix("zonda_")?;
        let label = |label| sample.label(label).unwrap_or("");
        let (filter, what) = match name.strip_suffix("_dropped_messages") {
            Some(filter) => (filter, format!("{} {}", label("flow"), label("message"))),
            None => (
                name.strip_suffix("_denied_messages")?,
                match sample.label("rule") {
                    Some(rule) => format!("rule {rule}"),
                    None => "no rule allows it".to_owned(),
                },
            ),
        };
        Some(json!({"filter": filter, "what": what, "count": sample.value()}))
    };
    counted.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use zonda::session::{Kind, Metric};

    use super::*;

    static MESSAGES: Metric = Metric {
        name: RECEIVED,
        kind: Kind::Counter,
        help: "Messages.",
    };

    #[test]
    fn received_messages_are_summed_up_for_each_link() {
        let sample = |remote: &str, value| {
            let sample = Sample::of(&MESSAGES, value).with("zid", "a1");
            sample.with("remote", remote).with("priority", "data")
        };
        let samples = [sample("one", 2), sample("one", 3), sample("two", 4)];
        let received = received(&samples);
        assert_eq!(received.get(&("a1", "one")), Some(&[Some(5), None]));
        assert_eq!(received.get(&("a1", "two")), Some(&[Some(4), None]));
        assert_eq!(received.get(&("b2", "one")), None);
    }
}
