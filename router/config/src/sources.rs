// SPDX-License-Identifier: MIT OR Apache-2.0

//! The merge of a configuration's sources: defaults, then the file, the environment, flags, and
//! `--cfg`; later ones take precedence. The daemon, the command and the examples use it, so that
//! all of them agree.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{
    Config, ConfigError, ENVIRONMENT, Origin, Warning,
    json5::{self, SyntaxError},
    masked,
    value::Located,
};

/// The environment variable that holds values: `key/path:json5;key/path:json5`.
pub const VALUES: &str = "ZONDA_CFG";

/// The environment variables of the router of ROS 2: its file, and values that override the file,
/// `key/path=json5;key/path=json5`.
const ROUTER_FILE: &str = "ZENOH_ROUTER_CONFIG_URI";
const OVERRIDE: &str = "ZENOH_CONFIG_OVERRIDE";

/// All sources of a program's configuration.
///
/// ```
/// use zonda_config::{Flag, Sources};
///
/// let cfg = ["transport/link/tx/lease:5000".to_owned()];
/// let sources = Sources {
///     flags: vec![Flag::new("--mode", "mode", "'client'")],
///     arguments: &cfg,
///     ..Sources::default()
/// };
/// let config = sources.load()?;
/// assert_eq!(config.settings().lease.as_secs(), 5);
/// assert_eq!(config.origin("mode").to_string(), "--mode");
/// # Ok::<(), zonda_config::Problem>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sources<'a> {
    /// The program's own defaults, for keys that no other source sets.
    pub defaults: &'a [(&'static str, &'static str)],
    /// The file of `--config`.
    pub file: Option<PathBuf>,
    /// The file that the environment names; read when `file` is `None`.
    pub environment_file: Option<PathBuf>,
    /// The values that the environment sets, in the form of `ZONDA_CFG`.
    pub environment: Option<String>,
    /// Set for a router daemon: the variables that only routers read.
    pub router: Option<RouterEnvironment>,
    /// The flags that were given.
    pub flags: Vec<Flag>,
    /// The `--cfg` arguments.
    pub arguments: &'a [String],
    /// The plugins of the reference whose work the program does itself: their configurations are
    /// used, and may be required.
    pub plugins: &'static [&'static str],
}

/// Environment variables that only a router daemon reads, which are those of the daemon of ROS 2
/// (`rmw_zenohd`).
#[derive(Debug, Clone, Default)]
pub struct RouterEnvironment {
    /// The file in `ZENOH_ROUTER_CONFIG_URI`; takes precedence over that of `ZENOH_CONFIG`.
    pub file: Option<PathBuf>,
    /// The values of `ZENOH_CONFIG_OVERRIDE`; they override the file, and `ZONDA_CFG` and flags
    /// override them.
    pub values: Option<String>,
}

/// A flag that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// Its name, such as `--listen`.
    pub name: &'static str,
    /// The key that it sets.
    pub key: &'static str,
    /// The value, as JSON5.
    pub value: String,
}

impl Flag {
    /// Builds a flag from its parts.
    pub fn new(name: &'static str, key: &'static str, value: impl Into<String>) -> Flag {
        Flag {
            name,
            key,
            value: value.into(),
        }
    }

    /// Builds a flag with a text value.
    pub fn text(name: &'static str, key: &'static str, text: impl fmt::Display) -> Flag {
        Flag::new(name, key, serde_json::json!(text.to_string()).to_string())
    }

    /// Builds a repeatable flag with text values.
    pub fn texts<T: fmt::Display>(name: &'static str, key: &'static str, texts: &[T]) -> Flag {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        Flag::new(name, key, serde_json::json!(texts).to_string())
    }
}

/// One fault, and the source that has it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from}: {error}{}", Others(*more))]
pub struct Problem {
    /// The flag, the variable, or `configuration` for a fault of the whole.
    pub from: String,
    /// The fault, with its line and the nearest valid key where that helps.
    pub error: ConfigError,
    /// The number of other problems, if this one represents all of them.
    pub more: usize,
}

struct Others(usize);

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            more => write!(f, " (and {more} more: --check-config lists them)"),
        }
    }
}

/// A configuration and the faults of its sources.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The configuration without the invalid parts.
    pub config: Config,
    /// The faults, in the order of the sources.
    pub problems: Vec<Problem>,
    /// The values that were set and overridden by another source.
    pub notes: Vec<String>,
    /// Results of the check of local files and interfaces: concerns, and attempts that the node
    /// would repeat until they succeed.
    pub hints: Vec<String>,
    /// Reasons why a start would fail on this machine now; set by [`Examined::try_sockets`].
    pub failures: Vec<String>,
}

impl Sources<'_> {
    /// Adds the process's environment: the file that `ZENOH_CONFIG` names and the values of
    /// `ZONDA_CFG`.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        let some = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        self.environment_file = some(ENVIRONMENT).map(PathBuf::from);
        self.environment = some(VALUES).map(|text| text.to_string_lossy().into_owned());
        self
    }

    /// Adds the environment of a router daemon: the file that `ZENOH_ROUTER_CONFIG_URI` names and
    /// the values of `ZENOH_CONFIG_OVERRIDE`.
    #[must_use]
    pub fn for_router(mut self) -> Self {
        let some = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        self.router = Some(RouterEnvironment {
            file: some(ROUTER_FILE).map(PathBuf::from),
            values: some(OVERRIDE).map(|text| text.to_string_lossy().into_owned()),
        });
        self
    }

    /// Merges the sources into a configuration.
    ///
    /// # Errors
    /// The first fault.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn load(&self) -> Result<Config, Problem> {
        self.examine().into_config()
    }

    /// Reads all sources, and continues after a fault.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn examine(&self) -> Examined {
        let mut under_way = Examined {
            config: Config::default(),
            problems: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
            failures: Vec::new(),
        };
        under_way.config.plugins = self.plugins;
        // From the lowest precedence to the highest: file, environment, flags, arguments.
        self.read_file(&mut under_way);
        let overridden = match self.router.as_ref().and_then(|r| r.values.as_ref()) {
            Some(pairs) => under_way.set_pairs(OVERRIDE, pairs, '='),
            None => Vec::new(),
        };
        if let Some(pairs) = &self.environment {
            under_way.set_pairs(VALUES, pairs, ':');
        }
        for flag in &self.flags {
            let origin = Origin::Flag(flag.name.into());
            let set = |config: &mut Config| config.set_json5(flag.key, &flag.value);
            under_way.set(flag.name, origin, set);
        }
        for argument in self.arguments {
            let set = |config: &mut Config| config.insert_argument(argument);
            under_way.set("--cfg", Origin::Argument, set);
        }
        // Defaults last, for keys that no source has set.
        for (key, value) in self.defaults {
            if !under_way.config.is_set(key) {
                let set = |config: &mut Config| config.set_json5(key, value);
                under_way.set("default", Origin::Default, set);
            }
        }
        // Overridden values, and faults of the whole.
        under_way.config.attribute_to(Origin::Program);
        under_way.note_losers(OVERRIDE, &overridden);
        under_way.check_whole(self.router.is_some());
        under_way
    }

    /// Reads the first of the files that are named.
    fn read_file(&self, under_way: &mut Examined) {
        let of_router = self.router.as_ref().and_then(|router| router.file.as_ref());
        let files = [
            ("--config", self.file.as_ref()),
            (ROUTER_FILE, of_router),
            (ENVIRONMENT, self.environment_file.as_ref()),
        ];
        let mut named = files
            .into_iter()
            .filter_map(|(from, file)| Some((from, file?)));
        let Some((winner, file)) = named.next() else {
            return;
        };
        under_way.read(winner, file);
        for (from, file) in named {
            // `ZENOH_CONFIG` is for all programs, so overriding its file needs no note.
            if from == ROUTER_FILE {
                let file = file.display();
                let note = format!("{from}: {file} is not read: {winner} goes before it");
                under_way.notes.push(note);
            }
        }
    }
}

impl Examined {
    /// Returns all faults and warnings, one line each: `error: ..` and `warning: ..`, or with
    /// `json` an object with the members `level` and `text`. `more` are warnings of the program
    /// itself; without any line, the result is one line that all is well.
    pub fn lines(&self, more: &[String], json: bool) -> Vec<String> {
        let line = |level: &str, text: String| match json {
            true => serde_json::json!({"level": level, "text": text}).to_string(),
            false => format!("{level}: {text}"),
        };
        let errors = self.problems.iter().map(|p| line("error", p.to_string()));
        let failures = self.failures.iter().map(|text| line("error", text.clone()));
        let warnings = self.config.warnings();
        let found = more.iter().chain(&self.notes).chain(&self.hints).cloned();
        let is_new = |w: &&Warning| !self.problems.iter().any(|p| p.error.key() == Some(&w.key));
        let warnings = warnings.iter().filter(is_new).map(|w| w.to_string());
        let warnings = found.chain(warnings);
        let mut lines: Vec<String> = errors.chain(failures).collect();
        lines.extend(warnings.map(|text| line("warning", text)));
        if lines.is_empty() {
            lines.push(line("ok", "every value takes effect".to_owned()));
        }
        lines
    }

    /// Returns the configuration, if it has no fault.
    ///
    /// # Errors
    /// The first fault.
    pub fn into_config(self) -> Result<Config, Problem> {
        let more = self.problems.len().saturating_sub(1);
        match self.problems.into_iter().next() {
            Some(problem) => Err(Problem { more, ..problem }),
            None => Ok(self.config),
        }
    }

    /// The exit code of a program with this configuration: 2 for a fault, 1 if a start would fail.
    pub fn exit_code(&self) -> u8 {
        match (self.problems.is_empty(), self.failures.is_empty()) {
            (false, _) => 2,
            (true, false) => 1,
            (true, true) => 0,
        }
    }

    pub(super) fn note(&mut self, from: &str, error: ConfigError) {
        self.problems.push(Problem {
            from: from.to_owned(),
            error,
            more: 0,
        });
    }

    /// Notes the keys of a source that another source overrides.
    fn note_losers(&mut self, source: &str, keys: &[String]) {
        for key in keys {
            let winner = self.config.origin(key);
            if !matches!(&winner, Origin::Environment(name) if **name == *source) {
                let key = masked::key(key);
                let note = format!("{source}: `{key}` is not used: {winner} goes before it");
                self.notes.push(note);
            }
        }
    }

    /// Checks the configuration as a whole, and whether this machine has what it names.
    fn check_whole(&mut self, is_router: bool) {
        let settings = self.config.settings();
        let whole = self.config.validate().err();
        if let Some(error) = whole.or_else(|| settings.check_users().err()) {
            let from = match &error {
                ConfigError::Value { key, .. } => self.config.origin(key).to_string(),
                _ => "configuration".to_owned(),
            };
            self.note(&from, error);
        }
        if let Some((origin, error)) = self.config.unreachable() {
            self.note(&origin.to_string(), error);
        }
        if let Err(error) = zonda_runtime::may_use(&settings.runtime_cpus) {
            let reason = format!("`runtime_cpus`: {error}");
            let from = self.config.origin("runtime_cpus").to_string();
            self.note(&from, ConfigError::Combination { reason });
        }
        for (origin, error) in self.config.check_plugins(is_router) {
            self.note(&origin.to_string(), error);
        }
        self.check_keys_and_certificates();
    }

    fn set(
        &mut self,
        from: &str,
        origin: Origin,
        set: impl FnOnce(&mut Config) -> Result<(), ConfigError>,
    ) {
        self.config.attribute_to(origin);
        if let Err(error) = set(&mut self.config) {
            self.note(from, error);
        }
    }

    fn read(&mut self, from: &str, file: &Path) {
        for error in self.config.read(file) {
            self.note(from, error);
        }
    }

    /// Sets the pairs of a variable; returns the keys that were set.
    fn set_pairs(&mut self, variable: &str, pairs: &str, sign: char) -> Vec<String> {
        self.config
            .attribute_to(Origin::Environment(variable.into()));
        let (pairs, error) = split(pairs, sign);
        let mut keys = Vec::new();
        for (key, value) in pairs {
            match self.config.merge(&key, &value, false) {
                Ok(()) => keys.push(key),
                Err(error) => self.note(variable, error),
            }
        }
        if let Some(error) = error {
            self.note(variable, error);
        }
        keys
    }
}

impl Config {
    /// Merges every valid key of a file into the configuration and returns the errors of the
    /// invalid ones.
    ///
    /// # Blocking
    /// Reads the file.
    pub(super) fn read(&mut self, path: &Path) -> Vec<ConfigError> {
        // Only JSON and JSON5 are read.
        let file = path.display().to_string();
        if let Some(kind) = foreign(path) {
            let reason =
                format!("it is {kind}, and only JSON and JSON5 are read; write it as JSON");
            return vec![ConfigError::Read { file, reason }];
        }
        let root = match std::fs::read_to_string(path) {
            Ok(text) => json5::parse(&text).map_err(ConfigError::from),
            Err(error) => {
                let reason = error.to_string();
                return vec![ConfigError::Read { file, reason }];
            }
        };
        // While the file is merged, its values have it as their origin.
        let before = std::mem::replace(&mut self.source, Origin::File(file.as_str().into()));
        let errors = match root {
            Ok(root) => self.merge_all("", &root, true),
            Err(error) => vec![error],
        };
        self.source = before;
        // Each error names the file.
        let named = |error| ConfigError::File {
            file: file.clone(),
            error: Box::new(error),
        };
        errors.into_iter().map(named).collect()
    }
}

/// Returns the name of a file format that the reference reads and this project does not.
fn foreign(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    match extension {
        "yaml" | "yml" => Some("YAML"),
        "toml" => Some("TOML"),
        _ => None,
    }
}

/// Splits a text `key/path:json5;key/path:json5`, with `sign` between key and value, up to the
/// first fault. A `;` within a value is part of the value.
fn split(text: &str, sign: char) -> (Vec<(String, Located)>, Option<ConfigError>) {
    let mut pairs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        match pair(rest, sign) {
            Ok((key, value, after)) => {
                pairs.push((key, value));
                rest = after;
            }
            Err(error) => return (pairs, Some(error)),
        }
    }
    (pairs, None)
}

/// Returns the pair at the front of a text, and the text after its `;`.
fn pair(text: &str, sign: char) -> Result<(String, Located, &str), ConfigError> {
    let malformed = || match sign {
        ':' => ConfigError::Argument {
            argument: masked::argument(text),
        },
        _ => ConfigError::Combination {
            reason: format!(
                "{:?} is not of the form key/path=value",
                masked::argument(text)
            ),
        },
    };
    // Key and value.
    let (key, after) = text.split_once(sign).ok_or_else(malformed)?;
    let key = key.trim().trim_matches('/');
    if key.is_empty() {
        return Err(malformed());
    }
    let (value, after) =
        json5::parse_front(after).map_err(|error| ConfigError::of_key(key, error))?;
    // A pair ends with `;` or the text.
    let rest = match after.strip_prefix(';') {
        Some(next) => next.trim(),
        None if after.is_empty() => after,
        None => {
            let reason = format!("expected ';' behind the value of {}", masked::key(key));
            return Err(SyntaxError {
                line: 1,
                column: 1,
                reason,
            }
            .into());
        }
    };
    Ok((key.to_owned(), value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(values: &str) -> Sources<'static> {
        Sources {
            router: Some(RouterEnvironment {
                file: None,
                values: Some(values.to_owned()),
            }),
            ..Sources::default()
        }
    }

    #[test]
    fn the_override_of_ros_wins_over_the_file_and_loses_to_flags() {
        let name = format!("zonda-override-{}.json5", std::process::id());
        let file = std::env::temp_dir().join(name);
        let text = "{ mode: 'router', scouting: { multicast: { enabled: true } }, queries_default_timeout: 7 }";
        std::fs::write(&file, text).expect("a folder for temporary files");
        let values = "listen/endpoints=[\"tcp/127.0.0.1:1\"];scouting/multicast/enabled=false;";
        let mut sources = router(values);
        if let Some(router) = &mut sources.router {
            router.file = Some(file.clone());
        }
        let examined = sources.examine();
        assert_eq!((examined.problems.len(), examined.notes.len()), (0, 0));
        let config = examined.config;
        assert!(!config.settings().multicast_enabled);
        assert_eq!(config.settings().query_timeout.as_millis(), 7);
        assert_eq!(config.origin("listen/endpoints").to_string(), OVERRIDE);
        sources.flags = vec![Flag::texts(
            "--listen",
            "listen/endpoints",
            &["tcp/127.0.0.1:2"],
        )];
        sources.file = Some(file.clone());
        let examined = sources.examine();
        std::fs::remove_file(&file).expect("the file is ours");
        let notes = examined.notes.join("\n");
        assert!(
            notes.contains("`listen/endpoints` is not used: --listen goes before it")
                && notes.contains("ZENOH_ROUTER_CONFIG_URI"),
            "{notes}"
        );
    }

    #[test]
    fn what_is_wrong_with_an_override_names_the_key_and_no_secret() {
        for (values, words) in [
            ("mode:'router'", "is not of the form key/path=value"),
            ("mode=router", "`mode`: "),
            ("mod='router'", "did you mean `mode`?"),
            ("transport/auth/usrpwd/password=hunter2", "usrpwd/password"),
            ("transport/auth/usrpwd/password:hunter2", "usrpwd/password"),
            (
                "mode='peer',transport/auth/usrpwd/password='hunter2'",
                "expected ';'",
            ),
        ] {
            let examined = router(values).examine();
            let said = examined.lines(&[], false).join("\n");
            assert!(
                said.contains(words) && said.contains(OVERRIDE),
                "{values}: {said}"
            );
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
