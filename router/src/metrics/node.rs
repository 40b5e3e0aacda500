// SPDX-License-Identifier: MIT OR Apache-2.0

//! All metrics of a node: `table.rs` declares them, and this module takes their values from a
//! snapshot of the node.

use zonda_codec::Priority;
use zonda_transport::{
    listen::ListenCounts, outbox::PriorityCounts, protocol::shared::SharedCounts,
};

use crate::{
    metrics::{
        reference,
        table::*,
        text::{Metric, Sample},
    },
    model::LinkStatus,
    node::{Usage, snapshot::Snapshot},
    peers::{discovery::DiscoveryStatus, groups::GroupStatus, state::ListenerStatus},
};

/// Maximum number of links in a brief report, which bounds its length.
const LINKS_TOLD: usize = 256;

/// Returns samples of one metric that differ in one label.
fn each<const N: usize>(
    metric: &'static Metric,
    label: &'static str,
    values: [(&'static str, u64); N],
) -> impl Iterator<Item = Sample> {
    let values = values.into_iter();
    values.map(move |(name, value)| Sample::of(metric, value).with(label, name))
}

/// Returns all samples of a node.
pub(crate) fn all(snapshot: &Snapshot) -> Vec<Sample> {
    let mut all = without_links(snapshot);
    snapshot
        .links
        .iter()
        .for_each(|link| of_link(link, &mut all));
    all
}

/// Returns samples for a brief report: of at most [`LINKS_TOLD`] links, the samples that are not 0.
pub(crate) fn brief(snapshot: &Snapshot) -> Vec<Sample> {
    let mut all = without_links(snapshot);
    let mut of_links = Vec::new();
    let told = snapshot.links.iter().take(LINKS_TOLD);
    told.for_each(|link| of_link(link, &mut of_links));
    of_links.retain(|sample| sample.value() > 0);
    all.extend(of_links);
    all
}

fn without_links(snapshot: &Snapshot) -> Vec<Sample> {
    // Links that have ended, and connections that were refused or attempted.
    let mut all = Vec::new();
    all.extend(of_links(&snapshot.links));
    let ended = &snapshot.ended_links;
    all.push(Sample::of(&LINKS_ENDED, ended.links));
    all.extend(ended.priorities.iter().map(|counts| {
        Sample::of(&MESSAGES_LOST, counts.queued).with("priority", priority(counts))
    }));
    all.push(Sample::of(&SLOW_CONSUMERS, snapshot.slow_consumers));
    let not_recorded = snapshot.timestamps_not_recorded;
    all.push(Sample::of(&TIMESTAMPS_NOT_RECORDED, not_recorded));
    all.extend(snapshot.turned_away.iter().map(|known| {
        Sample::of(&TURNED_AWAY, known.count).with("reason", known.reason.kind.name())
    }));
    all.extend(each(&CONFIG_WRITES, "result", snapshot.config_writes));
    all.extend(snapshot.endpoints.iter().map(|status| {
        Sample::of(&ATTEMPTS, status.attempts).with("endpoint", status.endpoint.to_string())
    }));
    // Listeners, groups and limits.
    all.extend(snapshot.listeners.iter().flat_map(of_listener));
    all.extend(snapshot.groups.iter().flat_map(of_group));
    for limit in &snapshot.limits {
        let of = |metric, value| Sample::of(metric, value).with("key", limit.key);
        all.push(of(&LIMIT, limit.value));
        all.extend(limit.used.map(|used| of(&LIMIT_USED, used)));
        all.extend(limit.reached.map(|count| of(&LIMIT_REACHED, count)));
    }
    // Filters, memory and discovery.
    all.extend(snapshot.filters.iter().cloned());
    all.extend(of_memory(&snapshot.usage));
    all.extend(snapshot.shared_memory.iter().flat_map(of_shared_memory));
    all.extend(of_discovery(&snapshot.discovery));
    all.extend(reference::samples(&snapshot.reference));
    all
}

fn of_shared_memory(counts: &SharedCounts) -> Vec<Sample> {
    let mut all = vec![
        Sample::of(&SHM_LINKS, counts.links),
        Sample::of(&SHM_POOLS, counts.pools),
        Sample::of(&SHM_SEGMENTS, counts.segments),
        Sample::of(&SHM_HELD, counts.held),
        Sample::of(&SHM_POOL_FULL, counts.pool_full),
        Sample::of(&SHM_RECLAIMED, counts.reclaimed),
    ];
    let payloads = [
        ("received", counts.taken),
        ("sent", counts.sent),
        ("copied_in", counts.copied_in),
    ];
    all.extend(each(&SHM_PAYLOADS, "way", payloads));
    let refused = counts.refused.iter();
    all.extend(
        refused.map(|(reason, count)| Sample::of(&SHM_REFUSED, *count).with("reason", *reason)),
    );
    all
}

fn of_listener(listener: &ListenerStatus) -> impl Iterator<Item = Sample> {
    let endpoint = listener.endpoint.to_string();
    let pending = Sample::of(&INTRODUCTIONS_NOW, listener.pending as u64);
    let introductions = of_introductions(listener.counts);
    let all = std::iter::once(pending).chain(introductions);
    all.map(move |sample| sample.with("endpoint", endpoint.clone()))
}

fn priority(counts: &PriorityCounts) -> String {
    format!("{:?}", counts.priority)
}

fn of_links(links: &[LinkStatus]) -> impl Iterator<Item = Sample> {
    let count = |role: &str| {
        let same = links.iter().filter(|link| link.whatami.to_string() == role);
        same.count() as u64
    };
    let roles = ["client", "peer", "router"].map(|role| (role, count(role)));
    each(&LINKS, "role", roles)
}

fn of_introductions(counts: ListenCounts) -> impl Iterator<Item = Sample> {
    let results = [
        ("accepted", counts.accepted),
        ("evicted", counts.evicted),
        ("timed_out", counts.timed_out),
        ("wrong_version", counts.wrong_version),
        ("own_id", counts.own_id),
        ("turned_away", counts.turned_away),
        ("unauthenticated", counts.unauthenticated),
        ("closed_by_peer", counts.closed_by_peer),
        ("malformed", counts.malformed),
        ("bad_cookie", counts.bad_cookie),
        ("io", counts.io),
        ("unencrypted", counts.unencrypted),
        ("unanswered", counts.unanswered),
        ("accept_error", counts.accept_errors),
    ];
    each(&INTRODUCTIONS, "result", results)
}

fn of_group(group: &GroupStatus) -> Vec<Sample> {
    let counts = group.counts;
    let ignored = [
        ("unknown", counts.unknown),
        ("malformed", counts.malformed),
        ("refused", counts.refused),
        ("over_limit", counts.over_limit),
        ("evicted", counts.evicted),
        ("contradicting", counts.contradicting),
        ("expired", counts.expired),
        ("misplaced", counts.misplaced),
        ("declaration", counts.declarations),
        ("repeated", counts.repeated),
    ];
    let own = [
        Sample::of(&GROUP_MEMBERS, group.members.len() as u64),
        Sample::of(&GROUP_BYTES, group.sent.bytes),
        Sample::of(&GROUP_RECEIVED_BYTES, group.received.bytes),
        Sample::of(&GROUP_RECEIVED, group.received.messages.iter().sum()),
    ];
    let all = own
        .into_iter()
        .chain(each(&GROUP_IGNORED, "reason", ignored));
    let endpoint = group.endpoint.to_string();
    all.map(|sample| sample.with("endpoint", endpoint.clone()))
        .collect()
}

fn of_memory(usage: &Usage) -> impl Iterator<Item = Sample> {
    let bytes = |bytes: usize| bytes as u64;
    let parts = [
        ("received", bytes(usage.received)),
        ("queues", bytes(usage.queues)),
        ("tables", bytes(usage.tables)),
        ("routes", bytes(usage.routes)),
    ];
    let others = [
        Sample::of(&MEMORY_BUDGET, bytes(usage.budget)),
        Sample::of(&MEMORY_PEAK, bytes(usage.peak)),
        Sample::of(&MEMORY_CLOSED, usage.links_closed),
        Sample::of(&MEMORY_REFUSED, usage.messages_refused),
        Sample::of(&UNFINISHED_CLOSED, usage.unfinished_closed),
    ];
    others.into_iter().chain(each(&MEMORY, "part", parts))
}

fn of_discovery(found: &DiscoveryStatus) -> impl Iterator<Item = Sample> {
    let (scouts, candidates, gossip) = (found.scouts, found.candidates, found.gossip);
    let scouts = [
        ("answered", scouts.answered),
        ("unreachable", scouts.unreachable),
        ("over_limit", scouts.over_limit),
        ("malformed", scouts.malformed),
    ];
    let candidates = [
        ("attempt", candidates.attempts),
        ("failure", candidates.failures),
        ("given_up", candidates.given_up),
        ("over_limit", candidates.over_limit),
        ("held_back", candidates.held_back),
        ("failed_too_often", candidates.failed_too_often),
        ("other_node", candidates.other_node),
    ];
    let gossip = [
        ("told", gossip.told),
        ("heard", gossip.heard),
        ("over_limit", gossip.over_limit),
        ("unknown", gossip.unknown),
        ("put_off", gossip.put_off),
    ];
    each(&SCOUTS, "result", scouts)
        .chain(each(&CANDIDATES, "result", candidates))
        .chain(each(&GOSSIP, "result", gossip))
}

/// Returns the messages that a link has brought, of each priority that its connection has.
fn received(link: &LinkStatus) -> impl Iterator<Item = Sample> {
    let all = Priority::ALL.into_iter().zip(link.received.messages);
    let known = all.filter(|(priority, count)| {
        let mut sent = link.priorities.iter();
        *count > 0 || sent.any(|counts| counts.priority == *priority)
    });
    known.map(|(priority, count)| {
        Sample::of(&LINK_RECEIVED, count).with("priority", format!("{priority:?}"))
    })
}

/// Adds the counters of one link. Several links to one neighbour differ in their `remote` label.
fn of_link(link: &LinkStatus, all: &mut Vec<Sample>) {
    // Every sample has the labels of the link.
    let of_link = |sample: Sample| {
        sample
            .with("zid", link.zid.to_string())
            .with("role", link.whatami.to_string())
            .with("remote", link.remote.to_string())
    };
    let (sent, ignored, discarded) = (&link.sent, &link.ignored, &link.discarded);
    let single = [
        Sample::of(&LINK_BYTES, sent.bytes),
        Sample::of(&LINK_RECEIVED_BYTES, link.received.bytes),
        Sample::of(&LINK_FULL, sent.refused_full),
        Sample::of(&LINK_TOO_LONG, sent.refused_too_long),
        Sample::of(&LINK_HELD, link.held),
    ];
    all.extend(single.into_iter().map(of_link));
    // Writes by their writer, messages by priority.
    let writes = [
        ("sender", sent.writes_direct),
        ("driver", sent.writes_driver),
    ];
    all.extend(each(&LINK_WRITES, "by", writes).map(of_link));
    all.extend(received(link).map(of_link));
    for counts in &link.priorities {
        let of_priority = |sample: Sample| of_link(sample).with("priority", priority(counts));
        let results = [
            ("accepted", counts.accepted),
            ("sent", counts.sent),
            ("dropped", counts.dropped),
            ("refused", counts.refused),
        ];
        all.extend(each(&LINK_MESSAGES, "result", results).map(of_priority));
        let others = [
            Sample::of(&LINK_BATCH_BYTES, counts.sent_bytes),
            Sample::of(&LINK_QUEUED, counts.queued),
            Sample::of(&LINK_QUEUED_BYTES, counts.queued_bytes as u64),
        ];
        all.extend(others.into_iter().map(of_priority));
    }
    // Ignored declarations and discarded messages by reason.
    let ignored = [
        ("over_limit", ignored.over_limit),
        ("bad_key", ignored.bad_keys),
        ("bad_push", ignored.bad_pushes),
        ("id_conflict", ignored.id_conflicts),
        ("unknown_id", ignored.unknown_ids),
        ("misplaced", ignored.misplaced),
        ("wild_key_refused", ignored.wild_keys_refused),
        ("question_refused", ignored.questions_refused),
        ("repeated_question", ignored.repeated_questions),
        ("unknown_answer", ignored.unknown_answers),
    ];
    all.extend(each(&LINK_IGNORED, "reason", ignored).map(of_link));
    let discarded = [
        ("frame", discarded.frames),
        ("fragment", discarded.fragments),
        ("message", discarded.messages),
        ("too_large", discarded.too_large),
        ("undecodable", discarded.undecodable),
    ];
    all.extend(each(&LINK_DISCARDED, "reason", discarded).map(of_link));
}
