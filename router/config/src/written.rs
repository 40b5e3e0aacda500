// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes of single values of a running configuration, as other nodes write them.

use crate::{
    Config, ConfigError, keys, merge::unknown, plugins::SECTION, reload::is_part, value::Value,
};

impl Config {
    /// Returns a copy of the values with another value of one key, or of one item of a list, at
    /// `key/id=ID`. Nothing is left of former values below a free-form key.
    ///
    /// # Errors
    /// The fault of the value, or there is no such key.
    pub fn written(&self, key: &str, value: &str) -> Result<Config, ConfigError> {
        let mut copy = self.values();
        if !copy.insert_item(key, value)? {
            if keys::subtree_of(key).is_some() {
                copy.forget(key)?;
            }
            copy.set_json5(key, value)?;
        }
        Ok(copy)
    }

    /// Returns a copy of the values with the default of one key or of all keys of a section, or
    /// without one item of a list, at `key/id=ID`.
    ///
    /// # Errors
    /// There is no such key.
    pub fn without(&self, key: &str) -> Result<Config, ConfigError> {
        let mut copy = self.values();
        match key.contains("/id=") {
            true => drop(copy.remove_item(key)?),
            false => copy.forget(key)?,
        }
        Ok(copy)
    }

    /// Returns true if the key is part of the configuration of a plugin that this program does not
    /// have: a running node stores any value of it, and the value has no effect.
    #[must_use]
    pub fn is_idle_plugin(&self, key: &str) -> bool {
        let below = key.strip_prefix(SECTION).and_then(|b| b.strip_prefix('/'));
        let plugin = below.and_then(|below| below.split('/').next());
        plugin.is_some_and(|plugin| !plugin.is_empty() && !self.plugins.contains(&plugin))
    }

    /// Restores the default of a key, or of every key of a section.
    pub(super) fn forget(&mut self, key: &str) -> Result<(), ConfigError> {
        let key = key.trim_matches('/');
        let is_free = keys::subtree_of(key).is_some();
        if !is_free && keys::find(key).is_none() && !keys::is_section(key) {
            return Err(unknown(key, None));
        }
        self.settings.retain(|path, _| !is_part(path, key));
        // A value above a free-form key may have it as a member.
        for (path, setting) in &mut self.settings {
            let below = key.strip_prefix(path.as_str());
            if let Some(below) = below.and_then(|below| below.strip_prefix('/')) {
                remove_member(&mut setting.value, below);
            }
        }
        Ok(())
    }
}

/// Removes the member at a path below an object, if it is there.
fn remove_member(root: &mut Value, path: &str) {
    let Value::Object(members) = root else {
        return;
    };
    match path.split_once('/') {
        None => members.retain(|(name, _)| name != path),
        Some((first, rest)) => {
            let member = members.iter_mut().find(|(name, _)| name == first);
            if let Some((_, member)) = member {
                remove_member(&mut member.value, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        Config::from_json5(text).expect(text)
    }

    fn json(config: &Config, key: &str) -> String {
        config.to_json(key).expect(key)
    }

    #[test]
    fn a_deletion_restores_defaults() {
        let rule =
            "{id: 'r', size_limit: 1, flows: ['ingress'], messages: ['put'], key_exprs: ['a']}";
        let running = read(&format!(
            "{{low_pass_filter: [{rule}], access_control: {{enabled: true, default_permission: 'allow',
               rules: [], subjects: [], policies: []}}, mode: 'router'}}"
        ));
        let left = running.without("low_pass_filter").expect("a key");
        assert_eq!(json(&left, "low_pass_filter"), "[]");
        let left = running.without("access_control").expect("a section");
        assert_eq!(json(&left, "access_control/enabled"), "false");
        assert_eq!(json(&left, "mode"), "\"router\"");
        let error = running.without("acces_control").expect_err("no key");
        assert!(error.to_string().contains("`access_control`"), "{error}");
        // One item of a list.
        let other = rule.replace("'r'", "'s'");
        let both = running.written("low_pass_filter/id=s", &other);
        let both = both.expect("an item");
        assert_eq!(both.settings().low_pass_rules.len(), 2);
        let one = both.without("low_pass_filter/id=r").expect("an item");
        assert!(json(&one, "low_pass_filter").contains("\"s\""));
        assert_eq!(one.settings().low_pass_rules.len(), 1);
    }

    #[test]
    fn a_plugin_s_values_are_written_and_deleted() {
        let running = read("{plugins: {dds: {a: {b: 1}, c: 2}}}");
        let left = running.without("plugins/dds/a/b").expect("a member");
        assert_eq!(
            left.plugin_json("dds").as_deref(),
            Some("{\"a\":{},\"c\":2}")
        );
        let more = left.written("plugins/dds/a", "{d: 3}").expect("a member");
        let more = more.written("plugins/dds/a/d", "4").expect("a member");
        assert_eq!(json(&more, "plugins/dds/a/d"), "4");
        let again = more.written("plugins/dds/a", "{e: 5}").expect("a member");
        assert_eq!(
            again.plugin_json("dds").as_deref(),
            Some("{\"c\":2,\"a\":{\"e\":5}}")
        );
        let none = again.without("plugins/dds").expect("a plugin");
        assert_eq!(none.plugin_json("dds"), None);
        assert!(none.to_json("plugins/dds/a").is_err());
    }

    #[test]
    fn a_plugin_that_the_program_has_is_not_idle() {
        let config = Config {
            plugins: &["rest"],
            ..Config::default()
        };
        for (key, idle) in [
            ("plugins/dds", true),
            ("plugins/dds/domain", true),
            ("plugins/rest/http_port", false),
            ("plugins", false),
            ("plugins/", false),
            ("plugins_loading/enabled", false),
        ] {
            assert_eq!(config.is_idle_plugin(key), idle, "{key}");
        }
    }
}
