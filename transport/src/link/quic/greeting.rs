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
    /// What the others were made of.
    tls: Arc<rustls::ServerConfig>,
    /// For strangers of other machines.
    far: Arc<ServerConfig>,
    /// For those of this one.
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

impl Greeting {
    pub(super) fn new(
        credentials: Credentials,
        far: Arc<TransportConfig>,
        near: Arc<TransportConfig>,
    ) -> Result<Greeting, EndpointProblem> {
        let tls = credentials.current();
        let mut config = ServerConfig::with_crypto(crypto(&tls)?);
        config.transport_config(far);
        let far = Arc::new(config.clone());
        config.transport_config(near);
        let near = Arc::new(config);
        Ok(Greeting {
            credentials,
            state: Mutex::new(State { tls, far, near }),
        })
    }

    /// What a stranger is shown now, of another machine or of this one. The key of the tokens stays as it is.
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
