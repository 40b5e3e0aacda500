// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Services: parts of a daemon that use its node through a session, each chosen by the keys below
//! `services/NAME` of the configuration.
//!
//! [`SERVICES`] lists them; a daemon calls [`start_all`] once its node runs.

mod counters;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
mod metrics;
#[cfg(feature = "remote-api")]
mod remote_api;
#[cfg(feature = "remote-api")]
mod remote_plugin;
#[cfg(feature = "http")]
mod rest;
#[cfg(feature = "storage")]
mod storage;
#[cfg(feature = "http")]
mod values;

use std::sync::Arc;

use zonda::session::Sample;
use zonda::{Config, Session};
use zonda_transport::log_ring::LogRing;

pub use counters::Counters;

/// Error of a service that did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A value of the configuration is wrong.
    #[error("{0}")]
    Config(String),
    /// The system refused a resource, such as a port.
    #[error("{0}")]
    System(String),
}

/// A service that can be started.
pub trait Service: Sync {
    /// Name below `services/` in the configuration.
    fn name(&self) -> &'static str;

    /// Returns true if the configuration asks for it.
    ///
    /// # Errors
    /// A value of its keys is wrong.
    fn is_wanted(&self, config: &Config) -> Result<bool, StartError>;

    /// Returns true if the node shall not start without it.
    fn is_required(&self, config: &Config) -> bool {
        let value = config.get_json(&format!("services/{}/__required__", self.name()));
        value.is_ok_and(|value| value != "false")
    }

    /// Returns warnings about its configuration, one line each.
    fn warnings(&self, _config: &Config) -> Vec<String> {
        Vec::new()
    }

    /// Checks that this machine has what its start needs, such as files, folders and addresses,
    /// without changing them and without taking a port.
    ///
    /// # Errors
    /// The reason why it would not start now.
    ///
    /// # Blocking
    /// Reads files, and looks up names of hosts.
    fn look(&self, config: &Config) -> Result<(), StartError> {
        let _ = config;
        Ok(())
    }

    /// Starts it on a session of its own.
    ///
    /// # Errors
    /// The reason, in one line.
    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError>;
}

/// Function that opens a session on the node.
pub type Sessions = Arc<dyn Fn() -> Result<Session, zonda::Error> + Send + Sync>;

/// Surroundings of a service that starts.
pub struct Start<'s> {
    /// Session of the service.
    pub session: &'s Session,
    /// Opens further sessions on its node.
    pub sessions: &'s Sessions,
    /// Configuration of the daemon.
    pub config: &'s Config,
    /// Counters of the daemon's services, to which it adds its own.
    pub counters: &'s Counters,
    /// The last lines of the daemon's log, if it keeps them.
    pub log: Option<&'static LogRing>,
}

impl std::fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start").finish_non_exhaustive()
    }
}

/// A service that runs. Dropping it stops it.
pub trait Running: Send {
    /// Name of the service.
    fn name(&self) -> &'static str;

    /// Describes its state in one line, such as the address that it is reached at.
    fn status(&self) -> String;

    /// Returns its counters.
    fn metrics(&self) -> Vec<Sample>;

    /// Takes over the certificate of another configuration, for later connections.
    ///
    /// # Errors
    /// The reason why it cannot be used; the previous one stays.
    ///
    /// # Blocking
    /// Reads the files of the certificate.
    fn renew(&self, config: &Config) -> Result<(), String> {
        let _ = config;
        Ok(())
    }

    /// Reads its files of credentials again; those that have come count from the next request on.
    /// Returns their number; `None` if it has none.
    ///
    /// # Errors
    /// The reason why they cannot be used; the previous ones stay.
    ///
    /// # Blocking
    /// Reads the files.
    fn reload_credentials(&self) -> Option<Result<usize, String>> {
        None
    }

    /// Stops it.
    ///
    /// # Blocking
    /// Until its threads have ended, some milliseconds.
    fn stop(self: Box<Self>);
}

/// Consequence of a fault of a service that is not required, in words.
pub const NOT_REQUIRED: &str = "`__required__` is false, so the node runs on";

/// The services of this build.
pub const SERVICES: &[&dyn Service] = &[
    #[cfg(feature = "http")]
    &metrics::Metrics,
    #[cfg(feature = "http")]
    &rest::Rest,
    #[cfg(feature = "remote-api")]
    &remote_plugin::Plugin,
    #[cfg(feature = "storage")]
    &storage::StorageManager,
];

/// The plugins of the reference whose work the services of this build do: their configurations are
/// used.
pub const PLUGINS: &[&str] = &[
    #[cfg(feature = "http")]
    "rest",
    #[cfg(feature = "remote-api")]
    "remote_api",
    #[cfg(feature = "storage")]
    "storage_manager",
];

/// Checks the values of all services.
///
/// # Errors
/// The first wrong value, or a service that this build does not have.
pub fn check(config: &Config) -> Result<(), StartError> {
    wanted(config).map(|_| ())
}

/// Returns the services that the configuration asks for, with the errors of [`check`].
fn wanted(config: &Config) -> Result<Vec<&'static dyn Service>, StartError> {
    let mut wanted = Vec::new();
    for service in SERVICES {
        if service.is_wanted(config)? {
            wanted.push(*service);
        }
    }
    let is_here = |name: &str| SERVICES.iter().any(|service| service.name() == name);
    for name in ["metrics", "http"] {
        let key = format!("services/{name}/listen");
        if !is_here(name) && config.is_set(&key) {
            let text = format!("`{key}`: this build has no HTTP (cargo feature `http`)");
            return Err(StartError::Config(text));
        }
    }
    Ok(wanted)
}

/// Reason why a service would not start on this machine now.
#[derive(Debug)]
pub struct Fault {
    /// The reason, in one line.
    pub error: StartError,
    /// True if the node shall not start without the service.
    pub is_required: bool,
}

/// Checks that this machine has what the services need that a correct configuration asks for.
///
/// # Blocking
/// Reads files, and looks up names of hosts.
pub fn look(config: &Config) -> Vec<Fault> {
    // `check` returns the error of a wrong value.
    let wanted = wanted(config).unwrap_or_default();
    let fault = |service: &&dyn Service| {
        Some(Fault {
            error: service.look(config).err()?,
            is_required: service.is_required(config),
        })
    };
    wanted.iter().filter_map(fault).collect()
}

/// Returns warnings about the configurations of services, one line each.
pub fn warnings(config: &Config) -> Vec<String> {
    let all = SERVICES.iter();
    all.flat_map(|service| service.warnings(config)).collect()
}

/// Starts the services that the configuration asks for. `session` opens a session for each; `log` has
/// the last lines of the program's log, if it keeps them.
///
/// # Errors
/// The first service that does not start, unless its key `__required__` is false: then that is
/// logged, and the others start. Services that run already are stopped.
pub fn start_all<E: Into<zonda::Error>>(
    config: &Config,
    session: impl Fn() -> Result<Session, E> + Send + Sync + 'static,
    log: Option<&'static LogRing>,
) -> Result<Vec<Box<dyn Running>>, StartError> {
    let counters = Counters::default();
    let sessions: Sessions = Arc::new(move || session().map_err(Into::into));
    let mut running = Vec::new();
    for service in wanted(config)? {
        // The service keeps a clone of its session for as long as it runs.
        let session = sessions().map_err(|error| StartError::System(error.to_string()))?;
        let start = Start {
            session: &session,
            sessions: &sessions,
            config,
            counters: &counters,
            log,
        };
        match service.start(&start) {
            Ok(started) => running.push(started),
            Err(error) if service.is_required(config) => return Err(error),
            Err(error) => tracing::warn!("{error}; {NOT_REQUIRED}"),
        }
    }
    Ok(running)
}
