// SPDX-License-Identifier: MIT OR Apache-2.0

//! Differences between two configurations of a node, and the keys that a running node takes over.

use std::collections::BTreeSet;

use crate::{Config, keys, rows::ROWS, value::Value};

/// Keys that a running node takes over from another configuration, with all keys below them.
const RELOADED: [&str; 4] = [
    "access_control",
    "downsampling",
    "low_pass_filter",
    "qos/network",
];

/// Returns the keys that a running node takes over, with all keys below them.
#[must_use]
pub const fn reloaded_keys() -> &'static [&'static str] {
    &RELOADED
}

/// Returns true if a running node takes over the value of this key.
#[must_use]
pub fn is_reloaded(key: &str) -> bool {
    RELOADED.iter().any(|one| {
        let below = key.strip_prefix(one);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    })
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

    /// Takes over the values of the [reloaded](is_reloaded) keys from another configuration.
    pub fn reload(&mut self, other: &Config) {
        self.settings.retain(|path, _| !is_reloaded(path));
        let others = other.settings.iter().filter(|(path, _)| is_reloaded(path));
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
        running.reload(&other);
        let mut left = running.differing_keys(&other);
        left.sort_unstable();
        assert_eq!(left, ["listen/endpoints", password]);
        // An absent value is taken over as well.
        running.reload(&Config::router());
        assert!(!running.settings().access_enabled);
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
            assert_eq!(is_reloaded(key), expected, "{key}");
        }
    }
}
