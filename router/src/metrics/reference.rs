// SPDX-License-Identifier: MIT OR Apache-2.0

//! Metrics with the names and labels of the reference, as far as this node counts the same things,
//! so that dashboards for it show this node.

use std::collections::BTreeMap;

use zonda_codec::{Priority, WhatAmI, ZenohId};
use zonda_transport::{
    outbox::{Outbox, PriorityCounts},
    protocol::rx::Arrived,
};

use crate::{
    config::{Flow, MessageKind},
    filter::{Dropped, Reason},
    metrics::text::{Kind, Metric, Sample},
    table::DeclaredCounts,
};

/// Most neighbours with samples of their own, which bounds the length of the text.
const NEIGHBOURS_MAX: usize = 256;

macro_rules! metrics {
    ($($id:ident $kind:ident $name:literal $help:literal;)+) => {
        $(static $id: Metric = Metric { name: $name, kind: Kind::$kind, help: $help };)+

        #[cfg(test)]
        static ALL: &[&Metric] = &[$(&$id),+];
    };
}

metrics! {
    BUILD Info "zenoh_build" "Version of this program.";
    TRANSPORTS Gauge "zenoh_transports_opened" "Neighbours that are connected.";
    LINKS Gauge "zenoh_links_opened" "Links that are open, by protocol.";
    RESOURCES Gauge "zenoh_resources_declared" "Declarations, by kind, of this node and of others.";
    BYTES Counter "zenoh_tx_bytes" "Bytes that were sent, framing included, by protocol.";
    MESSAGES Counter "zenoh_tx_network_message" "Messages that were sent, by priority and protocol.";
    RX_BYTES Counter "zenoh_rx_bytes" "Bytes that were received, framing included, by protocol.";
    RX_TRANSPORT Counter "zenoh_rx_transport_message" "Frames, fragments and keep-alives that were received, by protocol.";
    RX_MESSAGES Counter "zenoh_rx_network_message" "Messages that were received, by priority and protocol.";
    NEIGHBOUR_BYTES Counter "zenoh_tx_per_transport_bytes" "Bytes that were sent to a neighbour that is connected.";
    NEIGHBOUR_MESSAGES Counter "zenoh_tx_network_message_per_transport" "Messages that were sent to a neighbour that is connected, by priority.";
    NEIGHBOUR_RX_BYTES Counter "zenoh_rx_per_transport_bytes" "Bytes that were received from a neighbour that is connected.";
    NEIGHBOUR_RX_MESSAGES Counter "zenoh_rx_network_message_per_transport" "Messages that were received from a neighbour that is connected, by priority.";
    TX_DROPPED Histogram "zenoh_tx_network_message_dropped_payload_bytes" "Messages that were not sent, by reason.";
    RX_DROPPED Histogram "zenoh_rx_network_message_dropped_payload_bytes" "Messages that came in and were dropped, by reason.";
}

/// Messages and bytes that were sent and received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Traffic {
    bytes: u64,
    priorities: [PriorityCounts; 8],
    received: Arrived,
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic {
            bytes: 0,
            priorities: Priority::ALL.map(PriorityCounts::none),
            received: Arrived::default(),
        }
    }
}

impl Traffic {
    /// Adds the counts of a connection.
    pub(crate) fn add(&mut self, outbox: &Outbox) {
        let sent = outbox.counters().snapshot().bytes;
        self.add_counts(sent, &outbox.priorities(), &outbox.arrived());
    }

    fn add_counts(&mut self, sent: u64, priorities: &[PriorityCounts], received: &Arrived) {
        self.bytes += sent;
        self.received.add(received);
        for counts in priorities {
            if let Some(all) = self.priorities.get_mut(counts.priority as usize) {
                all.add(counts);
            }
        }
    }

    /// Adds the counts of other connections.
    pub(crate) fn add_all(&mut self, other: &Traffic) {
        self.add_counts(other.bytes, &other.priorities, &other.received);
    }

    pub(crate) fn sent_bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn sent_messages(&self) -> u64 {
        self.priorities.iter().map(|counts| counts.sent).sum()
    }

    pub(crate) fn dropped_messages(&self) -> u64 {
        self.priorities.iter().map(|counts| counts.dropped).sum()
    }

    pub(crate) fn received_bytes(&self) -> u64 {
        self.received.bytes
    }

    pub(crate) fn received_transport_messages(&self) -> u64 {
        self.received.transport_messages
    }

    pub(crate) fn received_messages(&self) -> u64 {
        self.received.messages.iter().sum()
    }

    /// Returns the counts of the priorities that have been used.
    fn used(&self) -> impl Iterator<Item = &PriorityCounts> {
        let all = self.priorities.iter();
        all.filter(|counts| counts.sent > 0 || counts.dropped > 0)
    }

    /// Returns the priorities of received messages with their counts.
    fn heard(&self) -> impl Iterator<Item = (Priority, u64)> {
        let all = Priority::ALL.into_iter().zip(self.received.messages);
        all.filter(|(_, count)| *count > 0)
    }
}

/// Traffic by protocol.
pub(crate) type ByProtocol = BTreeMap<String, Traffic>;

/// A neighbour that is connected.
#[derive(Debug, Clone)]
pub(crate) struct NeighbourTraffic {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    pub(crate) protocol: String,
    pub(crate) links: u64,
    pub(crate) traffic: Traffic,
}

/// Values of a node from which the samples are made.
pub(crate) struct Values {
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    /// Traffic of all connections, those that have ended included.
    pub(crate) traffic: ByProtocol,
    pub(crate) neighbours: Vec<NeighbourTraffic>,
    /// Declarations of this node, and of others.
    pub(crate) declared: [DeclaredCounts; 2],
    pub(crate) dropped: Vec<Dropped>,
}

/// Returns the samples of a node.
pub(crate) fn samples(values: &Values) -> Vec<Sample> {
    let version = concat!("zonda ", env!("CARGO_PKG_VERSION"));
    let mut all = vec![
        Sample::of(&BUILD, 1).with("version", version),
        Sample::of(&TRANSPORTS, values.neighbours.len() as u64),
    ];
    all.extend(links(&values.neighbours));
    let localities = ["local", "remote"].into_iter();
    let each = localities.zip(values.declared);
    all.extend(each.flat_map(|(locality, counts)| declared(locality, counts)));
    all.extend(sent(&values.traffic));
    let each = values.traffic.iter();
    all.extend(each.flat_map(|(protocol, traffic)| received(protocol, traffic)));
    all.extend(values.dropped.iter().flat_map(filtered));
    let shown = values.neighbours.iter().take(NEIGHBOURS_MAX);
    all.extend(shown.flat_map(of_neighbour));
    // The labels of every sample of the reference.
    let (zid, role) = (values.zid.to_string(), values.role.to_string());
    let labelled = all.into_iter().map(|sample| {
        let sample = sample.with("local_id", zid.clone());
        sample.with("local_whatami", role.clone())
    });
    labelled.collect()
}

fn links(neighbours: &[NeighbourTraffic]) -> impl Iterator<Item = Sample> {
    let mut count: BTreeMap<&str, u64> = BTreeMap::new();
    for neighbour in neighbours {
        *count.entry(&neighbour.protocol).or_default() += neighbour.links;
    }
    let count = count.into_iter();
    count.map(|(protocol, links)| Sample::of(&LINKS, links).with("protocol", protocol))
}

fn declared(locality: &'static str, counts: DeclaredCounts) -> impl Iterator<Item = Sample> {
    let counts = [
        ("subscriber", counts.subscribers),
        ("queryable", counts.queryables),
        ("token", counts.tokens),
    ];
    counts.into_iter().map(move |(resource, count)| {
        let sample = Sample::of(&RESOURCES, count as u64).with("resource", resource);
        sample.with("locality", locality)
    })
}

fn sent(traffic: &ByProtocol) -> Vec<Sample> {
    let mut all = Vec::new();
    for (protocol, traffic) in traffic {
        let of = |sample: Sample| sample.with("protocol", protocol.clone());
        all.push(of(Sample::of(&BYTES, traffic.bytes)));
        for counts in traffic.used() {
            let of = |sample: Sample| of(sample.with("priority", name(counts.priority)));
            all.push(of(Sample::of(&MESSAGES, counts.sent)).with("shm", "false"));
            // The sizes of these messages are not counted, and the format has no `_count` without a `_sum`.
            let dropped = of(Sample::of(&TX_DROPPED, counts.dropped).part("_bucket"));
            all.push(dropped.with("reason", "congestion").with("le", "+Inf"));
        }
    }
    all
}

fn received(protocol: &str, traffic: &Traffic) -> Vec<Sample> {
    let of = |sample: Sample| sample.with("protocol", protocol);
    let transport_messages = traffic.received.transport_messages;
    let mut all = vec![
        of(Sample::of(&RX_BYTES, traffic.received.bytes)),
        of(Sample::of(&RX_TRANSPORT, transport_messages)),
    ];
    all.extend(traffic.heard().map(|(priority, count)| {
        let sample = Sample::of(&RX_MESSAGES, count).with("priority", name(priority));
        of(sample).with("shm", "false")
    }));
    all
}

fn of_neighbour(neighbour: &NeighbourTraffic) -> Vec<Sample> {
    let of = |sample: Sample| {
        sample
            .with("protocol", neighbour.protocol.clone())
            .with("remote_zid", neighbour.zid.to_string())
            .with("remote_whatami", neighbour.role.to_string())
            .with("disconnected", "false")
    };
    let traffic = &neighbour.traffic;
    let mut all = vec![
        of(Sample::of(&NEIGHBOUR_BYTES, traffic.bytes)),
        of(Sample::of(&NEIGHBOUR_RX_BYTES, traffic.received.bytes)),
    ];
    all.extend(traffic.heard().map(|(priority, count)| {
        let sample = of(Sample::of(&NEIGHBOUR_RX_MESSAGES, count));
        let sample = sample.with("priority", name(priority));
        sample.with("shm", "false")
    }));
    all.extend(traffic.used().map(|counts| {
        let sample = of(Sample::of(&NEIGHBOUR_MESSAGES, counts.sent));
        sample
            .with("priority", name(counts.priority))
            .with("shm", "false")
    }));
    all
}

/// Returns the samples of messages that a filter has dropped.
fn filtered(dropped: &Dropped) -> Vec<Sample> {
    let metric = match dropped.flow {
        Flow::Ingress => &RX_DROPPED,
        Flow::Egress => &TX_DROPPED,
    };
    let message = match dropped.kind {
        MessageKind::Put => "put",
        MessageKind::Delete => "delete",
        MessageKind::Query => "query",
        MessageKind::Reply => "reply",
        // Interests and declarations have no payload.
        _ => return Vec::new(),
    };
    let reason = match dropped.reason {
        Reason::Size => "low-pass",
        Reason::Access => "access-control",
        Reason::Rate => "downsampling",
    };
    let of = |value: u64, part: &'static str| {
        let sample = Sample::of(metric, value).part(part);
        sample.with("message", message).with("reason", reason)
    };
    vec![
        of(dropped.messages, "_bucket").with("le", "+Inf"),
        of(dropped.messages, "_count"),
        of(dropped.bytes, "_sum"),
    ]
}

/// Returns the reference's name of a priority.
const fn name(priority: Priority) -> &'static str {
    match priority {
        Priority::Control => "control",
        Priority::RealTime => "real-time",
        Priority::InteractiveHigh => "interactive-high",
        Priority::InteractiveLow => "interactive-low",
        Priority::DataHigh => "data-high",
        Priority::Data => "data",
        Priority::DataLow => "data-low",
        Priority::Background => "background",
    }
}

/// Returns the text without the metrics of single neighbours.
pub(crate) fn without_neighbours(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let is_kept = |line: &&str| {
        let mut words = line.split([' ', '{']);
        let name = match line.starts_with("# ") {
            true => words.nth(2),
            false => words.next(),
        };
        !name.is_some_and(|name| name.contains("_per_transport"))
    };
    lines.filter(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::text;

    fn values() -> Values {
        let mut traffic = Traffic::default();
        let mut counts = PriorityCounts::none(Priority::Data);
        (counts.sent, counts.dropped) = (5, 2);
        let mut received = Arrived::default();
        (received.bytes, received.transport_messages) = (70, 4);
        received.messages[Priority::Data as usize] = 6;
        traffic.add_counts(100, &[counts], &received);
        Values {
            zid: "a1".parse().expect("an id"),
            role: WhatAmI::Router,
            traffic: BTreeMap::from([("tcp".to_owned(), traffic.clone())]),
            neighbours: vec![NeighbourTraffic {
                zid: "b2".parse().expect("an id"),
                role: WhatAmI::Client,
                protocol: "tcp".into(),
                links: 1,
                traffic,
            }],
            declared: [DeclaredCounts::default(); 2],
            dropped: vec![Dropped {
                reason: Reason::Access,
                flow: Flow::Ingress,
                kind: MessageKind::Put,
                messages: 3,
                bytes: 30,
            }],
        }
    }

    #[test]
    fn samples_have_the_names_and_labels_of_the_reference() {
        let text = text(&samples(&values()));
        let own = "local_id=\"a1\",local_whatami=\"router\"}";
        for line in [
            "zenoh_transports_opened{".to_owned() + own + " 1",
            "zenoh_links_opened{protocol=\"tcp\",".to_owned() + own + " 1",
            "zenoh_tx_bytes_total{protocol=\"tcp\",".to_owned() + own + " 100",
            "zenoh_rx_bytes_total{protocol=\"tcp\",".to_owned() + own + " 70",
            "zenoh_rx_transport_message_total{protocol=\"tcp\",".to_owned() + own + " 4",
            "zenoh_rx_network_message_total{priority=\"data\",protocol=\"tcp\",shm=\"false\",".to_owned() + own + " 6",
            "zenoh_rx_per_transport_bytes_total{protocol=\"tcp\",remote_zid=\"b2\",remote_whatami=\"client\",disconnected=\"false\",".to_owned() + own + " 70",
            "zenoh_tx_network_message_total{priority=\"data\",protocol=\"tcp\",shm=\"false\",".to_owned() + own + " 5",
            "zenoh_tx_network_message_dropped_payload_bytes_bucket{priority=\"data\",protocol=\"tcp\",reason=\"congestion\",le=\"+Inf\",".to_owned() + own + " 2",
            "zenoh_rx_network_message_dropped_payload_bytes_sum{message=\"put\",reason=\"access-control\",".to_owned() + own + " 30",
            "zenoh_resources_declared{resource=\"token\",locality=\"remote\",".to_owned() + own + " 0",
            "zenoh_tx_per_transport_bytes_total{protocol=\"tcp\",remote_zid=\"b2\",remote_whatami=\"client\",disconnected=\"false\",".to_owned() + own + " 100",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
        let sizes = "dropped_payload_bytes_count{priority=";
        assert!(!text.contains(sizes), "no sum goes with it: {text}");
        assert!(text.contains("# TYPE zenoh_build info\n"), "{text}");
        assert!(text.contains("zenoh_build_info{version=\"zonda "), "{text}");
        let brief = without_neighbours(&text);
        assert!(
            !brief.contains("per_transport") && brief.ends_with("# EOF\n"),
            "{brief}"
        );
        assert!(brief.contains("zenoh_tx_bytes_total{"), "{brief}");
    }

    #[test]
    fn names_are_the_reference_s() {
        for metric in ALL {
            assert!(metric.name.starts_with("zenoh_"), "{metric:?}");
            assert!(metric.help.ends_with('.'), "{metric:?}");
        }
    }
}
