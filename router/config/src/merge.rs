// SPDX-License-Identifier: MIT OR Apache-2.0

//! Assignment of values: a JSON5 tree is applied key by key, each checked against its kind.

use std::collections::BTreeMap;

use crate::{
    Config, ConfigError, Origin, Setting, check, keys, masked,
    rows::SECRETS,
    value::{Located, Value},
};

impl Config {
    /// Applies `tree` at `path` to a copy first, so that an error changes nothing.
    pub(super) fn merge(
        &mut self,
        path: &str,
        tree: &Located,
        lines: bool,
    ) -> Result<(), ConfigError> {
        let mut copy = self.clone();
        match copy.merge_all(path, tree, lines).into_iter().next() {
            Some(error) => Err(error),
            None => {
                self.settings = copy.settings;
                Ok(())
            }
        }
    }

    /// Applies the valid parts of `tree` at `path`; returns the errors of the invalid ones.
    pub(super) fn merge_all(
        &mut self,
        path: &str,
        tree: &Located,
        lines: bool,
    ) -> Vec<ConfigError> {
        let mut merge = Merge {
            settings: &mut self.settings,
            origin: &self.source,
            lines,
            errors: Vec::new(),
        };
        merge.apply(path, tree);
        merge.errors
    }

    /// Sets a key from a builder method.
    pub(super) fn put(&mut self, path: &str, value: Value) {
        if let Err(error) = self.merge(path, &Located { value, line: 1 }, false) {
            self.refused.get_or_insert(error);
        }
    }
}

/// Values that are being merged into a configuration.
struct Merge<'a> {
    settings: &'a mut BTreeMap<String, Setting>,
    origin: &'a Origin,
    /// True if the lines of the values are those of a file.
    lines: bool,
    errors: Vec<ConfigError>,
}

impl Merge<'_> {
    fn apply(&mut self, path: &str, tree: &Located) {
        let line = self.lines.then_some(tree.line);
        // A key's value must be of its kind; a section is applied key by key.
        if let Some(key) = keys::find(path) {
            if let Err((found, expected)) = check::check(key.kind, &tree.value) {
                let is_secret = SECRETS.contains(&path);
                return self.errors.push(ConfigError::Value {
                    key: path.to_owned(),
                    line,
                    found: if is_secret { "not right".into() } else { found },
                    expected,
                });
            }
        } else if keys::subtree_of(path).is_none() {
            return self.descend(path, tree);
        }
        // `null` restores the default. Within a free-form value it stays, and hides what is there.
        let hides = keys::find(path).is_none() && self.has_value_above(path);
        if tree.value == Value::Null {
            let below = format!("{path}/");
            let is_part = |one: &str| one == path || one.starts_with(&below);
            self.settings.retain(|one, _| !is_part(one));
        }
        if tree.value != Value::Null || hides {
            let setting = Setting {
                value: tree.value.clone(),
                line,
                origin: self.origin.clone(),
            };
            self.settings.insert(path.to_owned(), setting);
        }
    }

    /// Returns true if a free-form value that is set may have the value at a path as its part.
    fn has_value_above(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at);
        let mut above = ends.filter_map(|end| path.get(..end));
        above.any(|above| self.settings.contains_key(above))
    }

    fn descend(&mut self, path: &str, tree: &Located) {
        let line = self.lines.then_some(tree.line);
        if !keys::is_section(path) {
            return self.errors.push(unknown(path, line));
        }
        let members = match &tree.value {
            Value::Object(members) => members,
            Value::Null => return,
            other => {
                let name = match path.is_empty() {
                    true => "the configuration",
                    false => path,
                };
                return self.errors.push(ConfigError::Value {
                    key: name.to_owned(),
                    line,
                    found: other.kind().to_owned(),
                    expected: "an object with keys".to_owned(),
                });
            }
        };
        for (name, member) in members {
            match path.is_empty() {
                true => self.apply(name, member),
                false => self.apply(&format!("{path}/{name}"), member),
            }
        }
    }
}

/// Returns the error for a path without a key, with the most similar valid key.
pub fn unknown(path: &str, line: Option<u32>) -> ConfigError {
    let key = masked::key(path);
    let nearest = keys::nearest(&key).map(str::to_owned);
    ConfigError::UnknownKey { key, line, nearest }
}
