// SPDX-License-Identifier: MIT OR Apache-2.0

//! Groups of settings: the runtime's options, retries, scouting, gossip, queues, sockets.

use std::{fmt, net::SocketAddr, time::Duration};

use zonda_codec::{Endpoint, Priority, Roles};
use zonda_runtime::RuntimeOptions;
use zonda_transport::link::{LinkSettings, Pem, SocketBuffers, TlsSettings};

use crate::{Settings, check, read::Strategies};
use zonda_table::scouting::Autoconnect;

/// The pauses between attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// Pause before the second attempt.
    pub period_init: Duration,
    /// Maximum pause.
    pub period_max: Duration,
    /// Factor between a pause and the next one, at least 1.
    pub increase_factor: f64,
}

/// Multicast scouting: how a node finds other nodes and is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoutingConfig {
    /// True if scouting is on. Default: yes.
    pub enabled: bool,
    /// The multicast group and port. Default: `224.0.0.224:7446`.
    pub address: SocketAddr,
    /// The interfaces to use, each by its name or by one of its addresses; empty for all. Default: all.
    pub interfaces: Vec<String>,
    /// Maximum number of IP hops of a datagram. Default: 1.
    pub ttl: u32,
    /// Time for which a client without endpoints searches for a router before `open` fails.
    /// Default: 3 s.
    pub timeout: Duration,
    /// Maximum wait of `open` for the first connection of a peer. Default: 500 ms.
    pub delay: Duration,
    /// True if the node answers scouting nodes. Default: yes.
    pub listen: bool,
    /// The nodes that it connects to. Default: none for a router, all for other roles.
    pub autoconnect: Autoconnect,
}

/// Gossip: what a node reports to its neighbours about other nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GossipConfig {
    /// It does so. Default: yes.
    pub enabled: bool,
    /// True if the node also reports nodes that are not its neighbours. Default: no.
    pub multihop: bool,
    /// The roles that it sends reports to. Default: routers and peers.
    pub target: Roles,
    /// The nodes that it connects to. Default: none for a router, all for other roles.
    pub autoconnect: Autoconnect,
}

impl Settings {
    /// The options of the runtime: threads, cpus, scheduling class, busy poll. Unused if the
    /// program passed a runtime.
    pub fn runtime_options(&self) -> RuntimeOptions {
        RuntimeOptions {
            threads: self.runtime_threads,
            cpus: self.runtime_cpus.clone(),
            scheduling: self.runtime_scheduling,
            uring_required: self.runtime_uring_required,
            spin: self.runtime_spin,
            ..RuntimeOptions::default()
        }
    }

    /// Endpoints to connect to, including those in groups.
    pub fn connect_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.connect_groups.one_of.iter().flatten()
    }

    /// Returns true if `open` fails when the node cannot connect to this endpoint. The endpoint's
    /// option `exit_on_failure` overrides the key. Default: yes for a client, which checks its
    /// first endpoint only; no for other roles.
    pub fn connect_must_succeed(&self, endpoint: &Endpoint) -> bool {
        check::option_flag(endpoint).unwrap_or(self.must_connect)
    }

    /// Returns true if `open` fails when the node cannot listen on this endpoint. The endpoint's
    /// option `exit_on_failure` overrides the key. Default: yes.
    pub fn listen_must_succeed(&self, endpoint: &Endpoint) -> bool {
        check::option_flag(endpoint).unwrap_or(self.must_listen)
    }

    /// Pauses between attempts to connect. Default: 1 s, doubled up to 4 s.
    pub fn connect_retry(&self) -> Retry {
        Retry {
            period_init: self.connect_retry_init,
            period_max: self.connect_retry_max,
            increase_factor: self.connect_retry_factor,
        }
    }

    /// Pauses between attempts to listen. Default: 1 s, doubled up to 4 s.
    pub fn listen_retry(&self) -> Retry {
        Retry {
            period_init: self.listen_retry_init,
            period_max: self.listen_retry_max,
            increase_factor: self.listen_retry_factor,
        }
    }

    /// The settings of multicast scouting.
    ///
    /// ```
    /// let config = zonda_config::Config::peer().with("scouting/multicast/interface", "'lo,eth0'");
    /// let scouting = config.settings().scouting();
    /// assert_eq!(scouting.interfaces, ["lo", "eth0"]);
    /// assert_eq!(scouting.address.to_string(), "224.0.0.224:7446");
    /// ```
    pub fn scouting(&self) -> ScoutingConfig {
        ScoutingConfig {
            enabled: self.multicast_enabled,
            address: self.multicast_group,
            interfaces: self.multicast_interfaces.clone(),
            ttl: self.multicast_ttl,
            timeout: self.scouting_timeout,
            delay: self.scouting_delay,
            listen: self.multicast_listen,
            autoconnect: autoconnect(self.multicast_autoconnect, self.multicast_strategies),
        }
    }

    /// The settings of gossip.
    pub fn gossip(&self) -> GossipConfig {
        GossipConfig {
            enabled: self.gossip_enabled,
            multihop: self.gossip_multihop,
            target: self.gossip_target,
            autoconnect: autoconnect(self.gossip_autoconnect, self.gossip_strategies),
        }
    }

    /// Maximum bytes queued for a peer in this priority, if the number of batches was set.
    pub fn queue_bytes(&self, priority: Priority) -> Option<usize> {
        let batches = match priority {
            Priority::Control => self.queue_size_control,
            Priority::RealTime => self.queue_size_real_time,
            Priority::InteractiveHigh => self.queue_size_interactive_high,
            Priority::InteractiveLow => self.queue_size_interactive_low,
            Priority::DataHigh => self.queue_size_data_high,
            Priority::Data => self.queue_size_data,
            Priority::DataLow => self.queue_size_data_low,
            Priority::Background => self.queue_size_background,
        };
        batches.map(|batches| batches * usize::from(self.batch_size))
    }

    /// Default options of links, for endpoints without options of their own.
    pub fn links(&self) -> LinkSettings {
        // A file takes precedence over the same content in base64.
        let pem = |file: &Option<String>, base64: &Option<String>| {
            let file = file.clone().map(Pem::File);
            file.or_else(|| base64.clone().map(Pem::Base64))
        };
        LinkSettings {
            tcp: SocketBuffers {
                send_bytes: self.tcp_send_bytes,
                receive_bytes: self.tcp_receive_bytes,
            },
            pipe_mode: self.pipe_mode.and_then(|mode| mode.try_into().ok()),
            ws_origins: self.ws_origins.clone(),
            tls: TlsSettings {
                root_ca_certificate: pem(&self.tls_root_ca, &self.tls_root_ca_base64),
                listen_private_key: pem(
                    &self.tls_listen_private_key,
                    &self.tls_listen_private_key_base64,
                ),
                listen_certificate: pem(
                    &self.tls_listen_certificate,
                    &self.tls_listen_certificate_base64,
                ),
                connect_private_key: pem(
                    &self.tls_connect_private_key,
                    &self.tls_connect_private_key_base64,
                ),
                connect_certificate: pem(
                    &self.tls_connect_certificate,
                    &self.tls_connect_certificate_base64,
                ),
                enable_mtls: Some(self.tls_mtls),
                verify_name_on_connect: Some(self.tls_verify_name),
                close_link_on_expiration: Some(self.tls_close_on_expiration),
                buffers: SocketBuffers {
                    send_bytes: self.tls_send_bytes,
                    receive_bytes: self.tls_receive_bytes,
                },
            },
        }
    }
}

/// Formats the role and the id only, because other fields are secrets.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Settings");
        shown.field("mode", &self.mode).field("id", &self.id);
        shown.finish_non_exhaustive()
    }
}

fn autoconnect(roles: Roles, strategies: Strategies) -> Autoconnect {
    Autoconnect {
        roles,
        to_router: strategies.to_router,
        to_peer: strategies.to_peer,
    }
}
