// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the configuration says of the options of links: users and passwords, compression, bare messages.

use std::path::PathBuf;

use zonda_transport::protocol::{
    auth::{Credentials, CredentialsError, Users},
    compression,
    options::LocalOptions,
};

use super::{Config, ConfigError};

const COMPRESSION: &str = "transport/unicast/compression/enabled";
const LOW_LATENCY: &str = "transport/unicast/lowlatency";
const QOS: &str = "transport/unicast/qos/enabled";
const USER: &str = "transport/auth/usrpwd/user";
const PASSWORD: &str = "transport/auth/usrpwd/password";
const DICTIONARY: &str = "transport/auth/usrpwd/dictionary_file";

impl Config {
    /// What this node's links may have beyond the plain protocol.
    ///
    /// # Errors
    /// A key without the one that belongs to it, or a list of users that cannot be read or used.
    ///
    /// # Blocking
    /// Reads the list of users, if there is one.
    pub fn link_options(&self) -> Result<LocalOptions, ConfigError> {
        Ok(LocalOptions {
            credentials: self.credentials()?,
            users: self.users()?,
            compression: self.flag(COMPRESSION) && compression::AVAILABLE,
            low_latency: self.flag(LOW_LATENCY),
        })
    }

    /// Whether the keys of links' options go together.
    ///
    /// # Errors
    /// The first two that do not.
    pub(super) fn check_options(&self) -> Result<(), ConfigError> {
        if self.flag(LOW_LATENCY) && self.qos_enabled() {
            let reason = format!(
                "{LOW_LATENCY} and {QOS} exclude each other; set {QOS} to false, or leave {LOW_LATENCY} out"
            );
            return Err(ConfigError::Combination { reason });
        }
        self.credentials().map(drop)
    }

    /// The user name that `transport/auth/usrpwd/user` gives this node, with its password.
    fn credentials(&self) -> Result<Option<Credentials>, ConfigError> {
        let (user, password) = match (self.text(USER), self.text(PASSWORD)) {
            (None, None) => return Ok(None),
            (Some(user), Some(password)) => (user, password),
            (Some(_), None) => return Err(lacks(USER, PASSWORD)),
            (None, Some(_)) => return Err(lacks(PASSWORD, USER)),
        };
        let credentials = Credentials::new(&user, &password);
        credentials.map(Some).map_err(|error| {
            let key = match error {
                CredentialsError::EmptyPassword { .. } => PASSWORD,
                _ => USER,
            };
            unusable(key, &error)
        })
    }

    fn users(&self) -> Result<Option<Users>, ConfigError> {
        let Some(file) = self.text(DICTIONARY) else {
            return Ok(None);
        };
        let text =
            std::fs::read_to_string(PathBuf::from(&file)).map_err(|error| ConfigError::Read {
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

    #[test]
    fn a_user_goes_with_a_password() {
        let config = Config::default();
        assert_eq!(config.link_options(), Ok(LocalOptions::default()));
        let user = config.clone().with(USER, "'bob'");
        let error = user.link_options().expect_err("no password").to_string();
        assert!(error.contains(USER) && error.contains(PASSWORD), "{error}");
        let options = user.clone().with(PASSWORD, "'hush'").link_options();
        let credentials = options.expect("both").credentials.expect("a user");
        assert_eq!(credentials.user(), "bob");
        assert!(!format!("{:?} {0}", user.with(PASSWORD, "'hush'")).contains("hush"));
        for (user, password) in [("''", "'hush'"), ("'bob'", "''")] {
            let config = Config::default().with(USER, user).with(PASSWORD, password);
            let error = config.link_options().expect_err("empty").to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_used_is_named() {
        let absent = Config::default().with(DICTIONARY, "'no/such/file'");
        let error = absent.link_options().expect_err("no file").to_string();
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
