// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! The configuration of a node: the reference's JSON5 keys, checked strictly. The node honours
//! every known key or reports it in [`Config::warnings`]; it refuses an unknown key with the most
//! similar valid one.
//!
//! [`Config`] is the document: the values that were set, and their origins. A node reads it once,
//! when it opens, as typed [`Settings`]. The table of keys in `rows` defines both.

mod access;
mod build;
mod check;
mod downsampling;
mod effective;
mod error;
pub mod interfaces;
mod json5;
mod keys;
mod kind;
mod limits;
mod look;
mod low_pass;
mod masked;
mod merge;
mod network;
mod origin;
mod plugins;
mod private;
mod publication;
mod read;
mod reload;
mod rows;
mod rule;
mod scope;
mod serial;
mod service;
mod settings;
mod shown;
mod sources;
#[cfg(all(test, feature = "compression", feature = "multilink"))]
mod table;
#[cfg(test)]
mod tests;
mod transport;
mod trusted;
mod user_ids;
mod validate;
mod value;
mod weights;
mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use zonda_codec::WhatAmI;
use zonda_runtime::AnyRuntime;

pub use access::{
    AccessControl, AccessGrant, AccessMode, AccessProblem, AccessRule, AccessSubject, Permission,
};
pub use check::{link_kinds, parse_endpoint};
pub use downsampling::{DownsamplingItem, DownsamplingRule};
pub use effective::{Effective, HIDDEN};
pub use error::{ConfigError, Warning};
pub use low_pass::LowPassRule;
pub use masked::names_secret;
pub use network::{NetworkRule, Overwrite, PriorityChange};
pub use origin::Origin;
pub use plugins::differing_plugins;
pub use publication::PublicationRule;
pub use read::{Strategies, TimeLimit};
pub use reload::{is_of_plugins, is_reloaded, is_writable, writable_keys};
pub use rows::Settings;
pub use rule::{Flow, MessageKind};
pub use scope::Scope;
pub use service::ServiceGiven;
pub use settings::{GossipConfig, Retry, ScoutingConfig};
pub use sources::{Examined, Flag, Problem, RouterEnvironment, Sources, VALUES};
pub use trusted::Trusted;

use kind::{Key, Kind};
use merge::unknown;
use read::Found;
use rows::ROWS;
use shown::without_secrets;
use value::{Located, Value};

/// Any error, as functions return it whose counterparts in the reference do. A [`ConfigError`] is
/// in it.
pub type AnyError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The configuration of a node. `Config::default()` is a peer that listens on a free port of every
/// interface and connects to no endpoint.
///
/// Values are addressed by the reference's paths (`connect/endpoints`, `transport/link/tx/lease`,
/// ...) or set by the builder-style methods. Builder methods never fail: [`Config::validate`],
/// which every `open` calls first, returns their first error.
///
/// ```
/// use zonda_config::Config;
///
/// let mut config = Config::client(["tcp/127.0.0.1:7447"]);
/// config.insert_json5("transport/link/tx/lease", "5000").unwrap();
/// assert_eq!(config.settings().lease.as_secs(), 5);
///
/// let error = config.insert_json5("connect/endpoint", "[]").unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `connect/endpoints`?"));
/// ```
#[derive(Clone, Default)]
pub struct Config {
    /// The values that were set, by path: keys of the table, and paths below its free-form keys.
    settings: BTreeMap<String, Setting>,
    /// An existing runtime; takes precedence over the key `runtime`.
    runtime: Option<AnyRuntime>,
    /// The first error of a builder method.
    refused: Option<ConfigError>,
    /// The origin of values that are set now.
    source: Origin,
    /// The plugins of the reference whose work this program does itself.
    plugins: &'static [&'static str],
}

#[derive(Clone, PartialEq)]
struct Setting {
    value: Value,
    line: Option<u32>,
    origin: Origin,
}

impl Config {
    /// Reads a whole configuration from JSON5 text. Keys that are absent keep their defaults.
    ///
    /// # Errors
    /// The first error, with its line: a [`ConfigError`].
    pub fn from_json5(text: &str) -> Result<Config, AnyError> {
        let mut config = Config::default();
        config.merge_json5(text)?;
        Ok(config)
    }

    /// Reads a whole configuration from a JSON5 file.
    ///
    /// # Errors
    /// The errors of [`Config::from_json5`], with the file's name; or the reason why the file cannot be read.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Config, AnyError> {
        let mut config = Config::default();
        match config.read(path.as_ref()).into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(config),
        }
    }

    /// Reads the file that the environment variable `ZENOH_CONFIG` names.
    ///
    /// # Errors
    /// The errors of [`Config::from_file`]; also when the variable is not set.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn from_env() -> Result<Config, AnyError> {
        match std::env::var_os(ENVIRONMENT) {
            Some(path) => Config::from_file(Path::new(&path)),
            None => Err(ConfigError::Read {
                file: format!("the configuration named by {ENVIRONMENT}"),
                reason: "the variable is not set".to_owned(),
            }
            .into()),
        }
    }

    /// Merges every key of a JSON5 text into the configuration. On error nothing changes.
    ///
    /// # Errors
    /// The errors of [`Config::from_json5`].
    pub fn merge_json5(&mut self, text: &str) -> Result<(), ConfigError> {
        let root = json5::parse(text)?;
        self.merge("", &root, true)
    }

    /// Sets one key, or every key of a section. `value` is JSON5; `null` restores the default.
    ///
    /// # Errors
    /// The value is not JSON5, or not of the key's kind, or the key does not exist. Nothing changes then.
    ///
    /// ```
    /// let mut config = zonda_config::Config::default();
    /// config.insert_json5("listen/endpoints", r#"["tcp/127.0.0.1:0"]"#)?;
    /// config.insert_json5("timestamping", "{ enabled: true }")?;
    /// # Ok::<(), zonda_config::AnyError>(())
    /// ```
    pub fn insert_json5(&mut self, key: &str, value: &str) -> Result<(), AnyError> {
        Ok(self.set_json5(key, value)?)
    }

    /// Sets values like [`Config::insert_json5`], with a typed error.
    ///
    /// # Errors
    /// The errors of [`Config::insert_json5`].
    pub fn set_json5(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let parsed = json5::parse(value).map_err(|error| ConfigError::of_key(key, error))?;
        self.merge(key.trim_matches('/'), &parsed, value.contains('\n'))
    }

    /// Applies one `--cfg` argument of the form `key/path:value`, where the value is JSON5; `:{..}`
    /// without a key sets every key of the object.
    ///
    /// # Errors
    /// The errors of [`Config::insert_json5`], or the argument has no `:`.
    pub fn insert_argument(&mut self, argument: &str) -> Result<(), ConfigError> {
        match argument.split_once(':') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                self.set_json5(key.trim(), value)
            }
            Some((key, value)) if key.trim().is_empty() && value.trim().starts_with('{') => {
                self.set_json5("", value)
            }
            _ => Err(ConfigError::Argument {
                argument: masked::argument(argument),
            }),
        }
    }

    /// The value of a key or section as JSON, with defaults filled in.
    ///
    /// # Errors
    /// The key does not exist.
    pub fn to_json(&self, key: &str) -> Result<String, ConfigError> {
        let path = key.trim_matches('/');
        if let Some(key) = keys::find(path) {
            return Ok(self.stored(key).to_string());
        }
        if let Some(setting) = self.settings.get(path) {
            return Ok(setting.value.to_string());
        }
        if keys::is_section(path) {
            return Ok(self.section(path).to_string());
        }
        Err(unknown(path, None))
    }

    /// Reads the configuration for the node's role into typed values, which the node keeps when it
    /// opens.
    pub fn settings(&self) -> Settings {
        Settings::read(|path| self.found(path))
    }

    /// The role. Default: peer.
    pub fn mode(&self) -> WhatAmI {
        read::role(&self.found("mode"))
    }

    /// The runtime to use, if the program passed one.
    pub fn runtime_handle(&self) -> Option<&AnyRuntime> {
        self.runtime.as_ref()
    }

    /// Returns true if a key was set (and not reset to its default).
    pub fn is_set(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    /// Returns true if only the environment (`ZONDA_MULTICAST_SCOUTING=off`) turns multicast
    /// scouting off.
    pub fn is_kept_from_scouting(&self) -> bool {
        !self.is_set("scouting/multicast/enabled") && read::multicast_is_switched_off()
    }

    /// The value of a key as set, or its default; not yet resolved for the role.
    fn stored(&self, key: &Key) -> Value {
        match self.settings.get(key.path) {
            Some(setting) => setting.value.clone(),
            None => default_of(key),
        }
    }

    fn found(&self, path: &str) -> Found {
        let value = keys::find(path).map_or(Value::Null, |key| self.in_force(key));
        Found {
            value,
            is_set: self.is_set(path),
            role: if path == "mode" {
                WhatAmI::Peer
            } else {
                self.mode()
            },
        }
    }

    /// Returns the value in force for this role: the one that was set, else the default. A list of
    /// endpoints given for other roles only is empty for this one; any other value is then the default.
    fn in_force(&self, key: &Key) -> Value {
        let Kind::PerRole(kind) = key.kind else {
            return self.stored(key);
        };
        let role = self.mode().to_string();
        let for_role = |value: Value| {
            let own = check::per_role(&value).map(|mut members| {
                let own = members.find(|(name, _)| *name == role);
                own.map_or(Value::Null, |(_, own)| own.clone())
            });
            own.unwrap_or(value)
        };
        match for_role(self.stored(key)) {
            Value::Null if *kind != Kind::Endpoints => for_role(default_of(key)),
            found => found,
        }
    }

    fn section(&self, path: &str) -> Value {
        let prefix = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        // The next part of each key below the path, in the order of the table.
        let mut names: Vec<&str> = Vec::new();
        for key in ROWS {
            let name = key
                .path
                .strip_prefix(&prefix)
                .and_then(|rest| rest.split('/').next());
            if let Some(name) = name
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        // Its value: of the key, or of the section below.
        let members = names.into_iter().map(|name| {
            let path = format!("{prefix}{name}");
            let value = keys::find(&path).map_or_else(|| self.section(&path), |k| self.stored(k));
            (name.to_owned(), Located { value, line: 0 })
        });
        Value::Object(members.collect())
    }
}

/// Formats the configuration as JSON, with defaults filled in. Secrets are hidden.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", without_secrets("", &self.section("")))
    }
}

/// Formats the values that were set. Secrets are hidden.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (path, setting) in &self.settings {
            let value = without_secrets(path, &setting.value);
            map.entry(path, &format_args!("{value}"));
        }
        map.finish()
    }
}

/// The variable that names the file of [`Config::from_env`], as in the reference.
const ENVIRONMENT: &str = "ZENOH_CONFIG";

/// The default of a key.
fn default_of(key: &Key) -> Value {
    json5::parse(key.default).map_or(Value::Null, |located| located.value)
}
