// SPDX-License-Identifier: MIT OR Apache-2.0

//! The plugins that a configuration names. This project has none: a daemon refuses a configuration
//! that requires one, because the data that it should store would be lost. A configuration file of
//! a plugin that cannot be read is an error, too.

use crate::{
    Config, ConfigError, Origin, Setting, check, json5,
    value::{Located, Value},
};

/// The section of plugins, and the key that disables all of them.
const SECTION: &str = "plugins";
const LOADING: &str = "plugins_loading/enabled";

/// The members of a plugin's configuration that the daemon itself interprets.
const REQUIRED: &str = "__required__";
const FILES: &str = "__config__";

/// A member of a plugin's configuration.
struct Member<'c> {
    plugin: &'c str,
    name: &'c str,
    value: &'c Value,
    line: Option<u32>,
    origin: &'c Origin,
}

impl Config {
    /// Returns errors for the files of plugins that cannot be read and, for a daemon, for required
    /// plugins.
    ///
    /// # Blocking
    /// Reads the files.
    pub(super) fn check_plugins(&self, is_daemon: bool) -> Vec<(Origin, ConfigError)> {
        let is_off = self.is_set(LOADING) && self.stored_is(LOADING, &Value::Bool(false));
        if is_off {
            return Vec::new();
        }
        let members = self.settings.iter().flat_map(|(path, s)| members(path, s));
        let found = members.flat_map(|member| problems(&member));
        found
            .filter(|problem| is_daemon || !problem.is_requirement)
            .map(|problem| (problem.origin, problem.error))
            .collect()
    }

    fn stored_is(&self, path: &str, value: &Value) -> bool {
        let setting = self.settings.get(path);
        setting.is_some_and(|setting| setting.value == *value)
    }
}

/// Returns the members of plugins in a setting, which has all plugins, one plugin, or a single
/// member.
fn members<'c>(path: &'c str, setting: &'c Setting) -> Vec<Member<'c>> {
    // Readers of one member and of one plugin's members.
    let member = |plugin: &'c str, name: &'c str, value: &'c Value, line: u32| Member {
        plugin,
        name,
        value,
        line: setting.line.map(|_| line),
        origin: &setting.origin,
    };
    let of_plugin = |plugin: &'c str, value: &'c Value| match value {
        Value::Object(members) => {
            let each = members.iter();
            each.map(|(name, Located { value, line })| member(plugin, name, value, *line))
                .collect()
        }
        _ => Vec::new(),
    };
    // The depth of the setting's path determines which of the three it has.
    let Some(rest) = path.strip_prefix(SECTION) else {
        return Vec::new();
    };
    let parts: Vec<&str> = rest.split('/').skip(1).collect();
    match (parts.as_slice(), &setting.value) {
        ([], Value::Object(plugins)) => {
            let each = plugins.iter();
            each.flat_map(|(plugin, inner)| of_plugin(plugin, &inner.value))
                .collect()
        }
        ([plugin], value) => of_plugin(plugin, value),
        ([plugin, name], value) => {
            vec![member(plugin, name, value, setting.line.unwrap_or(1))]
        }
        _ => Vec::new(),
    }
}

struct PluginProblem {
    origin: Origin,
    error: ConfigError,
    is_requirement: bool,
}

fn problems(member: &Member<'_>) -> Vec<PluginProblem> {
    let found: Vec<(ConfigError, bool)> = match (member.name, member.value) {
        (REQUIRED, Value::Bool(true)) => vec![(required(member.plugin, member.line), true)],
        (FILES, Value::Text(file)) => unreadable(member.plugin, file).into_iter().collect(),
        (FILES, Value::List(files)) => files
            .iter()
            .filter_map(|file| check::as_text(&file.value))
            .filter_map(|file| unreadable(member.plugin, file))
            .collect(),
        _ => Vec::new(),
    };
    let problem = |(error, is_requirement)| PluginProblem {
        origin: member.origin.clone(),
        error,
        is_requirement,
    };
    found.into_iter().map(problem).collect()
}

fn required(plugin: &str, line: Option<u32>) -> ConfigError {
    ConfigError::Value {
        key: format!("{SECTION}/{plugin}/{REQUIRED}"),
        line,
        found: "true".to_owned(),
        expected: "false: there are no plugins, and the configuration says not to start without this one; set it to \
                   false to start without, or plugins_loading/enabled to false"
            .to_owned(),
    }
}

/// Returns the error of a plugin's configuration file that cannot be used, or an error and `true`
/// if the file requires the plugin.
fn unreadable(plugin: &str, file: &str) -> Option<(ConfigError, bool)> {
    let key = format!("{file} ({SECTION}/{plugin}/{FILES})");
    // The file must be readable; YAML is not checked further.
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            let reason = error.to_string();
            return Some((ConfigError::Read { file: key, reason }, false));
        }
    };
    if file.ends_with(".yaml") || file.ends_with(".yml") {
        return None;
    }
    // Its content must be JSON5, and must not require the plugin.
    let (error, is_requirement) = match json5::parse(&text) {
        Err(error) => (ConfigError::from(error), false),
        Ok(root) => {
            let Value::Object(members) = &root.value else {
                return None;
            };
            let is_required = |(name, member): &&(String, Located)| {
                name == REQUIRED && member.value == Value::Bool(true)
            };
            let (_, member) = members.iter().find(is_required)?;
            (required(plugin, Some(member.line)), true)
        }
    };
    let error = ConfigError::File {
        file: key,
        error: Box::new(error),
    };
    Some((error, is_requirement))
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn problems(text: &str) -> Vec<String> {
        let config = Config::from_json5(text).expect(text);
        let found = config.check_plugins(true);
        found.iter().map(|(_, error)| error.to_string()).collect()
    }

    #[test]
    fn a_plugin_that_is_required_is_refused() {
        for text in [
            "{plugins: {storage_manager: {__required__: true}}}",
            "{plugins_loading: {enabled: true}, plugins: {rest: {http_port: 8000, __required__: true}}}",
        ] {
            let found = problems(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains("__required__` is true"), "{found:?}");
        }
        let mut config = Config::default();
        config
            .insert_argument("plugins/rest/__required__:true")
            .expect("a value");
        assert_eq!(config.check_plugins(true).len(), 1);
        assert!(
            config.check_plugins(false).is_empty(),
            "a session loads none"
        );
        for text in [
            "{plugins: {storage_manager: {__required__: false}}}",
            "{plugins: {rest: {http_port: 8000}}}",
            "{plugins: {}}",
            "{plugins_loading: {enabled: false}, plugins: {rest: {__required__: true}}}",
        ] {
            assert_eq!(problems(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn the_file_of_a_plugin_is_read() {
        let file = std::env::temp_dir().join(format!("zonda-plugin-{}.json5", std::process::id()));
        let text = format!("{{plugins: {{rest: {{__config__: {file:?}}}}}}}");
        let found = problems(&text);
        assert!(
            found.len() == 1 && found[0].contains("plugins/rest/__config__"),
            "{found:?}"
        );
        for (content, count) in [
            ("{http_port: 8000}", 0),
            ("{__required__: true}", 1),
            ("{", 1),
        ] {
            std::fs::write(&file, content).expect("a folder for temporary files");
            assert_eq!(problems(&text).len(), count, "{content}");
        }
        std::fs::remove_file(&file).expect("the file is ours");
    }
}
