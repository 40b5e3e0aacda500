// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a listener shows to those who come in.

use std::sync::{Arc, Mutex, PoisonError};

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{ServerConfig, TransportConfig};

use super::super::EndpointProblem;
use super::super::tls::Credentials;

/// The certificates of a listener, as the files have them now.
pub(super) struct Greeting {
    credentials: Credentials,
    state: Mutex<State>,
}

struct State {
    /// What `config` was made of.
    tls: Arc<rustls::ServerConfig>,
    config: Arc<ServerConfig>,
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

impl Greeting {
    pub(super) fn new(
        credentials: Credentials,
        transport: Arc<TransportConfig>,
    ) -> Result<Greeting, EndpointProblem> {
        let tls = credentials.current();
        let mut config = ServerConfig::with_crypto(crypto(&tls)?);
        config.transport_config(transport);
        let config = Arc::new(config);
        Ok(Greeting {
            credentials,
            state: Mutex::new(State { tls, config }),
        })
    }

    /// What a stranger is shown now. The key of the tokens stays as it is.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let tls = self.credentials.current();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&state.tls, &tls)
            && let Ok(crypto) = crypto(&tls)
        {
            let mut config = ServerConfig::clone(&state.config);
            config.crypto = crypto;
            *state = State {
                tls,
                config: Arc::new(config),
            };
        }
        Arc::clone(&state.config)
    }
}
