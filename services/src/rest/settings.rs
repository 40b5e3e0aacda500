// SPDX-License-Identifier: MIT OR Apache-2.0

//! The settings of the HTTP server: the keys `services/http/..`, and `plugins/rest` of the
//! reference's configurations.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::RwLock;
use std::time::Duration;

use zonda::Config;

use crate::StartError;
use crate::http::{Client, Credentials, Guard, Limits, ReadCredentials, Setup, Tls};
use crate::values::{address_of, is_true, limit_of, number_of, text_of, texts_of};

const LISTEN: &str = "services/http/listen";
pub(crate) const HOSTS: &str = "services/http/hosts";
const REMOTE: &str = "services/http/remote_api";
const IS_REMOTE_API_BUILT: bool = cfg!(feature = "remote-api");
const OPEN: &str = "services/http/open";
const TLS: &str = "services/http/tls";
pub(crate) const USERS: &str = "services/http/auth/dictionary_file";
const TOKENS: &str = "services/http/auth/token_file";
pub(crate) const ORIGINS: &str = "services/http/cors/origins";
const REQUIRED: &str = "services/http/__required__";

/// The plugin of the reference, and its key.
const PLUGIN: &str = "rest";
const PORT: &str = "plugins/rest/http_port";

/// Members of the plugin that have an effect, or name what is built in.
const HONOURED: &[&str] = &["http_port", "__required__", "__path__"];

/// Stands for every name, and for every origin.
pub(crate) const ANY: &str = "*";

/// Paths that need no credentials: those of probes.
const PUBLIC: &[&str] = &["/healthz", "/readyz"];

/// The settings of the server.
pub(super) struct Settings {
    pub setup: Setup,
    /// The key that has the address.
    pub key: &'static str,
    /// Set if only clients with credentials or certificates are served.
    is_closed: bool,
    /// Reads the credentials again.
    pub read: Option<ReadCredentials>,
    /// True if the server has the remote API.
    #[cfg_attr(
        not(feature = "remote-api"),
        allow(dead_code, reason = "there is none")
    )]
    pub has_remote_api: bool,
    pub event_bytes: usize,
    pub answer_bytes: usize,
}

impl Settings {
    /// Reads them; `None` if the configuration asks for no server.
    ///
    /// # Errors
    /// The first wrong value, or an address that strangers may reach without credentials.
    ///
    /// # Blocking
    /// Reads the files of credentials, and looks up the name of the host in `plugins/rest`.
    pub fn read(config: &Config) -> Result<Option<Settings>, StartError> {
        let Some((key, address)) = place(config)? else {
            return Ok(None);
        };
        let has_remote_api = is_true(config, REMOTE);
        if has_remote_api {
            allow_remote_api()?;
        }
        let protocol = protocol_of(config);
        let credentials = credentials(config)?;
        let tls = match is_true(config, TLS) {
            true => Some(Tls::load(config)),
            false => None,
        };
        let tls = tls.transpose();
        let tls = tls.map_err(|text| StartError::Config(format!("`{TLS}`: {text}")))?;
        // Clients that have to show a certificate are no strangers.
        let is_closed = credentials.is_some() || (tls.is_some() && config.settings().tls_mtls);
        let reach = Reach {
            key,
            address,
            is_closed,
        };
        reach.check(config)?;
        let count = |name| limit_of(config, name);
        let default = config.settings().query_timeout;
        let limits = Limits {
            connections: count("connections").min(tokio::sync::Semaphore::MAX_PERMITS),
            lasting: count("event_clients").min(tokio::sync::Semaphore::MAX_PERMITS),
            body_bytes: count("body_bytes"),
            answer: Duration::from_millis(number_of(config, "services/http/limits/answer_ms"))
                .min(default),
        };
        // Under the reference's key, pages of every origin may use the server, as there.
        let listed = |list: &str| match texts_of(config, list) {
            texts if texts.is_empty() && key == PORT => vec![ANY.to_owned()],
            texts => texts,
        };
        let has_credentials = credentials.is_some();
        let origins = listed(ORIGINS);
        let is_open = is_true(config, OPEN) || origins.iter().any(|origin| origin == ANY);
        let guard = Guard {
            hosts: listed(HOSTS),
            own_page_publishes: is_closed || is_open,
            origins,
            credentials: credentials.map(RwLock::new),
            stranger: Client::new(None, protocol),
            public: PUBLIC,
        };
        let setup = Setup {
            address,
            guard,
            limits,
            tls,
        };
        let read = has_credentials.then(|| reader(config));
        Ok(Some(Settings {
            read,
            setup,
            key,
            is_closed,
            has_remote_api,
            event_bytes: count("event_bytes"),
            answer_bytes: count("answer_bytes"),
        }))
    }

    /// Returns warnings about a server that is open to strangers.
    pub fn warnings(&self, config: &Config) -> Vec<String> {
        let address = self.setup.address;
        let mut lines = Vec::new();
        if self.key == LISTEN && config.plugin_member(PLUGIN, "http_port").is_some() {
            lines.push(format!(
                "`{PORT}`: has no effect: `{LISTEN}` goes before it"
            ));
        }
        let key = self.key;
        match (self.is_closed, &self.setup.tls) {
            _ if address.ip().to_canonical().is_loopback() => {}
            (false, _) => lines.push(format!(
                "`{key}`: ANY MACHINE that reaches {address} may read and write every key, without credentials; set {USERS}, or listen on 127.0.0.1"
            )),
            (true, Some(_)) => {}
            (true, None) => lines.push(format!(
                "`{key}`: passwords for {address} cross the network in the clear; set {TLS} to true"
            )),
        }
        lines
    }
}

/// Returns warnings about members of `plugins/rest` that have no effect.
pub(super) fn idle_members(config: &Config) -> Vec<String> {
    let json = config.get_json("plugins").unwrap_or_default();
    let plugins: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    let Some(members) = plugins.get(PLUGIN).and_then(|rest| rest.as_object()) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if config.plugin_member(PLUGIN, "http_port").is_none() {
        lines.push(format!(
            "`plugins/rest`: has no http_port, so there is no server; set {PORT}"
        ));
    }
    let is_idle = |name: &&String| !HONOURED.contains(&name.as_str());
    let idle = members.keys().filter(is_idle).map(|name| {
        let why = match name.as_str() {
            "__config__" => "write the keys of that file here",
            "work_thread_num" | "max_block_thread_num" => "the server has one thread",
            _ => "there is no such key",
        };
        format!("`plugins/rest/{name}`: has no effect: {why}")
    });
    lines.extend(idle);
    lines
}

/// Place of a server, and the clients that may use it.
pub(crate) struct Reach {
    pub key: &'static str,
    pub address: SocketAddr,
    /// True if only clients with credentials or certificates are served.
    pub is_closed: bool,
}

impl Reach {
    /// Refuses a server that strangers reach, unless it is wanted. The reference's key opens it to
    /// every machine, but not of a node with rules of access control, whose owner has to say so.
    ///
    /// # Errors
    /// Strangers reach it.
    pub fn check(&self, config: &Config) -> Result<(), StartError> {
        let Reach { key, address, .. } = self;
        let has_rules = config.settings().access_enabled;
        let is_wanted = is_true(config, OPEN) || (*key != LISTEN && !has_rules);
        if self.is_closed || address.ip().to_canonical().is_loopback() || is_wanted {
            return Ok(());
        }
        let within = match has_rules {
            true => " that access_control allows clients without a name",
            false => "",
        };
        Err(StartError::Config(format!(
            "`{key}`: other machines reach {address}, and could read and write every key{within}: set {USERS} or {TOKENS}, or {OPEN} to true"
        )))
    }
}

/// Returns true if the node shall not start without the server. The reference's key has a default
/// of its own.
pub(super) fn is_required(config: &Config) -> bool {
    match config.is_set(LISTEN) || config.is_set(REQUIRED) {
        true => is_true(config, REQUIRED),
        false => config.plugin_member(PLUGIN, "__required__").as_deref() == Some("true"),
    }
}

/// Returns the address that a key of a plugin has: a port of every interface, as in the reference, or
/// a host with a port.
///
/// # Errors
/// The value is none.
pub(crate) fn address_of_port(key: &str, json: &str) -> Result<Option<SocketAddr>, StartError> {
    let text = json.trim_matches('"');
    if text.eq_ignore_ascii_case("none") || text == "null" {
        return Ok(None);
    }
    if let Ok(port) = text.parse::<u16>() {
        return Ok(Some((Ipv6Addr::UNSPECIFIED, port).into()));
    }
    let found = text.to_socket_addrs().ok();
    match found.and_then(|mut found| found.next()) {
        Some(address) => Ok(Some(address)),
        None => Err(StartError::Config(format!(
            "`{key}`: {json} is no port and no HOST:PORT, such as 8000 or \"127.0.0.1:8000\""
        ))),
    }
}

/// Returns the name of the server's protocol, as rules of access control name it.
fn protocol_of(config: &Config) -> &'static str {
    if is_true(config, TLS) {
        "https"
    } else {
        "http"
    }
}

/// Returns the key that the server is wanted by, and its address.
fn place(config: &Config) -> Result<Option<(&'static str, SocketAddr)>, StartError> {
    if let Some(address) = address_of(config, LISTEN, "127.0.0.1:8000")? {
        return Ok(Some((LISTEN, address)));
    }
    let port = config.plugin_member(PLUGIN, "http_port");
    let address = port.map(|port| address_of_port(PORT, &port)).transpose()?;
    Ok(address.flatten().map(|address| (PORT, address)))
}

/// Refuses a server with the remote API in a build without it.
///
/// # Errors
/// This build has none.
fn allow_remote_api() -> Result<(), StartError> {
    match IS_REMOTE_API_BUILT {
        true => Ok(()),
        false => Err(StartError::Config(format!(
            "`{REMOTE}`: this build has no remote API (cargo feature `remote-api`)"
        ))),
    }
}

/// Returns the function that reads the files again that the configuration names.
pub(crate) fn reader(config: &Config) -> ReadCredentials {
    let config = config.clone();
    Box::new(move || match credentials(&config) {
        Ok(found) => found.ok_or_else(|| "there are none".to_owned()),
        Err(error) => Err(error.to_string()),
    })
}

/// Returns the credentials that clients need; `None` if they need none.
///
/// # Errors
/// A file that cannot be used.
///
/// # Blocking
/// Reads the files.
pub(crate) fn credentials(config: &Config) -> Result<Option<Credentials>, StartError> {
    let read = |key: &str| {
        let text = config.private_file(key);
        text.map_err(|error| StartError::Config(error.to_string()))
    };
    let (users, tokens) = (read(USERS)?, read(TOKENS)?);
    if users.is_none() && tokens.is_none() {
        return Ok(None);
    }
    match Credentials::parse(users.as_deref(), tokens.as_deref(), protocol_of(config)) {
        Ok(credentials) => Ok(Some(credentials)),
        Err(fault) => {
            let key = if users.is_some() { USERS } else { TOKENS };
            let file = text_of(config, key).unwrap_or_default();
            Err(StartError::Config(format!("`{key}` {file}: {fault}")))
        }
    }
}
