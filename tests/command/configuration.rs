// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs' output about their configuration: `--check-config` and `--print-config`, the file, the
//! environment, the flags.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::program::{example, run, zonda};

/// Runs a program; returns its exit code and the lines of its standard output.
fn said(program: PathBuf, arguments: &[&str], environment: &[(&str, &str)]) -> (i32, Vec<String>) {
    let output = Command::new(&program)
        .args(arguments)
        .env_remove("ZENOH_CONFIG")
        .env_remove("ZONDA_CFG")
        .envs(environment.iter().copied())
        .output()
        .unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
    let out = String::from_utf8_lossy(&output.stdout);
    let lines = out.lines().map(str::to_owned).collect();
    (output.status.code().unwrap_or(-1), lines)
}

/// A file of the test's own; removed when the value is dropped.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Written {
        let name = format!("zonda-{name}-{}.json5", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("the folder for temporary files is writable");
        Written(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("it is text")
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // nothing depends on it
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn checking_tells_everything_with_its_place() {
    let file = Written::new(
        "check",
        "{\n  mode: 'pear',\n  connect: {\n    endpoint: [],\n  },\n  plugins: { dds: {} },\n}",
    );
    let expected = [
        format!(
            "error: --config: {}: line 2: `mode` is \"pear\", expected one of router, peer, client",
            file.path()
        ),
        format!(
            "error: --config: {}: line 4: unknown key `connect/endpoint`; did you mean `connect/endpoints`?",
            file.path()
        ),
        "error: --cfg: unknown key `lisen/endpoints`; did you mean `listen/endpoints`?".to_owned(),
        format!(
            "warning: {}: line 6: `plugins`: {{\"dds\":{{}}}} has no effect: no plugin is loaded",
            file.path()
        ),
    ];
    let arguments = [
        "-c",
        file.path(),
        "--check-config",
        "--cfg",
        "lisen/endpoints:[]",
    ];
    let router = [&["router"], &arguments[..]].concat();
    let put = [&["put", "-k", "a", "-p", "b"], &arguments[..]].concat();
    let example_put = [&["-k", "a"], &arguments[..]].concat();
    for (program, arguments) in [
        (zonda(), router),
        (zonda(), put),
        (example("put"), example_put),
    ] {
        assert_eq!(said(program, &arguments, &[]), (2, expected.to_vec()));
    }
}

/// Configurations that can never work are found before anything is started.
#[test]
fn endpoints_and_processors_that_are_not_there_are_found() {
    let text =
        "{\n  connect: { endpoints: ['tcp/host:7447', 'http/x:1'] },\n  runtime_cpus: [9999],\n}";
    let file = Written::new("never", text);
    let arguments = ["router", "-c", file.path(), "--check-config"];
    let (code, lines) = said(zonda(), &arguments, &[]);
    let place = format!("error: {}: ", file.path());
    let [endpoint, cpus] = &lines[..] else {
        panic!("{lines:#?}");
    };
    assert_eq!(code, 2);
    assert!(
        endpoint.starts_with(&format!("{place}line 2: `connect/endpoints` is http/x:1")),
        "{endpoint}"
    );
    assert!(
        cpus.starts_with(&format!("{place}`runtime_cpus`: cpu 9999 does not exist")),
        "{cpus}"
    );
}

#[test]
fn what_is_not_there_is_refused_with_its_place() {
    let file = Written::new("closed", "{\n  access_control: { enabled: true },\n}");
    for more in [&[][..], &["--check-config"]] {
        let ended = run(&zonda(), &[&["router", "-c", file.path()], more].concat());
        let place = format!(
            "error: {}: line 2: `access_control/enabled` is true, but `access_control/rules` is absent, expected a list of rules",
            file.path()
        );
        assert_eq!(ended.code, Some(2));
        let said = [&*ended.out, &*ended.err].concat();
        assert!(said.starts_with(&place), "{said}");
    }
}

#[test]
fn a_good_configuration_is_said_to_be_good() {
    let arguments = [
        "router",
        "--check-config",
        "--no-multicast-scouting",
        "--json",
    ];
    let (code, lines) = said(zonda(), &arguments, &[]);
    assert_eq!(code, 0);
    assert_eq!(
        lines,
        ["{\"level\":\"ok\",\"text\":\"every value takes effect\"}"]
    );
}

/// Returns the line about one key.
fn value(lines: &[String], key: &str) -> String {
    let front = format!("{key} = ");
    let line = lines.iter().find(|line| line.starts_with(&front));
    line.unwrap_or_else(|| panic!("nothing of {key} in {lines:#?}"))
        .clone()
}

#[test]
fn the_later_source_wins_and_is_named() {
    let file = Written::new(
        "print",
        "{\n  mode: 'client',\n  scouting: { delay: 1 },\n  transport: {\n    link: { tx: { lease: 1000, keep_alive: 5 } },\n    auth: { usrpwd: { user: 'bob', password: 'hunter2' } },\n  },\n}",
    );
    let environment = [
        ("ZENOH_CONFIG", file.path()),
        (
            "ZONDA_CFG",
            "transport/link/tx/lease: 2000; scouting/delay:2;id:'a;b';",
        ),
    ];
    let broken = said(zonda(), &["router", "--print-config"], &environment);
    assert_eq!(broken.0, 2, "{broken:?}");

    let environment = [
        environment[0],
        (
            "ZONDA_CFG",
            "transport/link/tx/lease: 2000; scouting/delay:2",
        ),
    ];
    let arguments = [
        "router",
        "--print-config",
        "-l",
        "tcp/127.0.0.1:7999",
        "--cfg",
        "scouting/delay:3",
        "--cfg",
        "metadata:{a:'x;y'}",
    ];
    let (code, lines) = said(zonda(), &arguments, &environment);
    assert_eq!(code, 0);
    let place = file.path();
    for (key, expected) in [
        ("mode", format!("\"client\"  # {place}:2")),
        ("transport/link/tx/keep_alive", format!("5  # {place}:5")),
        ("transport/link/tx/lease", "2000  # ZONDA_CFG".to_owned()),
        ("scouting/delay", "3  # --cfg".to_owned()),
        (
            "listen/endpoints",
            "[\"tcp/127.0.0.1:7999\"]  # --listen".to_owned(),
        ),
        ("adminspace/enabled", "true  # default".to_owned()),
        (
            "transport/unicast/open_timeout",
            "10000  # default".to_owned(),
        ),
        ("metadata", "{\"a\":\"x;y\"}  # --cfg".to_owned()),
        (
            "transport/auth/usrpwd/password",
            format!("\"(hidden)\"  # {place}:6"),
        ),
    ] {
        assert_eq!(value(&lines, key), format!("{key} = {expected}"));
    }
    assert!(!lines.concat().contains("hunter2"));

    // the flag's file takes precedence over the environment's
    let other = Written::new("other", "{ mode: 'peer' }");
    let arguments = ["--print-config", "-c", other.path(), "-k", "a"];
    let (code, lines) = said(example("put"), &arguments, &environment);
    assert_eq!(code, 0);
    assert_eq!(
        value(&lines, "mode"),
        format!("mode = \"peer\"  # {}:1", other.path())
    );
}

#[test]
fn values_can_be_had_as_json() {
    let arguments = [
        "put",
        "-k",
        "a",
        "-p",
        "b",
        "--print-config",
        "--json",
        "-m",
        "client",
    ];
    let (code, lines) = said(zonda(), &arguments, &[]);
    assert_eq!(code, 0);
    let values: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("a JSON object"))
        .collect();
    let mode = values
        .iter()
        .find(|v| v["key"] == "mode")
        .expect("it is a key");
    assert_eq!(mode["value"], "client");
    assert_eq!(
        (&mode["origin"], &mode["from"]),
        (&"flag".into(), &"--mode".into())
    );
}
