// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the reference's configuration: its own file is accepted unchanged, and both sides know
//! the same keys with the same defaults.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use zonda::Config;
use zonda::config::Sources;

use crate::environment;

/// Release whose file is searched.
const PACKAGE: &str = "zenoh-1.10.2";

/// Returns true for keys of the file without effect here: each is one warning, and no other key is.
/// A key that is implemented leaves this list.
fn is_expected(key: &str) -> bool {
    key.starts_with("transport/shared_memory/")
}

/// Returns the file that comes with the reference's sources, where cargo has unpacked them.
fn shipped() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    registries
        .flatten()
        .map(|registry| registry.path().join(PACKAGE).join("DEFAULT_CONFIG.json5"))
        .find(|file| file.is_file())
}

#[test]
fn the_reference_s_own_file_is_taken_as_it_is() {
    let Some(file) = shipped() else {
        let line = "\nSKIPPED: the reference's own configuration file (its sources are not unpacked: cargo fetch \
                    --manifest-path peers/zenoh/Cargo.toml)\n";
        // with standard error closed the report has no reader
        let _ = io::stderr().write_all(line.as_bytes());
        return;
    };
    let sources = Sources {
        file: Some(file),
        ..Sources::default()
    };
    let examined = sources.examine();
    assert_eq!(examined.problems, []);
    for warning in examined.config.warnings() {
        assert!(is_expected(&warning.key), "{warning}");
        assert!(warning.line.is_some(), "{warning}");
    }
    assert_ne!(examined.config.settings().metadata, "null");
}

/// Returns the reference's answer to each line of `input`.
fn ask(python: &Path, script: &str, input: &str) -> Value {
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the reference starts");
    let mut lines = child.stdin.take().expect("it is piped");
    lines.write_all(input.as_bytes()).expect("it reads");
    drop(lines);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

/// Script that prints the reference's whole configuration, and its reasons to refuse values of the
/// lines `key<TAB>value` that it reads.
const SCRIPT: &str = "
import json, sys, zenoh
refused = {}
for line in sys.stdin:
    key, value = line.rstrip('\\n').split('\\t')
    tree = json.loads(value)
    for part in reversed(key.split('/')):
        tree = {part: tree}
    try:
        zenoh.Config.from_json5(json.dumps(tree))
    except Exception as error:
        refused[key] = str(error)
print(json.dumps({'all': json.loads(str(zenoh.Config())), 'refused': refused}))
";

/// Roles that a value may be given for.
const ROLES: [&str; 3] = ["router", "peer", "client"];

/// Collects the paths and values of everything that is not a section.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if members.keys().any(|name| !ROLES.contains(&name.as_str())) => {
            for (name, member) in members {
                leaves(&format!("{path}/{name}"), member, found);
            }
        }
        leaf => found.push((path.trim_start_matches('/').to_owned(), leaf.clone())),
    }
}

/// Prefixes of keys that the reference does not have.
const ONLY_OURS: [&str; 12] = [
    "runtime",
    "isolation/",
    "limits/",
    "services/",
    "close_timeout_ms",
    "log/filter",
    "transport/auth/usrpwd/ids",
    "transport/auth/usrpwd/send_to",
    "transport/auth/usrpwd/dictionary_file_mode",
    "access_control/mode",
    "access_control/multicast",
    "transport/shared_memory/trust",
];

#[test]
fn both_know_the_same_keys_and_take_each_other_s_values() {
    let Some(python) = environment::python() else {
        return;
    };
    let ours: Vec<String> = Config::default()
        .effective()
        .into_iter()
        .map(|e| e.key)
        .collect();
    let is_shared = |key: &&String| !ONLY_OURS.iter().any(|start| key.starts_with(start));
    let shared = ours.iter().filter(is_shared);
    let lines: String = shared
        .map(|key| (key, Config::default().to_json(key).expect("it is a key")))
        .filter(|(_, value)| value != "null")
        .map(|(key, value)| format!("{key}\t{value}\n"))
        .collect();
    let answer = ask(python, SCRIPT, &lines);
    assert_eq!(
        answer["refused"],
        json!({}),
        "defaults that the reference does not take"
    );

    let mut theirs = Vec::new();
    leaves("", &answer["all"], &mut theirs);
    assert!(theirs.len() > 100, "{}", theirs.len());
    for (key, value) in theirs {
        let mut config = Config::default();
        if let Err(error) = config.insert_json5(&key, &value.to_string()) {
            panic!("{key} = {value}: {error}");
        }
    }
}
