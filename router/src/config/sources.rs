// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sources of a configuration, put together: defaults, then the file, then the environment, then flags, then `--cfg`; the
//! later wins. Used by the daemon, the command and the examples, so that all of them agree.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::{
    Config, ConfigError, ENVIRONMENT, Origin,
    json5::{self, SyntaxError},
    masked,
    value::Located,
};

/// The environment variable that holds values: `key/path:json5;key/path:json5`.
pub const VALUES: &str = "ZONDA_CFG";

/// All sources of a program's configuration.
///
/// ```
/// use zonda_router::config::{Flag, Sources};
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
/// # Ok::<(), zonda_router::config::Problem>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sources<'a> {
    /// The program's own defaults: values for keys that nothing else sets.
    pub defaults: &'a [(&'static str, &'static str)],
    /// The file of `--config`.
    pub file: Option<PathBuf>,
    /// The file that the environment names; read when `file` is `None`.
    pub environment_file: Option<PathBuf>,
    /// What the environment sets, in the form of `ZONDA_CFG`.
    pub environment: Option<String>,
    /// The flags that were given.
    pub flags: Vec<Flag>,
    /// The `--cfg` arguments.
    pub arguments: &'a [String],
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
    /// A flag by its parts.
    pub fn new(name: &'static str, key: &'static str, value: impl Into<String>) -> Flag {
        Flag {
            name,
            key,
            value: value.into(),
        }
    }

    /// A flag whose value is a text.
    pub fn text(name: &'static str, key: &'static str, text: impl fmt::Display) -> Flag {
        Flag::new(name, key, serde_json::json!(text.to_string()).to_string())
    }

    /// A repeatable flag whose values are texts.
    pub fn texts<T: fmt::Display>(name: &'static str, key: &'static str, texts: &[T]) -> Flag {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        Flag::new(name, key, serde_json::json!(texts).to_string())
    }
}

/// One thing that is wrong, and where it was said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from}: {error}{}", Others(*more))]
pub struct Problem {
    /// The flag, the variable, or `configuration` for what concerns all of it.
    pub from: String,
    /// What is wrong, with its line and the nearest valid key where that helps.
    pub error: ConfigError,
    /// How many others there are, if this stands for them all.
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

/// A configuration and everything that is wrong with what it was made of.
#[derive(Debug, Clone)]
pub struct Examined {
    /// What results without the wrong parts.
    pub config: Config,
    /// What is wrong, in the order of the sources.
    pub problems: Vec<Problem>,
}

impl Sources<'_> {
    /// Adds what the process's environment says: the file that `ZENOH_CONFIG` names and the values of `ZONDA_CFG`.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        let some = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        self.environment_file = some(ENVIRONMENT).map(PathBuf::from);
        self.environment = some(VALUES).map(|text| text.to_string_lossy().into_owned());
        self
    }

    /// The configuration that results.
    ///
    /// # Errors
    /// The first thing that is wrong.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn load(&self) -> Result<Config, Problem> {
        let examined = self.examine();
        let more = examined.problems.len().saturating_sub(1);
        match examined.problems.into_iter().next() {
            Some(problem) => Err(Problem { more, ..problem }),
            None => Ok(examined.config),
        }
    }

    /// Reads everything, also behind what is wrong.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn examine(&self) -> Examined {
        let mut under_way = Examined {
            config: Config::default(),
            problems: Vec::new(),
        };
        match (&self.file, &self.environment_file) {
            (Some(file), _) => under_way.read("--config", file),
            (None, Some(file)) => under_way.read(ENVIRONMENT, file),
            (None, None) => {}
        }
        if let Some(pairs) = &self.environment {
            under_way.set_pairs(pairs);
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
        for (key, value) in self.defaults {
            if !under_way.config.is_set(key) {
                let set = |config: &mut Config| config.set_json5(key, value);
                under_way.set("default", Origin::Default, set);
            }
        }
        under_way.config.attribute_to(Origin::Program);
        under_way.check_whole();
        under_way
    }
}

impl Examined {
    /// Everything there is to say, one line each: `error: ..` and `warning: ..`, or with `json` an object with the members
    /// `level` and `text`. `more` are warnings of the program's own; a last line says that all is well, if it is.
    pub fn lines(&self, more: &[String], json: bool) -> Vec<String> {
        let line = |level: &str, text: String| match json {
            true => serde_json::json!({"level": level, "text": text}).to_string(),
            false => format!("{level}: {text}"),
        };
        let errors = self.problems.iter().map(|p| line("error", p.to_string()));
        let warnings = self.config.warnings();
        let warnings = more
            .iter()
            .cloned()
            .chain(warnings.iter().map(|w| w.to_string()));
        let mut lines: Vec<String> = errors.collect();
        lines.extend(warnings.map(|text| line("warning", text)));
        if lines.is_empty() {
            lines.push(line("ok", "every value takes effect".to_owned()));
        }
        lines
    }

    fn note(&mut self, from: &str, error: ConfigError) {
        self.problems.push(Problem {
            from: from.to_owned(),
            error,
            more: 0,
        });
    }

    /// What is wrong with all of it together, and what could not be used where this program runs.
    fn check_whole(&mut self) {
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

    fn set_pairs(&mut self, pairs: &str) {
        self.config.attribute_to(Origin::Environment(VALUES.into()));
        match split(pairs) {
            Ok(pairs) => {
                for (key, value) in pairs {
                    let set = self.config.merge(&key, &value, false);
                    if let Err(error) = set {
                        self.note(VALUES, error);
                    }
                }
            }
            Err(error) => self.note(VALUES, error),
        }
    }
}

impl Config {
    /// Sets every key of a file over what is set already, those that are right also when others are not. Gives what is
    /// wrong.
    ///
    /// # Blocking
    /// Reads the file.
    pub(super) fn read(&mut self, path: &Path) -> Vec<ConfigError> {
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
        let before = std::mem::replace(&mut self.source, Origin::File(file.as_str().into()));
        let errors = match root {
            Ok(root) => self.merge_all("", &root, true),
            Err(error) => vec![error],
        };
        self.source = before;
        let named = |error| ConfigError::File {
            file: file.clone(),
            error: Box::new(error),
        };
        errors.into_iter().map(named).collect()
    }
}

/// The kind of a file that is read by the reference and not here.
fn foreign(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    match extension {
        "yaml" | "yml" => Some("YAML"),
        "toml" => Some("TOML"),
        _ => None,
    }
}

/// The pairs of a text `key/path:json5;key/path:json5`. A `;` within a value is part of it.
fn split(text: &str) -> Result<Vec<(String, Located)>, ConfigError> {
    let mut pairs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let malformed = || ConfigError::Argument {
            argument: masked::argument(rest),
        };
        let (key, after) = rest.split_once(':').ok_or_else(malformed)?;
        let (value, after) = json5::parse_front(after)?;
        let key = key.trim().trim_matches('/');
        if key.is_empty() {
            return Err(malformed());
        }
        pairs.push((key.to_owned(), value));
        rest = match after.strip_prefix(';') {
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
    }
    Ok(pairs)
}
