// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an endpoint says of QUIC: which streams and datagrams there are, and the sizes of what goes over the network.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{EndpointConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use zonda_codec::Endpoint;

use super::super::{EndpointProblem, option};

/// Bytes that wait for the peer to confirm them. What is urgent has to wait for those that are not sent yet; the peer's own
/// window is hardly larger.
const SEND_WINDOW: u64 = 1024 * 1024;

/// Bytes of a peer that may wait here to be read, of all its streams: also those before which something is missing.
const RECEIVE_WINDOW: u32 = 1024 * 1024;

/// The largest datagram that is tried within the machine, where no card and no wire limits them: a quarter of what one call of
/// the system sends. In datagrams of 1452 bytes a message of 64 KiB takes one and a half times the time of processors.
const SAME_HOST_DATAGRAM: u16 = 16_376;

/// The largest datagram of UDP.
const DATAGRAM_MAX: u16 = 65_527;

/// The streams in one direction that a peer may open: the reference opens one for each priority at once, if it has agreed on
/// that, and takes a smaller number for an error.
const PRIORITY_STREAMS: u32 = 7;

/// How long a connection may be silent before something is sent that needs an answer. Keep-alives of the link come more
/// often, unless the lease is long.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// What the two ends agree on: all in one stream, under the name of today and that of old releases.
const ONE_STREAM: [&[u8]; 2] = [b"zenoh", b"hq-29"];

/// What an endpoint asks for beside its address and its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct QuicOptions {
    initial_mtu: Option<u16>,
    mtu_discovery_seconds: Option<u64>,
    segmentation_offload: Option<bool>,
}

/// Refuses what is asked for and not there. Its absence is agreed on with peers that could have it.
fn check_variant(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    for (key, supported, expected) in [
        (
            "rel",
            &["1"][..],
            "rel=1: datagrams of QUIC are not supported yet, use udp/ for messages that may get lost",
        ),
        (
            "mixed_rel",
            &["0", "auto"],
            "mixed_rel=auto or 0: datagrams of QUIC are not supported yet",
        ),
        (
            "multistream",
            &["0", "auto"],
            "multistream=auto or 0: a stream for each priority is not supported yet",
        ),
    ] {
        if let Some(value) = endpoint.metadata(key)
            && !supported.contains(&value)
        {
            return Err(EndpointProblem::Option {
                key,
                value: value.to_owned(),
                expected,
            });
        }
    }
    Ok(())
}

impl QuicOptions {
    /// # Errors
    /// What an endpoint says that cannot be.
    pub(super) fn of(endpoint: &Endpoint) -> Result<QuicOptions, EndpointProblem> {
        check_variant(endpoint)?;
        let mtu = |value: &str| value.parse().ok().filter(|mtu| *mtu >= 1200);
        let seconds = |value: &str| value.parse().ok().filter(|seconds| *seconds > 0);
        Ok(QuicOptions {
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

    /// The names of what this node speaks within QUIC, the best first.
    pub(super) fn alpn() -> Vec<Vec<u8>> {
        ONE_STREAM.iter().map(|name| name.to_vec()).collect()
    }

    /// What a connection is made with, to another machine or within this one.
    pub(super) fn transport(&self, is_same_host: bool) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        config.max_concurrent_bidi_streams(VarInt::from_u32(1));
        config.max_concurrent_uni_streams(VarInt::from_u32(PRIORITY_STREAMS));
        config.send_window(SEND_WINDOW);
        config.receive_window(VarInt::from_u32(RECEIVE_WINDOW));
        config.keep_alive_interval(Some(KEEP_ALIVE));
        config.enable_segmentation_offload(self.segmentation_offload.unwrap_or(true));
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

/// What a socket takes: datagrams of every size that there is. What a path carries is found out by those who send.
pub(super) fn endpoint() -> EndpointConfig {
    let mut config = EndpointConfig::default();
    // Only less than 1200 is refused.
    let _ = config.max_udp_payload_size(DATAGRAM_MAX);
    config
}
