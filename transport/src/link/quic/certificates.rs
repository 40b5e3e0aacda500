// SPDX-License-Identifier: MIT OR Apache-2.0
//! Server configuration that a listener uses for incoming connections.

use std::sync::{Arc, Mutex, PoisonError};

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{ServerConfig, TransportConfig};

use super::super::tls::Credentials;
use super::super::{EndpointProblem, TlsSettings};

/// Certificates of a listener, with the current content of the files.
pub(super) struct ListenerCertificates {
    credentials: Credentials,
    state: Mutex<State>,
}

struct State {
    /// Configuration that the other two were made of.
    tls: Arc<rustls::ServerConfig>,
    /// Configuration for peers on other machines.
    far: Arc<ServerConfig>,
    /// Configuration for peers on this machine.
    near: Arc<ServerConfig>,
}

fn crypto(tls: &Arc<rustls::ServerConfig>) -> Result<Arc<QuicServerConfig>, EndpointProblem> {
    let crypto = QuicServerConfig::try_from(Arc::clone(tls));
    let crypto = crypto.map_err(|error| EndpointProblem::Credentials {
        setting: "listen_certificate",
        place: String::new(),
        problem: format!("cannot be used for QUIC: {error}"),
    });
    crypto.map(Arc::new)
}

impl ListenerCertificates {
    pub(super) fn new(
        credentials: Credentials,
        far: Arc<TransportConfig>,
        near: Arc<TransportConfig>,
    ) -> Result<ListenerCertificates, EndpointProblem> {
        let tls = credentials.current();
        let mut config = ServerConfig::with_crypto(crypto(&tls)?);
        config.transport_config(far);
        let far = Arc::new(config.clone());
        config.transport_config(near);
        let near = Arc::new(config);
        Ok(ListenerCertificates {
            credentials,
            state: Mutex::new(State { tls, far, near }),
        })
    }

    /// Loads the certificates of other settings, for later connections.
    pub(super) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        self.credentials.renew(settings)
    }

    /// Returns the current configuration for a peer, on another machine or on this one. The key of
    /// the tokens stays the same.
    pub(super) fn current(&self, is_same_host: bool) -> Arc<ServerConfig> {
        let tls = self.credentials.current();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&state.tls, &tls)
            && let Ok(crypto) = crypto(&tls)
        {
            let state = &mut *state;
            for config in [&mut state.far, &mut state.near] {
                Arc::make_mut(config).crypto = Arc::clone(&crypto) as _;
            }
            state.tls = tls;
        }
        Arc::clone(match is_same_host {
            true => &state.near,
            false => &state.far,
        })
    }
}
