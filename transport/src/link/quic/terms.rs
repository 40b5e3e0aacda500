// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of an endpoint for QUIC: streams and datagrams, and the sizes of packets and windows.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{EndpointConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use zonda_codec::Endpoint;

use super::super::{EndpointProblem, option};

/// Maximum bytes that wait for the peer's confirmation. An urgent message has to wait for those
/// that are not sent yet; the peer's own window is hardly larger.
pub(super) const SEND_WINDOW: u64 = 1024 * 1024;

/// Maximum unread bytes of one stream of a peer, including those behind a gap.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// Maximum unread bytes of all streams of a peer. A stream that the link does not read, as its
/// messages wait for a declaration, leaves room for the stream that brings the declaration.
pub(super) const RECEIVE_WINDOW: u32 = STREAM_WINDOW + 128 * 1024;

/// Maximum bytes of datagrams that wait to be sent, and of received ones that wait to be read.
pub(super) const DATAGRAM_BUFFER_BYTES: usize = 1024 * 1024;

/// Maximum bytes that QUIC adds to a batch in a datagram.
const DATAGRAM_OVERHEAD: u16 = 50;

/// Datagram size that every path carries.
const INITIAL_MTU: u16 = 1200;

/// Largest datagram that is tried within the machine, where no hardware limits it: a quarter of one
/// call's bytes. With datagrams of 1452 bytes a message of 64 KiB takes one and a half times the
/// processor time.
pub(super) const SAME_HOST_DATAGRAM: u16 = 16_368;

/// Largest datagram of UDP.
const DATAGRAM_MAX: u16 = 65_527;

/// Number of streams of a link that has one for each priority.
pub(super) const STREAMS: usize = 8;

/// Streams in one direction that a peer may open: the reference opens all of them at once, if it
/// has agreed on them, and treats a smaller number as an error.
const PRIORITY_STREAMS: u32 = STREAMS as u32 - 1;

/// Longest silence of a connection before a packet is sent that needs an answer. Keep-alives of the
/// link are more frequent, unless the lease is long.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Names for the agreement of the two ends: a stream for each priority; all in one stream, under
/// the current name and that of old releases, which is that of datagrams as well.
const LANES: &[u8] = b"zenoh-ms";
const ONE_STREAM: &[u8] = b"zenoh";
const OLD: &[u8] = b"hq-29";

/// Carrier of a link's batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Carrier {
    /// Streams.
    #[default]
    Streams,
    /// Datagrams, which may get lost.
    Datagrams,
}

/// Returns true if a link of this name has a stream for each priority.
pub(super) fn has_lanes(agreed: &[u8]) -> bool {
    agreed == LANES
}

/// Options of an endpoint in addition to its address and its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct QuicOptions {
    carrier: Carrier,
    /// True requires a stream for each priority, false forbids it.
    has_lanes: Option<bool>,
    initial_mtu: Option<u16>,
    mtu_discovery_seconds: Option<u64>,
    segmentation_offload: Option<bool>,
}

/// Parses a choice of the locator: `None` where it leaves the choice, or has no such option.
fn choice(
    endpoint: &Endpoint,
    key: &'static str,
    expected: &'static str,
) -> Result<Option<bool>, EndpointProblem> {
    match endpoint.metadata().get(key) {
        None => Ok(None),
        Some("auto") if key != "rel" => Ok(None),
        Some("0") => Ok(Some(false)),
        Some("1") => Ok(Some(true)),
        Some(value) => Err(EndpointProblem::Option {
            key,
            value: value.to_owned(),
            expected,
        }),
    }
}

/// Refuses streams and datagrams on one connection, which this node does not have. Their absence is
/// negotiated with peers that could have both.
fn check_mixed(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    let expected = "mixed_rel=auto or 0: streams and datagrams of QUIC on one connection are not supported; use rel=0 \
                    for datagrams alone";
    match choice(endpoint, "mixed_rel", expected)? {
        Some(true) => Err(EndpointProblem::Option {
            key: "mixed_rel",
            value: "1".to_owned(),
            expected,
        }),
        _ => Ok(()),
    }
}

impl QuicOptions {
    /// # Errors
    /// The first option of the endpoint that cannot be.
    pub(super) fn of(endpoint: &Endpoint) -> Result<QuicOptions, EndpointProblem> {
        // Check the choice of carrier.
        check_mixed(endpoint)?;
        let is_reliable = choice(
            endpoint,
            "rel",
            "rel=1 for streams, or rel=0 for datagrams, which may get lost",
        )?;
        let mtu = |value: &str| value.parse().ok().filter(|mtu| *mtu >= INITIAL_MTU);
        let seconds = |value: &str| value.parse().ok().filter(|seconds| *seconds > 0);
        // Parse each option.
        Ok(QuicOptions {
            carrier: match is_reliable {
                Some(false) => Carrier::Datagrams,
                _ => Carrier::Streams,
            },
            has_lanes: choice(
                endpoint,
                "multistream",
                "multistream=1 for a stream for each priority, 0 for a single one, or auto for what the peer has",
            )?,
            initial_mtu: option(
                endpoint,
                "initial_mtu",
                "a number of bytes from 1200 to 65535",
                mtu,
            )?,
            mtu_discovery_seconds: option(
                endpoint,
                "mtu_discovery_interval_secs",
                "a number of seconds from 1",
                seconds,
            )?,
            segmentation_offload: option(
                endpoint,
                "segmentation_offload",
                "true or false",
                |value| value.parse().ok(),
            )?,
        })
    }

    /// Returns the carrier of a link's batches.
    pub(super) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns the longest batch, if it has to fit into a datagram. The path may carry more: both
    /// ends keep to this size.
    pub(super) fn batch_bytes_max(&self) -> Option<u16> {
        let mtu = self.initial_mtu.unwrap_or(INITIAL_MTU);
        (self.carrier == Carrier::Datagrams).then_some(mtu - DATAGRAM_OVERHEAD)
    }

    /// Returns the protocol names that this node offers within QUIC, the best first.
    pub(super) fn alpn(&self) -> Vec<Vec<u8>> {
        let names: &[&[u8]] = match (self.carrier, self.has_lanes) {
            (Carrier::Datagrams, _) => &[OLD],
            (Carrier::Streams, Some(true)) => &[LANES],
            (Carrier::Streams, Some(false)) => &[ONE_STREAM, OLD],
            (Carrier::Streams, None) => &[LANES, ONE_STREAM, OLD],
        };
        names.iter().map(|name| name.to_vec()).collect()
    }

    /// Returns the parameters of a connection, to another machine or within this one.
    pub(super) fn transport(&self, is_same_host: bool) -> Arc<TransportConfig> {
        // Permit the peer the streams that both ends agree on.
        let mut config = TransportConfig::default();
        let has_streams = self.carrier == Carrier::Streams;
        let lanes = match has_streams && self.has_lanes != Some(false) {
            true => PRIORITY_STREAMS,
            false => 0,
        };
        config.max_concurrent_bidi_streams(VarInt::from_u32(has_streams.into()));
        config.max_concurrent_uni_streams(VarInt::from_u32(lanes));
        // Bound the memory of datagrams and windows.
        config.datagram_receive_buffer_size((!has_streams).then_some(DATAGRAM_BUFFER_BYTES));
        config.datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES);
        config.send_window(SEND_WINDOW);
        config.receive_window(VarInt::from_u32(RECEIVE_WINDOW));
        config.stream_receive_window(VarInt::from_u32(STREAM_WINDOW));
        config.keep_alive_interval(Some(KEEP_ALIVE));
        config.enable_segmentation_offload(self.segmentation_offload.unwrap_or(true));
        // Set the size of packets, and its discovery.
        if let Some(mtu) = self.initial_mtu {
            config.initial_mtu(mtu);
        }
        let mut discovery = MtuDiscoveryConfig::default();
        if is_same_host {
            discovery.upper_bound(SAME_HOST_DATAGRAM);
        }
        if let Some(seconds) = self.mtu_discovery_seconds {
            discovery.interval(Duration::from_secs(seconds));
        }
        config.mtu_discovery_config(Some(discovery));
        Arc::new(config)
    }
}

/// Returns the parameters of a socket: it takes datagrams of every size. A sender detects the size
/// that a path carries.
pub(super) fn endpoint() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    // Only a value below 1200 is refused.
    let _ = config.max_udp_payload_size(DATAGRAM_MAX);
    config
}
