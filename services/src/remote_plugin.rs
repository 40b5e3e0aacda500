// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `remote_api`: a server of remote sessions alone, as `plugins/remote_api` of the reference's
//! configurations asks for it.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};

use axum::Router;
use zonda::Config;
use zonda::session::Sample;

use crate::http::{Client, Counts, Guard, Limits as HttpLimits, Server, Serving, Setup, Tls};
use crate::remote_api::{self, RemoteApi};
use crate::rest::{self, Reach};
use crate::values::{limit_of, texts_of};
use crate::{Running, Service, Start, StartError};

const PLUGIN: &str = "remote_api";
const PORT: &str = "plugins/remote_api/websocket_port";
const SECURE: &str = "plugins/remote_api/secure_websocket";

/// The port of the reference if none is set.
const DEFAULT_PORT: &str = "10000";

/// Members of the plugin that have an effect, or name what is built in.
const HONOURED: &[&str] = &[
    "websocket_port",
    "secure_websocket",
    "__required__",
    "__path__",
];

/// The service.
pub(crate) struct Plugin;

impl Service for Plugin {
    fn name(&self) -> &'static str {
        PLUGIN
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        let is_wanted = address(config)?.is_some();
        if is_wanted && self.is_required(config) {
            secured(config)?;
        }
        Ok(is_wanted)
    }

    fn is_required(&self, config: &Config) -> bool {
        config.plugin_member(PLUGIN, "__required__").as_deref() == Some("true")
    }

    fn warnings(&self, config: &Config) -> Vec<String> {
        let Ok(Some(address)) = address(config) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        let json = config.plugin_json(PLUGIN).unwrap_or_default();
        let plugin: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
        for name in plugin.as_object().into_iter().flat_map(|all| all.keys()) {
            if !HONOURED.contains(&name.as_str()) {
                lines.push(format!("`plugins/{PLUGIN}/{name}`: has no effect"));
            }
        }
        let is_closed = rest::credentials(config).is_ok_and(|found| found.is_some());
        if !is_closed && !address.ip().to_canonical().is_loopback() {
            lines.push(format!(
                "`{PORT}`: ANY MACHINE that reaches {address}, and any page of a browser there, may read and write every key, without credentials; set {}, or \"127.0.0.1:10000\"",
                rest::USERS
            ));
        }
        lines
    }

    fn look(&self, config: &Config) -> Result<(), StartError> {
        let Some(address) = address(config)? else {
            return Ok(());
        };
        secured(config)?;
        crate::http::look(address).map_err(|error| StartError::System(format!("`{PORT}`: {error}")))
    }

    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError> {
        let config = start.config;
        let address =
            address(config)?.ok_or_else(|| StartError::Config(format!("`{PORT}` is not set")))?;
        let credentials = rest::credentials(config)?;
        let read = credentials.is_some().then(|| rest::reader(config));
        let tls = secured(config)?;
        let protocol = if tls.is_some() { "https" } else { "http" };
        let reach = Reach {
            key: PORT,
            address,
            is_closed: credentials.is_some(),
        };
        reach.check(config)?;
        let listed = |list: &str| match texts_of(config, list) {
            texts if texts.is_empty() => vec![rest::ANY.to_owned()],
            texts => texts,
        };
        let setup = Setup {
            address,
            // Pages of every origin may use the server, as there, unless some are listed.
            guard: Guard {
                hosts: listed(rest::HOSTS),
                origins: listed(rest::ORIGINS),
                own_page_publishes: true,
                credentials: credentials.map(RwLock::new),
                stranger: Client::new(None, protocol),
                public: &[],
            },
            limits: HttpLimits {
                connections: limit_of(config, "connections")
                    .min(tokio::sync::Semaphore::MAX_PERMITS),
                body_bytes: limit_of(config, "body_bytes"),
                ..HttpLimits::default()
            },
            tls,
        };
        let api = RemoteApi::new(start, PLUGIN);
        let server = Server::start(
            setup,
            remote_api::route(&api, Router::new(), "/"),
            Arc::new(Counts::default()),
        )
        .map_err(|error| StartError::System(format!("`{PORT}`: {error}")))?;
        Ok(Box::new(Alone(Serving {
            name: PLUGIN,
            server,
            session: start.session.clone(),
            read,
        })))
    }
}

/// The server, while it runs. Its counters are those of its remote sessions.
struct Alone(Serving);

impl Running for Alone {
    fn name(&self) -> &'static str {
        PLUGIN
    }

    fn status(&self) -> String {
        self.0.status()
    }

    fn metrics(&self) -> Vec<Sample> {
        Vec::new()
    }

    fn renew(&self, config: &Config) -> Result<(), String> {
        match certificate(config).map_err(|error| error.to_string())? {
            Some(config) => self.0.renew(&config),
            None => Ok(()),
        }
    }

    fn reload_credentials(&self) -> Option<Result<usize, String>> {
        self.0.reload_credentials()
    }

    fn stop(self: Box<Self>) {
        Box::new(self.0).stop();
    }
}

/// Returns the address to listen on; `None` if the plugin is not configured.
fn address(config: &Config) -> Result<Option<SocketAddr>, StartError> {
    match config.plugin_json(PLUGIN) {
        None => Ok(None),
        Some(json) if json == "null" => Ok(None),
        Some(_) => {
            let port = config.plugin_member(PLUGIN, "websocket_port");
            let port = port.unwrap_or_else(|| DEFAULT_PORT.to_owned());
            rest::address_of_port(PORT, &port)
        }
    }
}

/// Loads the certificate of the plugin; `None` if it has none.
fn secured(config: &Config) -> Result<Option<Tls>, StartError> {
    let tls = certificate(config)?.map(|config| Tls::load(&config));
    let tls = tls.transpose();
    tls.map_err(|text| StartError::Config(format!("`{SECURE}`: {text}")))
}

/// Returns the configuration with the certificate of the plugin; `None` if it has none.
fn certificate(config: &Config) -> Result<Option<Config>, StartError> {
    let Some(json) = config.plugin_member(PLUGIN, "secure_websocket") else {
        return Ok(None);
    };
    let secure: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    if secure.is_null() {
        return Ok(None);
    }
    let mut config = config.clone();
    for (name, key) in [
        ("certificate_path", "transport/link/tls/listen_certificate"),
        ("private_key_path", "transport/link/tls/listen_private_key"),
    ] {
        let Some(path) = secure.get(name).and_then(|path| path.as_str()) else {
            let text = format!("`{SECURE}/{name}`: is no path of a file");
            return Err(StartError::Config(text));
        };
        config = config.with(key, &serde_json::Value::from(path).to_string());
    }
    Ok(Some(config))
}
