// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration of storages: the reference's `plugins/storage_manager`.

use std::time::Duration;

use serde_json::{Map, Value};
use zonda::key_expr::KeyExpr;
use zonda_volume::{Options, Volume};

use crate::history::Limits;
use crate::ledger::Names;
use crate::replica::Eras;

/// Key of the configuration.
pub const SECTION: &str = "plugins/storage_manager";

/// Members of the section; the first three are for a loader of plugins and have no meaning here.
const MEMBERS: [&str; 5] = [
    "__required__",
    "__path__",
    "backend_search_dirs",
    "volumes",
    "storages",
];
const VOLUME_MEMBERS: [&str; 4] = ["backend", "__path__", "__required__", "private"];
const STORAGE_MEMBERS: [&str; 8] = [
    "key_expr",
    "strip_prefix",
    "complete",
    "write_queries",
    "volume",
    "garbage_collection",
    "replication",
    "history",
];

/// Default limits of a history, for each key.
const HISTORY_COUNT: u64 = 1000;
const HISTORY_BYTES: u64 = 1 << 20;

/// The volumes that storages may use.
pub type Volumes<'v> = [&'v dyn Volume];

/// Checked values of the configuration.
pub struct Settings {
    /// Configured volumes: name, and configuration without what is private.
    pub volumes: Vec<(String, Value)>,
    pub storages: Vec<StorageSettings>,
    /// Lines about what has no effect.
    pub warnings: Vec<String>,
}

/// Settings of one storage.
#[derive(Clone, PartialEq)]
pub struct StorageSettings {
    pub name: String,
    pub key: KeyExpr<'static>,
    pub strip_prefix: Option<String>,
    pub complete: bool,
    /// True if queries may change what is stored.
    pub write_queries: bool,
    /// Name of the volume.
    pub volume: String,
    /// Name of what the volume is made of.
    pub backend: String,
    pub options: Options,
    /// Description of the volume in the admin space: its name, or the options without what is private.
    pub shown_volume: Value,
    /// Limits of the former values that are kept; `None` if none are.
    pub history: Option<Limits>,
    /// Division of time of its alignment with other replicas; `None` without replicas.
    pub replication: Option<Eras>,
    pub period: Duration,
    pub lifespan: Duration,
}

impl StorageSettings {
    /// Returns the fingerprint by which its replicas find each other.
    pub fn fingerprint(&self, eras: &Eras) -> u64 {
        eras.fingerprint(&self.key, self.strip_prefix.as_deref())
    }

    pub fn names(&self) -> Names {
        Names::new(self.strip_prefix.clone())
    }
}

/// An object of the configuration and its path.
struct Section<'v> {
    path: String,
    members: &'v Map<String, Value>,
}

impl<'v> Section<'v> {
    fn new(path: String, value: &'v Value) -> Result<Section<'v>, String> {
        match value {
            Value::Object(members) => Ok(Section { path, members }),
            _ => Err(format!("`{path}` is {}, expected an object", shown(value))),
        }
    }

    fn allow(&self, names: &[&str]) -> Result<(), String> {
        let unknown = self
            .members
            .keys()
            .find(|name| !names.contains(&name.as_str()));
        let names = names.join(", ");
        match unknown {
            None => Ok(()),
            Some(name) => Err(format!(
                "`{}/{name}` does not exist; there are {names}",
                self.path
            )),
        }
    }

    fn get(&self, name: &str) -> Option<&'v Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    fn refusal(&self, name: &str, expected: &str) -> String {
        let key = format!("`{}/{name}`", self.path);
        match self.get(name) {
            Some(found) => format!("{key} is {}, expected {expected}", shown(found)),
            None => format!("{key} is not set, expected {expected}"),
        }
    }

    fn text(&self, name: &str, expected: &str) -> Result<Option<&'v str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refusal(name, expected)),
        }
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.refusal(name, "true or false")),
        }
    }

    fn seconds(&self, name: &str, default: f64) -> Result<Duration, String> {
        let seconds = match self.get(name) {
            None => default,
            Some(found) => found.as_f64().unwrap_or(-1.0),
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() && seconds < 1e9 => Ok(time),
            _ => Err(self.refusal(name, "a number of seconds above 0")),
        }
    }

    /// Returns the object that a member is; an empty one if it is absent.
    fn section(&self, name: &str) -> Result<Vec<(&'v String, Section<'v>)>, String> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let path = format!("{}/{name}", self.path);
        let section = Section::new(path, value)?;
        let each = section.members.iter().filter(|(_, value)| !value.is_null());
        each.map(|(name, value)| {
            let path = format!("{}/{name}", section.path);
            Ok((name, Section::new(path, value)?))
        })
        .collect()
    }
}

/// Returns a value as it is shown in an error: not at length.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        value => value.to_string(),
    }
}

/// Reads the section, as JSON, for these volumes.
///
/// # Errors
/// The first fault: the key, its value, and what is expected.
pub fn read(json: &str, volumes: &Volumes<'_>) -> Result<Settings, String> {
    let root: Value =
        serde_json::from_str(json).map_err(|error| format!("`{SECTION}` is no JSON: {error}"))?;
    let section = Section::new(SECTION.to_owned(), &root)?;
    if section.get("__config__").is_some() {
        return Err(format!(
            "`{SECTION}/__config__` is not read; write what the file has into `{SECTION}` itself"
        ));
    }
    section.allow(&MEMBERS)?;
    // The volumes, of which `memory` and all others of this build need not be named.
    let mut settings = Settings {
        volumes: Vec::new(),
        storages: Vec::new(),
        warnings: Vec::new(),
    };
    let backends = read_volumes(&section, volumes, &mut settings)?;
    for (name, storage) in section.section("storages")? {
        let storage = read_storage(name, &storage, &backends, volumes)?;
        if storage.history.is_some() && storage.replication.is_some() {
            settings.warnings.push(format!(
                "`{SECTION}/storages/{name}` has a `history` and `replication`: each replica has the former values that it \
                 has received itself, and of those that it missed only the last ones"
            ));
        }
        settings.storages.push(storage);
    }
    Ok(settings)
}

/// Reads the volumes, with those that are not named.
fn read_volumes(
    section: &Section<'_>,
    volumes: &Volumes<'_>,
    settings: &mut Settings,
) -> Result<Vec<Backend>, String> {
    let mut backends: Vec<Backend> = Vec::new();
    for (name, volume) in section.section("volumes")? {
        let backend = volume
            .text("backend", "the name of a backend")?
            .unwrap_or(name);
        let known = volumes.iter().find(|known| known.name() == backend);
        let shared = known.map_or(&[][..], |known| known.shared_options());
        if known.is_some() {
            volume.allow(&[&VOLUME_MEMBERS, shared].concat())?;
        }
        let is_here = known.is_some();
        let absent = format!("`{}`: {}", volume.path, no_backend(backend, volumes));
        match (is_here, volume.flag("__required__")?) {
            (true, _) => {}
            (false, true) => return Err(absent),
            (false, false) => settings.warnings.push(absent),
        }
        let mut options = volume.members.clone();
        options.retain(|name, _| shared.contains(&name.as_str()));
        backends.push(Backend {
            volume: name.clone(),
            name: backend.to_owned(),
            options,
        });
        let shown = without_private(volume.members);
        settings.volumes.push((name.clone(), shown));
    }
    for known in volumes.iter().map(|volume| volume.name()) {
        if !backends.iter().any(|backend| backend.volume == known) {
            backends.push(Backend {
                volume: known.to_owned(),
                name: known.to_owned(),
                options: Map::new(),
            });
            settings
                .volumes
                .push((known.to_owned(), Value::Object(Map::new())));
        }
    }
    Ok(backends)
}

/// Returns false if the section says that a node may run without it.
pub fn is_required(json: &str) -> bool {
    let root: Option<Value> = serde_json::from_str(json).ok();
    let required = root.as_ref().and_then(|root| root.get("__required__"));
    required != Some(&Value::Bool(false))
}

fn no_backend(backend: &str, volumes: &Volumes<'_>) -> String {
    let names: Vec<_> = volumes.iter().map(|volume| volume.name()).collect();
    let names = names.join(", ");
    let instead = instead_of(backend);
    format!("this build has no backend {backend:?}, only {names}{instead}")
}

fn instead_of(backend: &str) -> &'static str {
    match backend {
        "rocksdb" => "; `redb` takes the options of rocksdb",
        _ => "",
    }
}

fn without_private(members: &Map<String, Value>) -> Value {
    let mut members = members.clone();
    members.remove("private");
    Value::Object(members)
}

fn read_storage(
    name: &str,
    storage: &Section<'_>,
    backends: &[Backend],
    volumes: &Volumes<'_>,
) -> Result<StorageSettings, String> {
    let path = &storage.path;
    storage.allow(&STORAGE_MEMBERS)?;
    let expected = "a key expression such as \"demo/**\"";
    let key = storage.text("key_expr", expected)?;
    let key = key.ok_or_else(|| storage.refusal("key_expr", expected))?;
    let key = KeyExpr::new(key.to_owned());
    let key = key.map_err(|error| format!("{}: {error}", storage.refusal("key_expr", expected)))?;
    let strip_prefix = read_prefix(storage, &key)?;
    let volume = read_volume(storage, backends, volumes)?;
    let empty = Value::Object(Map::new());
    let collection = storage.get("garbage_collection").unwrap_or(&empty);
    let collection = Section::new(format!("{path}/garbage_collection"), collection)?;
    collection.allow(&["period", "lifespan"])?;
    Ok(StorageSettings {
        name: read_name(name, path)?,
        key,
        strip_prefix,
        complete: storage.flag("complete")?,
        write_queries: storage.flag("write_queries")?,
        volume: volume.name,
        backend: volume.backend,
        options: volume.options,
        shown_volume: volume.shown,
        history: read_history(storage)?,
        replication: read_replication(storage)?,
        period: collection.seconds("period", 30.0)?,
        lifespan: collection.seconds("lifespan", 86_400.0)?,
    })
}

/// A volume of the configuration.
struct Backend {
    volume: String,
    /// Name of what it is made of.
    name: String,
    /// Options for all its storages.
    options: Map<String, Value>,
}

/// The volume of a storage, and the options for it.
struct Chosen {
    name: String,
    backend: String,
    options: Options,
    /// Description in the admin space.
    shown: Value,
}

/// Reads the volume of a storage: a name, or an object with a name and options.
fn read_volume(
    storage: &Section<'_>,
    backends: &[Backend],
    volumes: &Volumes<'_>,
) -> Result<Chosen, String> {
    let path = &storage.path;
    let expected = "the name of a volume, or an object with its name as `id`";
    let (volume, options) = match storage.get("volume") {
        Some(Value::String(volume)) => (volume.as_str(), Map::new()),
        Some(Value::Object(members)) => match members.get("id") {
            Some(Value::String(volume)) => {
                let mut options = members.clone();
                options.remove("id");
                (volume.as_str(), options)
            }
            _ => return Err(storage.refusal("volume", expected)),
        },
        _ => return Err(storage.refusal("volume", expected)),
    };
    let Some(found) = backends.iter().find(|backend| backend.volume == volume) else {
        let names: Vec<_> = backends.iter().map(|it| it.volume.as_str()).collect();
        let names = names.join(", ");
        let instead = instead_of(volume);
        return Err(format!(
            "`{path}/volume` is {volume:?}, expected one of {names}{instead}"
        ));
    };
    let backend = &found.name;
    let Some(kind) = volumes.iter().find(|known| known.name() == backend) else {
        return Err(format!(
            "`{path}/volume` is {volume:?}: {}",
            no_backend(backend, volumes)
        ));
    };
    let shown_volume = match storage.get("volume") {
        Some(Value::Object(members)) => without_private(members),
        _ => Value::from(volume),
    };
    let mut all = found.options.clone();
    all.extend(options);
    let options = Options::new(format!("{path}/volume"), all);
    kind.check(&options).map_err(|error| error.to_string())?;
    Ok(Chosen {
        name: volume.to_owned(),
        backend: backend.clone(),
        options,
        shown: shown_volume,
    })
}

fn read_replication(storage: &Section<'_>) -> Result<Option<Eras>, String> {
    let Some(replication) = storage.get("replication") else {
        return Ok(None);
    };
    let path = format!("{}/replication", storage.path);
    let replication = Section::new(path, replication)?;
    let members = [
        "interval",
        "sub_intervals",
        "hot",
        "warm",
        "propagation_delay",
    ];
    replication.allow(&members)?;
    let usual = Eras::default();
    let interval = replication.seconds("interval", usual.interval.as_secs_f64())?;
    let number = |name: &str, usual: u64, least: u64, expected: &str| match replication.get(name) {
        None => Ok(usual),
        Some(found) => match found.as_u64().filter(|n| (least..=1_000_000).contains(n)) {
            Some(number) => Ok(number),
            None => Err(replication.refusal(name, expected)),
        },
    };
    let whole = "a whole number from 1 to 1000000";
    let eras = Eras {
        interval,
        parts: number("sub_intervals", usual.parts, 1, whole)?,
        hot: number("hot", usual.hot, 1, whole)?,
        warm: number("warm", usual.warm, 0, "a whole number up to 1000000")?,
        delay: Duration::from_millis(number(
            "propagation_delay",
            usual.delay.as_millis() as u64,
            0,
            "a whole number of milliseconds",
        )?),
    };
    if interval < 2 * eras.delay || interval.as_millis() < u128::from(eras.parts) {
        let expected =
            "at least twice `propagation_delay`, and a millisecond for each of `sub_intervals`";
        return Err(replication.refusal("interval", expected));
    }
    Ok(Some(eras))
}

fn read_history(storage: &Section<'_>) -> Result<Option<Limits>, String> {
    let Some(value) = storage.get("history") else {
        return Ok(None);
    };
    let history = Section::new(format!("{}/history", storage.path), value)?;
    history.allow(&["count", "bytes", "age"])?;
    let number = |name: &str, default: u64| match history.get(name) {
        None => Ok(default),
        Some(found) => match found.as_u64().filter(|number| *number > 0) {
            Some(number) => Ok(number),
            None => Err(history.refusal(name, "a whole number above 0")),
        },
    };
    let count = number("count", HISTORY_COUNT)?;
    let bytes = number("bytes", HISTORY_BYTES)?;
    let age = match history.get("age") {
        None => None,
        Some(_) => Some(history.seconds("age", 0.0)?),
    };
    Ok(Some(Limits {
        count: usize::try_from(count).unwrap_or(usize::MAX),
        bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
        age,
    }))
}

/// Checks the name, which is part of a key of the admin space.
fn read_name(name: &str, path: &str) -> Result<String, String> {
    let is_chunk = KeyExpr::new(name.to_owned()).is_ok_and(|key| !key.is_wild());
    match is_chunk && !name.contains('/') {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "`{path}`: {name:?} is no name: use letters, digits, - and _"
        )),
    }
}

fn read_prefix(storage: &Section<'_>, key: &KeyExpr<'_>) -> Result<Option<String>, String> {
    let expected = "the first chunks of key_expr, without wildcards";
    let Some(prefix) = storage.text("strip_prefix", expected)? else {
        return Ok(None);
    };
    let prefix = prefix.trim_end_matches('/');
    if prefix.is_empty() {
        return Ok(None);
    }
    let literal = key
        .get_nonwild_prefix()
        .map_or("", |prefix| prefix.as_str());
    let is_front = literal
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match is_front {
        true => Ok(Some(prefix.to_owned())),
        false => Err(format!(
            "{} ({key})",
            storage.refusal("strip_prefix", expected)
        )),
    }
}

#[cfg(test)]
mod tests {
    use zonda_volume::{BUILTIN, OpenError, Store};

    use super::*;

    fn refused(storage: &str) -> String {
        let json = format!(r#"{{"storages": {{"s": {storage}}}}}"#);
        let text = read(&json, BUILTIN).map(|_| ()).expect_err(storage);
        assert!(!text.contains('\n') && text.contains(SECTION), "{text}");
        text
    }

    #[test]
    fn a_configuration_of_the_reference_is_read() {
        let json = r#"{
            "__required__": true, "__path__": ["./lib.so"], "backend_search_dirs": [],
            "volumes": {"fast": {"backend": "memory", "private": {"x": 1}}, "memory": {}},
            "storages": {
                "demo": {"key_expr": "demo/memory/**", "strip_prefix": "demo/memory/", "volume": {"id": "fast"},
                         "complete": true, "garbage_collection": {"period": 10, "lifespan": 3600}},
                "other": {"key_expr": "other/*", "volume": "memory", "strip_prefix": null}
            }}"#;
        let settings = read(json, BUILTIN).expect("it is well formed");
        let [demo, other] = settings.storages.as_slice() else {
            panic!("{} storages", settings.storages.len());
        };
        assert_eq!(demo.strip_prefix.as_deref(), Some("demo/memory"));
        assert_eq!((demo.backend.as_str(), demo.complete), ("memory", true));
        assert_eq!((demo.period.as_secs(), demo.lifespan.as_secs()), (10, 3600));
        assert_eq!(
            (other.period.as_secs(), other.lifespan.as_secs()),
            (30, 86_400)
        );
        assert_eq!(settings.volumes[0].1.to_string(), r#"{"backend":"memory"}"#);
        assert_eq!(settings.warnings, [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for (storage, words) in [
            ("7", "s` is 7, expected an object"),
            ("{}", "key_expr` is not set"),
            (
                r#"{"key_expr": "a//b", "volume": "memory"}"#,
                "key_expr` is \"a//b\"",
            ),
            (r#"{"key_expr": "a/**"}"#, "volume` is not set"),
            (
                r#"{"key_expr": "a/**", "volume": "rocksdb"}"#,
                "`redb` takes the options",
            ),
            (
                r#"{"key_expr": "a/**", "volume": {"dir": "x"}}"#,
                "volume` is an object, expected the name",
            ),
            (
                r#"{"key_expr": "a/**", "volume": {"id": "memory", "dir": "x"}}"#,
                "volume/dir` is no option",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "strip_prefix": "b"}"#,
                "strip_prefix` is \"b\"",
            ),
            (
                r#"{"key_expr": "a/b$*/c", "volume": "memory", "strip_prefix": "a/b"}"#,
                "without wildcards",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "replication": {"interval": 0.4}}"#,
                "replication/interval` is 0.4, expected at least twice",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "complet": true}"#,
                "complet` does not exist",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "complete": 1}"#,
                "complete` is 1",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "garbage_collection": {"period": 0}}"#,
                "garbage_collection/period` is 0",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "history": {"count": 0}}"#,
                "history/count` is 0",
            ),
            (
                r#"{"key_expr": "a/**", "volume": "memory", "history": {"days": 1}}"#,
                "history/days` does not exist",
            ),
        ] {
            let text = refused(storage);
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_volume_that_is_absent_and_a_history_of_replicas_are_told() {
        let required = r#"{"volumes": {"influxdb": {"__required__": true}}}"#;
        assert!(
            read(required, BUILTIN)
                .map(|_| ())
                .expect_err("no influxdb")
                .contains("\"influxdb\"")
        );
        let warned = read(
            r#"{"volumes": {"influxdb": {"url": "http://localhost"}}}"#,
            BUILTIN,
        )
        .expect("a warning");
        assert_eq!(warned.warnings.len(), 1);
        let both = r#"{"storages": {"s": {"key_expr": "a/**", "volume": "memory", "history": {}, "replication": {}}}}"#;
        let warned = read(both, BUILTIN).expect("a warning");
        assert!(warned.warnings[0].contains("storages/s"));
    }

    /// A volume whose place is elsewhere.
    struct Elsewhere;

    impl Volume for Elsewhere {
        fn name(&self) -> &'static str {
            "elsewhere"
        }

        fn shared_options(&self) -> &'static [&'static str] {
            &["url", "private"]
        }

        fn check(&self, _: &Options) -> Result<(), OpenError> {
            Ok(())
        }

        fn open(&self, _: &Options) -> Result<Box<dyn Store>, OpenError> {
            Err(OpenError::Option("it is elsewhere".to_owned()))
        }
    }

    #[test]
    fn a_storage_has_the_options_of_its_volume_unless_it_has_its_own() {
        let json = r#"{
            "volumes": {"far": {"backend": "elsewhere", "url": "u", "private": {"secret_key": "hidden"}}},
            "storages": {
                "a": {"key_expr": "a/**", "volume": "far"},
                "b": {"key_expr": "b/**", "volume": {"id": "far", "url": "own"}}
            }}"#;
        let settings = read(json, &[&Elsewhere]).expect("it is well formed");
        let text = |at: usize, name: &str| {
            let options = &settings.storages[at].options;
            options.text(name).expect("a text").map(str::to_owned)
        };
        assert_eq!(text(0, "url").as_deref(), Some("u"));
        assert_eq!(text(1, "url").as_deref(), Some("own"));
        let secret = settings.storages[1].options.member("private", "secret_key");
        assert_eq!(secret, Ok(Some("hidden".to_owned())));
        let shown = format!("{:?}", settings.storages[0].options);
        let shown = format!("{shown}{}", settings.storages[0].shown_volume);
        let shown = format!("{shown}{}", settings.volumes[0].1);
        assert!(
            !shown.contains("hidden") && shown.contains("url"),
            "{shown}"
        );
        let unknown = r#"{"volumes": {"elsewhere": {"dir": "x"}}}"#;
        let error = read(unknown, &[&Elsewhere]).map(|_| ()).expect_err("dir");
        assert!(error.contains("volumes/elsewhere/dir"), "{error}");
    }
}
