// SPDX-License-Identifier: MIT OR Apache-2.0

//! The state of the node, as the page gets it.

use std::cmp::Reverse;
use std::time::Instant;

use serde_json::{Value, json};
use zonda::Session;
use zonda::session::{Link, Sample};

use super::updates::Sampler;

/// Maximum number of links that an update describes, those with most waiting bytes first.
const LINKS_MAX: usize = 2000;

/// Returns the function that describes the node of a session, with the right of the page to publish.
pub(in crate::rest) fn sampler(session: Session, may_publish: bool) -> Sampler {
    let began = Instant::now();
    Box::new(move || {
        let info = session.info();
        let mut links: Vec<Link> = info.links().into_iter().collect();
        let left_out = links.len().saturating_sub(LINKS_MAX);
        if left_out > 0 {
            links.sort_by_cached_key(|link| Reverse(queued_bytes(link)));
            links.truncate(LINKS_MAX);
        }
        let links: Vec<Value> = links.iter().map(of_link).collect();
        json!({
            "zid": session.zid().to_string(),
            "at_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "links": links,
            "links_left_out": left_out,
            "drops": drops(&info.filter_metrics()),
            "may_publish": may_publish,
        })
        .to_string()
    })
}

fn queued_bytes(link: &Link) -> usize {
    let lanes = link.priorities.iter();
    lanes.map(|lane| lane.queued_bytes).sum()
}

/// Describes a link.
fn of_link(link: &Link) -> Value {
    let lanes = || link.priorities.iter();
    json!({
        "zid": link.zid.to_string(),
        "role": link.whatami.to_string(),
        "local": link.local.to_string(),
        "remote": link.remote.to_string(),
        "sent": lanes().map(|lane| lane.sent).sum::<u64>(),
        "sent_bytes": link.sent.bytes,
        "received": link.received.messages.iter().sum::<u64>(),
        "received_bytes": link.received.bytes,
        "queued": lanes().map(|lane| lane.queued).sum::<u64>(),
        "queued_bytes": queued_bytes(link),
        "dropped": link.sent.dropped,
        "full": link.sent.refused_full,
    })
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
