// SPDX-License-Identifier: MIT OR Apache-2.0

//! Differences between two configurations of a node, and the keys that a running node takes over.

use std::collections::BTreeSet;

use zonda_codec::WhatAmI;

use crate::{Config, ConfigError, keys, plugins::SECTION as PLUGINS, rows::ROWS, value::Value};

/// Keys that a running node takes over, also from other nodes, with all keys below them.
const WRITABLE: [&str; 4] = [
    "access_control",
    "downsampling",
    "low_pass_filter",
    "qos/network",
];

/// Keys that a running node takes over from its own configuration alone: addresses and files of its
/// machine.
const OF_MACHINE: [&str; 12] = [
    CONNECT,
    "listen/endpoints",
    "transport/link/tls/root_ca_certificate",
    "transport/link/tls/root_ca_certificate_base64",
    "transport/link/tls/listen_private_key",
    "transport/link/tls/listen_private_key_base64",
    "transport/link/tls/listen_certificate",
    "transport/link/tls/listen_certificate_base64",
    "transport/link/tls/connect_private_key",
    "transport/link/tls/connect_private_key_base64",
    "transport/link/tls/connect_certificate",
    "transport/link/tls/connect_certificate_base64",
];

const CONNECT: &str = "connect/endpoints";

/// Keys that a running node or its program takes over from its own configuration alone: times of its
/// connections, and the amount that it logs.
const OF_NODE: [&str; 6] = [
    "transport/link/tx/lease",
    "transport/link/tx/keep_alive",
    "connect/retry/period_init_ms",
    "connect/retry/period_max_ms",
    "connect/retry/period_increase_factor",
    "log/filter",
];

/// Returns the keys that a running node takes over from other nodes, too, with all keys below them.
#[must_use]
pub const fn writable_keys() -> &'static [&'static str] {
    &WRITABLE
}

/// Returns true if a running node takes over the value of this key from other nodes, too.
#[must_use]
pub fn is_writable(key: &str) -> bool {
    WRITABLE.iter().any(|one| is_part(key, one))
}

/// Returns true if a key is the section of plugins, or below it.
#[must_use]
pub fn is_of_plugins(key: &str) -> bool {
    is_part(key, PLUGINS)
}

/// Returns true if a running node of a role takes over the value of this key from its own
/// configuration. A client, which has one connection, does not change the endpoints for it.
#[must_use]
pub fn is_reloaded(key: &str, role: WhatAmI) -> bool {
    let is_fixed = role == WhatAmI::Client && key == CONNECT;
    let is_own = OF_MACHINE.contains(&key) || OF_NODE.contains(&key);
    is_writable(key) || (is_own && !is_fixed)
}

/// Returns true if `key` is `whole` or below it.
pub(super) fn is_part(key: &str, whole: &str) -> bool {
    let below = key.strip_prefix(whole);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

impl Config {
    /// Returns a copy of the values, without the runtime.
    #[must_use]
    pub fn values(&self) -> Config {
        Config {
            runtime: None,
            ..self.clone()
        }
    }

    /// Returns the keys whose values for the node's role differ from those in another
    /// configuration, in the order of the documentation's table. Secrets are compared, too.
    #[must_use]
    pub fn differing_keys(&self, other: &Config) -> Vec<String> {
        let rows = ROWS
            .iter()
            .filter(|key| self.in_force(key) != other.in_force(key));
        let rows = rows.map(|key| key.path.to_owned());
        // Values that were set below free-form keys.
        let below = self.settings.keys().chain(other.settings.keys());
        let below: BTreeSet<_> = below.filter(|path| keys::find(path).is_none()).collect();
        let value = |config: &Config, path: &String| {
            let setting = config.settings.get(path);
            setting.map_or(Value::Null, |setting| setting.value.clone())
        };
        let below = below
            .into_iter()
            .filter(|path| value(self, path) != value(other, path));
        rows.chain(below.cloned()).collect()
    }

    /// Returns a copy of the values with those of a JSON5 object. Of each [writable](writable_keys) key
    /// that the object names, nothing of the former value is left.
    ///
    /// # Errors
    /// The fault of the object.
    pub fn replaced(&self, object: &str) -> Result<Config, ConfigError> {
        let mut given = Config::default();
        given.merge_json5(object)?;
        let mut copy = self.values();
        for whole in WRITABLE {
            if given.settings.keys().any(|path| is_part(path, whole)) {
                copy.settings.retain(|path, _| !is_part(path, whole));
            }
        }
        copy.settings.extend(given.settings);
        Ok(copy)
    }

    /// Returns the values of the [writable](writable_keys) keys as a JSON object.
    #[must_use]
    pub fn writable_values(&self) -> String {
        let mut all = serde_json::Map::new();
        for whole in WRITABLE {
            let value = self.to_json(whole).unwrap_or_default();
            all.insert(
                whole.into(),
                serde_json::from_str(&value).unwrap_or_default(),
            );
        }
        serde_json::Value::Object(all).to_string()
    }

    /// Takes over the values of the keys that `is_taken` from another configuration.
    pub fn reload(&mut self, other: &Config, is_taken: impl Fn(&str) -> bool) {
        self.settings.retain(|path, _| !is_taken(path));
        let others = other.settings.iter().filter(|(path, _)| is_taken(path));
        self.settings
            .extend(others.map(|(path, setting)| (path.clone(), setting.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_and_taken_over() {
        let text = |permission: &str, port: u16, secret: &str| {
            format!(
                "{{mode: 'router', listen: {{endpoints: ['tcp/127.0.0.1:{port}']}},
                   transport: {{auth: {{usrpwd: {{user: 'u', password: '{secret}'}}}}}},
                   access_control: {{enabled: true, default_permission: '{permission}',
                                     rules: [], subjects: [], policies: []}}}}"
            )
        };
        let read = |text: &str| Config::from_json5(text).expect(text);
        let mut running = read(&text("deny", 7447, "one"));
        assert_eq!(running.differing_keys(&running.values()), [""; 0]);
        let other = read(&text("allow", 7448, "two"));
        let permission = "access_control/default_permission";
        let password = "transport/auth/usrpwd/password";
        let mut expected = ["listen/endpoints", password, permission];
        let mut found = running.differing_keys(&other);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
        // A line more changes no value.
        let moved = text("allow", 7448, "two").replacen('{', "{\n// a comment\n", 1);
        assert_eq!(other.differing_keys(&read(&moved)), [""; 0]);
        running.reload(&other, is_writable);
        let mut left = running.differing_keys(&other);
        left.sort_unstable();
        assert_eq!(left, ["listen/endpoints", password]);
        // An absent value is taken over as well.
        running.reload(&Config::router(), is_writable);
        assert!(!running.settings().access_enabled);
    }

    #[test]
    fn values_of_an_object_replace_whole_keys() {
        let list = "[{size_limit: 1, flows: ['ingress'], messages: ['put'], key_exprs: ['a']}]";
        let running = Config::router().with("low_pass_filter", list);
        let running = running.with("access_control/enabled", "false");
        let rates = "{downsampling: [{messages: ['put'], rules: [{key_expr: 'b', freq: 1}]}]}";
        let replaced = running.replaced(rates).expect("it is valid");
        let changed = ["downsampling"];
        assert_eq!(running.differing_keys(&replaced), changed);
        // The values of one configuration make another one have them, those that are not set too.
        let wanted = Config::router().with("access_control/default_permission", "'allow'");
        let replaced = replaced
            .replaced(&wanted.writable_values())
            .expect("it is valid");
        assert_eq!(replaced.differing_keys(&wanted), [""; 0]);
        assert!(running.replaced("{downsamplin: []}").is_err());
    }

    #[test]
    fn whole_keys_are_reloaded() {
        for (key, expected) in [
            ("access_control/rules", true),
            ("low_pass_filter", true),
            ("qos/network", true),
            ("qos/networks", false),
            ("access", false),
            ("mode", false),
        ] {
            assert_eq!(is_writable(key), expected, "{key}");
            assert_eq!(is_reloaded(key, WhatAmI::Router), expected, "{key}");
        }
    }

    #[test]
    fn a_node_reads_more_from_its_own_file_than_other_nodes_may_write() {
        for key in OF_MACHINE.into_iter().chain(OF_NODE) {
            assert!(keys::find(key).is_some(), "{key}");
            assert!(
                is_reloaded(key, WhatAmI::Router) && !is_writable(key),
                "{key}"
            );
            assert_eq!(is_reloaded(key, WhatAmI::Client), key != CONNECT, "{key}");
        }
        let endpoints = "{connect: {endpoints: ['tcp/127.0.0.1:1']}}";
        let mut running = Config::router();
        let other = Config::from_json5(endpoints).expect("it is valid");
        running.reload(&other, |key| is_reloaded(key, WhatAmI::Router));
        assert_eq!(running.settings().connect_endpoints().count(), 1);
    }
}
