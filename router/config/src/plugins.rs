// SPDX-License-Identifier: MIT OR Apache-2.0

//! The plugins that a configuration names. This project loads none, but a program may do the work of
//! some itself. A daemon refuses a configuration that requires another one, because the data that it
//! should store would be lost. A configuration file of a plugin that cannot be read is an error, too.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::{
    Config, ConfigError, Origin, Setting, check, json5,
    value::{Located, Value},
};

/// The section of plugins, and the key that disables all of them.
pub(super) const SECTION: &str = "plugins";
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
        if self.disables_plugins() {
            return Vec::new();
        }
        let members = self.settings.iter().flat_map(|(path, s)| members(path, s));
        let found = members.flat_map(|member| problems(&member));
        let is_other = |problem: &PluginProblem| {
            !(problem.is_requirement && self.plugins.contains(&problem.plugin.as_str()))
        };
        let found = found.filter(is_other);
        found
            .filter(|problem| is_daemon || !problem.is_requirement)
            .map(|problem| (problem.origin, problem.error))
            .collect()
    }

    /// Returns the configuration of a plugin as JSON, put together from all sources; `None` if it has
    /// none.
    pub fn plugin_json(&self, plugin: &str) -> Option<String> {
        Some(self.plugin(plugin)?.to_string())
    }

    /// Returns a member of a plugin's configuration as JSON, if it is set.
    pub fn plugin_member(&self, plugin: &str, name: &str) -> Option<String> {
        Some(member_of(&self.plugin(plugin)?, name)?.to_string())
    }

    fn plugin(&self, plugin: &str) -> Option<Value> {
        let path = format!("{SECTION}/{plugin}");
        let mut found = None;
        // Shorter paths come first, and longer ones change a part of what is there.
        let in_use = { self.settings.iter() }.filter(|(_, setting)| self.is_in_use(setting));
        for (at, setting) in in_use {
            if at == SECTION {
                found = member_of(&setting.value, plugin).cloned();
            } else if *at == path {
                found = Some(setting.value.clone());
            } else if let Some(rest) = at.strip_prefix(&path).and_then(|r| r.strip_prefix('/')) {
                let found = found.get_or_insert_with(|| Value::Object(Vec::new()));
                put_in(found, rest, setting);
            }
        }
        found.filter(|value| *value != Value::Null)
    }

    /// Returns true if the configuration disables all plugins.
    fn disables_plugins(&self) -> bool {
        self.is_set(LOADING) && self.stored_is(LOADING, &Value::Bool(false))
    }

    /// Returns true if a setting of a plugin has an effect: always, unless plugins are disabled. Then
    /// flags and arguments still have one.
    fn is_in_use(&self, setting: &Setting) -> bool {
        let is_asked_for = matches!(setting.origin, Origin::Argument | Origin::Flag(_));
        is_asked_for || !self.disables_plugins()
    }

    /// Returns a setting without the plugins whose work the program does itself; `None` if it is
    /// about no other one.
    pub(super) fn idle_part<'v>(&self, path: &str, setting: &'v Setting) -> Option<Cow<'v, Value>> {
        let is_in_use = self.is_in_use(setting);
        let is_served = |plugin: &str| is_in_use && self.plugins.contains(&plugin);
        let value = &setting.value;
        let mut parts = path.split('/');
        match (parts.next(), parts.next(), value) {
            (Some(SECTION), Some(plugin), _) if is_served(plugin) => None,
            (Some(SECTION), None, Value::Object(plugins)) => {
                let idle = plugins.iter().filter(|(name, _)| !is_served(name));
                let idle: Vec<_> = idle.cloned().collect();
                let is_empty = idle.is_empty() && !plugins.is_empty();
                (!is_empty).then_some(Cow::Owned(Value::Object(idle)))
            }
            _ => Some(Cow::Borrowed(value)),
        }
    }

    fn stored_is(&self, path: &str, value: &Value) -> bool {
        let setting = self.settings.get(path);
        setting.is_some_and(|setting| setting.value == *value)
    }
}

/// Returns the names of the plugins whose configurations differ.
#[must_use]
pub fn differing_plugins(one: &Config, other: &Config) -> Vec<String> {
    let names = [one, other].into_iter().flat_map(|config| {
        let settings = config.settings.iter();
        settings.flat_map(|(path, setting)| plugins_of(path, setting))
    });
    let names: BTreeSet<&str> = names.collect();
    let differ = |name: &&str| one.plugin(name) != other.plugin(name);
    names
        .into_iter()
        .filter(differ)
        .map(str::to_owned)
        .collect()
}

/// Returns the names of the plugins that a setting is about.
fn plugins_of<'c>(path: &'c str, setting: &'c Setting) -> Vec<&'c str> {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), &setting.value) {
        (Some(SECTION), Some(plugin), _) => vec![plugin],
        (Some(SECTION), None, Value::Object(plugins)) => {
            plugins.iter().map(|(name, _)| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

fn member_of<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Object(members) = value else {
        return None;
    };
    let found = members.iter().find(|(known, _)| known == name);
    found.map(|(_, located)| &located.value)
}

/// Sets the value at a path below `root`; what is in its way is replaced.
fn put_in(root: &mut Value, path: &str, setting: &Setting) {
    let mut place = root;
    for name in path.split('/') {
        if !matches!(place, Value::Object(_)) {
            *place = Value::Object(Vec::new());
        }
        let Value::Object(members) = place else {
            return;
        };
        let at = members.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            let line = setting.line.unwrap_or(1);
            let value = Value::Null;
            members.push((name.to_owned(), Located { value, line }));
            members.len() - 1
        });
        let Some((_, member)) = members.get_mut(at) else {
            return;
        };
        place = &mut member.value;
    }
    *place = setting.value.clone();
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
    plugin: String,
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
        plugin: member.plugin.to_owned(),
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
        expected: "false: there is no such plugin, and the configuration says not to start without this one; set it to \
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
    use crate::{Config, Origin, RouterEnvironment, Sources, differing_plugins};

    fn problems(text: &str) -> Vec<String> {
        let config = Config::from_json5(text).expect(text);
        let found = config.check_plugins(true);
        found.iter().map(|(_, error)| error.to_string()).collect()
    }

    #[test]
    fn a_plugin_whose_work_the_program_does_is_used() {
        let arguments = ["plugins/rest/http_port:8001".to_owned()];
        let file = "plugins:{rest:{http_port:8000,__required__:true},dds:{}}".to_owned();
        let arguments = [vec![file], arguments.to_vec()].concat();
        let sources = Sources {
            arguments: &arguments,
            plugins: &["rest"],
            router: Some(RouterEnvironment::default()),
            ..Sources::default()
        };
        let examined = sources.examine();
        assert_eq!(examined.problems, []);
        let config = examined.config;
        let of = |plugin, name| config.plugin_member(plugin, name);
        assert_eq!(of("rest", "http_port").as_deref(), Some("8001"));
        assert_eq!(of("rest", "__required__").as_deref(), Some("true"));
        assert_eq!(of("dds", "__required__").or(of("rest", "x")), None);
        let warnings = config.warnings();
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        let expected = "--cfg: `plugins`: {\"dds\":{}} has no effect: no plugin is loaded";
        assert_eq!(texts, [expected]);
        let unserved = Sources {
            plugins: &[],
            ..sources
        };
        assert_eq!(unserved.examine().problems.len(), 1);
    }

    #[test]
    fn a_plugin_that_is_required_is_refused() {
        for text in [
            "{plugins: {dds: {__required__: true}}}",
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
            "{plugins: {dds: {__required__: false}}}",
            "{plugins: {rest: {http_port: 8000}}}",
            "{plugins: {}}",
            "{plugins_loading: {enabled: false}, plugins: {rest: {__required__: true}}}",
        ] {
            assert_eq!(problems(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn disabled_plugins_have_no_effect_unless_an_argument_asks_for_one() {
        let text = "{plugins_loading: {enabled: false}, plugins: {storage_manager: {storages: []}, rest: {}}}";
        let mut config = Config::from_json5(text).expect(text);
        config.plugins = &["rest", "storage_manager"];
        assert_eq!(config.plugin_json("storage_manager"), None);
        let warned = config
            .warnings()
            .iter()
            .any(|w| w.to_string().contains("storage_manager"));
        assert!(warned, "{:?}", config.warnings());
        config
            .insert_argument("plugins/rest/http_port:8001")
            .expect("a value");
        let setting = config.settings.get_mut("plugins/rest/http_port");
        setting.expect("it is set").origin = Origin::Argument;
        let port = config.plugin_member("rest", "http_port");
        assert_eq!(port.as_deref(), Some("8001"));
        assert_eq!(config.plugin_json("storage_manager"), None);
    }

    #[test]
    fn the_parts_of_a_plugin_s_configuration_are_put_together() {
        let text = "{plugins: {rest: {}, storage_manager: {storages: {a: {complete: true}}}}}";
        let mut config = Config::from_json5(text).expect(text);
        let json = |config: &Config| config.plugin_json("storage_manager");
        let before = r#"{"storages":{"a":{"complete":true}}}"#;
        assert_eq!(json(&config).as_deref(), Some(before));
        for argument in [
            "plugins/storage_manager/storages/a/complete:false",
            "plugins/storage_manager/storages/b/volume:'memory'",
        ] {
            config.insert_argument(argument).expect(argument);
        }
        let after = r#"{"storages":{"a":{"complete":false},"b":{"volume":"memory"}}}"#;
        assert_eq!(json(&config).as_deref(), Some(after));
        let before = config.clone();
        config
            .insert_json5("plugins/storage_manager/storages/b", "null")
            .expect("a key");
        assert_eq!(differing_plugins(&before, &config), ["storage_manager"]);
        let without_b = json(&config).expect("a plugin");
        config
            .insert_json5("plugins/storage_manager/storages/a", "null")
            .expect("a key");
        let without_a = json(&config).expect("a plugin");
        assert!(
            without_b.starts_with("{\"storages\":{\"a\":{\"complete\":false}"),
            "{without_b}"
        );
        assert!(without_a.contains("\"a\":null"), "{without_a}");
        assert_eq!(differing_plugins(&config, &config.values()), [""; 0]);
        assert_eq!(config.plugin_json("dds"), None);
        let alone = Config::default().with("plugins/storage_manager/storages", "{}");
        assert_eq!(json(&alone).as_deref(), Some(r#"{"storages":{}}"#));
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
