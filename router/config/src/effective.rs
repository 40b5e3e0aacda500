// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration that takes effect: each key with the value for the node's role and the value's
//! origin, as `--print-config` prints them.

use std::fmt;

use crate::{Config, Origin, keys, kind::Kind, rows::ROWS, shown::without_secrets, value::Value};

/// One key with the value that takes effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effective {
    /// The key's path.
    pub key: String,
    /// Its value for the node's role, as JSON; [`HIDDEN`] for each secret that is set.
    pub value: String,
    /// Description of the key.
    pub meaning: &'static str,
    /// The origin of the value.
    pub origin: Origin,
    /// Its line, when it came from a text of several lines.
    pub line: Option<u32>,
}

/// Placeholder for the value of a secret.
pub const HIDDEN: &str = "\"(hidden)\"";

/// `key = value  # origin`, the origin with its line as in `node.json5:12`.
impl fmt::Display for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}  # {}", self.key, self.value, self.origin)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

impl Effective {
    /// Returns the key as one JSON object.
    pub fn to_json(&self) -> String {
        let value = serde_json::from_str(&self.value).unwrap_or(serde_json::Value::Null);
        serde_json::json!({
            "key": self.key,
            "value": value,
            "meaning": self.meaning,
            "origin": self.origin.kind(),
            "from": self.origin.to_string(),
            "line": self.line,
        })
        .to_string()
    }
}

impl Config {
    /// Returns every key with the value that takes effect for the node's role, in the order of the
    /// documentation's table. Secrets are hidden.
    ///
    /// ```
    /// let config = zonda_config::Config::client(["tcp/127.0.0.1:7447"]);
    /// let all = config.effective();
    /// let mode = all.iter().find(|e| e.key == "mode").unwrap();
    /// assert_eq!(mode.to_string(), "mode = \"client\"  # program");
    /// ```
    pub fn effective(&self) -> Vec<Effective> {
        // Every key of the table.
        let rows = ROWS.iter().map(|key| {
            let value = match self.in_force(key) {
                Value::Null if key.kind.of_one_role() == Kind::Endpoints => "[]".to_owned(),
                value => without_secrets(key.path, &value).to_string(),
            };
            self.shown(key.path, value)
        });
        // Values that were set below free-form keys.
        let below = self
            .settings
            .iter()
            .filter(|(path, _)| keys::find(path).is_none());
        rows.chain(below.map(|(path, setting)| {
            self.shown(path, without_secrets(path, &setting.value).to_string())
        }))
        .collect()
    }

    /// Returns the origin of a key's value; [`Origin::Default`] for a key that was not set or does
    /// not exist.
    pub fn origin(&self, key: &str) -> Origin {
        let setting = self.settings.get(key.trim_matches('/'));
        setting.map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// Sets the origin of values that are set from now on. Default: [`Origin::Program`].
    pub fn attribute_to(&mut self, origin: Origin) {
        self.source = origin;
    }

    fn shown(&self, path: &str, value: String) -> Effective {
        let key = keys::find(path).or_else(|| keys::subtree_of(path));
        Effective {
            key: path.to_owned(),
            meaning: key.map_or("", |key| key.meaning),
            value,
            origin: self.origin(path),
            line: self.settings.get(path).and_then(|setting| setting.line),
        }
    }
}
