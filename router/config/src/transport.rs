// SPDX-License-Identifier: MIT OR Apache-2.0

//! The options of links in the configuration: users and passwords, compression, bare messages.

use std::path::Path;

use zonda_codec::Endpoint;
use zonda_transport::{
    link::is_group,
    protocol::{
        auth::{Credentials, CredentialsError, UserIds, Users},
        compression,
        multilink::{self, NodeKey},
        options::LocalOptions,
        shared::{self, SharedMemory, SharedSettings},
    },
};

use crate::{
    ConfigError, Settings,
    private::{self, DICTIONARY_MODE},
};

const LOW_LATENCY: &str = "transport/unicast/lowlatency";
const MAX_LINKS: &str = "transport/unicast/max_links";
const QOS: &str = "transport/unicast/qos/enabled";
const JOIN_INTERVAL: &str = "transport/multicast/join_interval";
const LEASE: &str = "transport/link/tx/lease";
const SHM: &str = "transport/shared_memory/enabled";
const USER: &str = "transport/auth/usrpwd/user";
const PASSWORD: &str = "transport/auth/usrpwd/password";
const IDS: &str = "transport/auth/usrpwd/ids";
const DICTIONARY: &str = "transport/auth/usrpwd/dictionary_file";

impl Settings {
    /// Returns the options of this node's links beyond the plain protocol, without
    /// [shared memory](Settings::shared_memory).
    ///
    /// # Errors
    /// A key without its counterpart, or a list of users that cannot be read or used.
    ///
    /// # Blocking
    /// Reads the list of users, if there is one.
    pub fn link_options(&self) -> Result<LocalOptions, ConfigError> {
        Ok(LocalOptions {
            credentials: self.credentials()?,
            users: self.users()?,
            user_ids: UserIds::new(self.user_ids.iter().cloned()),
            compression: self.compression && compression::AVAILABLE,
            low_latency: self.low_latency,
            multilink: self.node_key()?,
            region_name: self.region_name.as_deref().map(Into::into),
            shared: None,
        })
    }

    /// Sets up the node's shared memory, if it is enabled; without it, payloads go over the links.
    pub fn shared_memory(&self) -> Option<SharedMemory> {
        if !self.shm || !shared::AVAILABLE {
            return None;
        }
        let is_named = |name: &str| {
            let mut names = self.shm_messages.iter().flatten();
            self.shm_copies && names.any(|given| given == name)
        };
        let copied = ["put", "query", "reply"].map(is_named);
        let settings = SharedSettings {
            pool_bytes: self.shm_pool_bytes,
            size_min: self.shm_bytes_min,
            copied,
            copies_out: self.shm_copies_out,
            at_open: self.shm_at_open && copied.contains(&true),
        };
        SharedMemory::open(&settings)
            .inspect_err(|error| {
                tracing::warn!(
                    "no shared memory ({error}): all payloads go over links; is /dev/shm there and writable? {SHM}: false ends this warning"
                );
            })
            .ok()
    }

    /// Checks that the options of links do not contradict each other.
    ///
    /// # Errors
    /// The first contradiction.
    pub(super) fn check_options(&self) -> Result<(), ConfigError> {
        if self.low_latency && self.qos_enabled {
            let reason = format!(
                "{LOW_LATENCY} and {QOS} exclude each other; set {QOS} to false, or leave {LOW_LATENCY} out"
            );
            return Err(ConfigError::Combination { reason });
        }
        let is_in_group = self.listen_endpoints.iter().any(is_group);
        if is_in_group && self.multicast_join_interval >= self.lease {
            let reason = format!(
                "{JOIN_INTERVAL} has to be shorter than {LEASE}, as others take a member for gone that says nothing for that long"
            );
            return Err(ConfigError::Combination { reason });
        }
        self.check_trusted()?;
        if !self.user_ids.is_empty() && self.users_file.is_none() {
            let reason =
                format!("{IDS} is set but {DICTIONARY} is not: no neighbour proves its user");
            return Err(ConfigError::Combination { reason });
        }
        self.credentials().map(drop)
    }

    /// Checks that a listener requests certificates if rules name routers by theirs.
    fn check_trusted(&self) -> Result<(), ConfigError> {
        let mut items = self.trusted.iter().flatten();
        let is_named = items.any(|item| item.cert_names.is_some());
        let mut listeners = self.listen_endpoints.iter();
        match is_named && !listeners.any(|endpoint| self.asks_for_certificates(endpoint)) {
            true => Err(ConfigError::Combination {
                reason: "routing/router/trusted has cert_names, and no endpoint in listen/endpoints asks for a certificate; listen on \
                         tls, quic or wss with transport/link/tls/enable_mtls, or name routers by zids or users"
                    .to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Returns the user name that `transport/auth/usrpwd/user` gives this node, with its password.
    fn credentials(&self) -> Result<Option<Credentials>, ConfigError> {
        let (user, password) = match (&self.user, &self.password) {
            (None, None) => return Ok(None),
            (Some(user), Some(password)) => (user, password),
            (Some(_), None) => return Err(lacks(USER, PASSWORD)),
            (None, Some(_)) => return Err(lacks(PASSWORD, USER)),
        };
        let credentials = Credentials::new(user, password);
        credentials.map(Some).map_err(|error| {
            let key = match error {
                CredentialsError::EmptyPassword { .. } => PASSWORD,
                _ => USER,
            };
            unusable(key, &error)
        })
    }

    /// Returns a new key for this node if it may have several links to a neighbour.
    fn node_key(&self) -> Result<Option<NodeKey>, ConfigError> {
        if self.max_links < 2 || !multilink::AVAILABLE {
            return Ok(None);
        }
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| ConfigError::Combination {
            reason: format!("the system provides no random bytes for {MAX_LINKS}: {error}"),
        })?;
        Ok(NodeKey::from_seed(seed))
    }

    /// Returns true if nodes that connect must authenticate as a user.
    pub fn has_users(&self) -> bool {
        self.users_file.is_some()
    }

    /// Returns true if nodes that connect to this endpoint must present a certificate.
    pub fn asks_for_certificates(&self, endpoint: &Endpoint) -> bool {
        let asks = match endpoint.config().get("enable_mtls") {
            Some(own) => own == "true",
            None => self.tls_mtls,
        };
        asks && ["tls", "quic", "wss"].contains(&endpoint.proto())
    }

    /// Checks that the list of users, if there is one, is readable, valid and private.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    ///
    /// # Blocking
    /// Reads the list.
    pub(super) fn check_users(&self) -> Result<(), ConfigError> {
        self.users().map(drop)
    }

    /// Reads the list of users.
    ///
    /// # Errors
    /// The errors of [`Settings::link_options`].
    ///
    /// # Blocking
    /// Reads the file.
    pub fn users(&self) -> Result<Option<Users>, ConfigError> {
        let Some(file) = &self.users_file else {
            return Ok(None);
        };
        if !self.users_file_of_any_mode {
            private::check(Path::new(file)).map_err(|reason| ConfigError::Combination {
                reason: format!("{DICTIONARY} {file}: {reason}; or set {DICTIONARY_MODE} to 'any'"),
            })?;
        }
        let text = std::fs::read_to_string(file).map_err(|error| ConfigError::Read {
            file: format!("{file} ({DICTIONARY})"),
            reason: error.to_string(),
        })?;
        let users = text.parse();
        users
            .map(Some)
            .map_err(|error| unusable(&format!("{DICTIONARY} {file}"), &error))
    }
}

fn lacks(key: &str, other: &str) -> ConfigError {
    ConfigError::Combination {
        reason: format!("{key} is set but {other} is not; set both or neither"),
    }
}

fn unusable(key: &str, error: &CredentialsError) -> ConfigError {
    ConfigError::Combination {
        reason: format!("{key}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn a_user_goes_with_a_password() {
        let config = Config::default();
        assert_eq!(
            config.settings().link_options(),
            Ok(LocalOptions::default())
        );
        let user = config.clone().with(USER, "'bob'");
        let error = user
            .settings()
            .link_options()
            .expect_err("no password")
            .to_string();
        assert!(error.contains(USER) && error.contains(PASSWORD), "{error}");
        let options = user
            .clone()
            .with(PASSWORD, "'hush'")
            .settings()
            .link_options();
        let credentials = options.expect("both").credentials.expect("a user");
        assert_eq!(credentials.user(), "bob");
        assert!(!format!("{:?} {0}", user.with(PASSWORD, "'hush'")).contains("hush"));
        for (user, password) in [("''", "'hush'"), ("'bob'", "''")] {
            let config = Config::default().with(USER, user).with(PASSWORD, password);
            let error = config
                .settings()
                .link_options()
                .expect_err("empty")
                .to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_used_is_named() {
        let absent = Config::default().with(DICTIONARY, "'no/such/file'");
        let error = absent
            .settings()
            .link_options()
            .expect_err("no file")
            .to_string();
        assert!(
            error.contains("no/such/file") && error.contains(DICTIONARY),
            "{error}"
        );
        assert!(
            absent.validate().is_ok(),
            "the file is read when a node opens"
        );
    }
}
