// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules for crates: dependencies go down only, libraries hold no unsafe code, and each feature is
//! explained.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::imports::{Import, imports};
use super::none;
use super::source::{Source, files, find, sources};

/// The crate of shared test code, which tests of any crate may use.
const TESTKIT: &str = "zonda-testkit";

/// Crates, each with its folder and the crates of the project that it may depend on, tests and
/// examples included.
const ARROWS: [(&str, &str, &[&str]); 26] = [
    ("zonda-codec", "codec", &[]),
    ("zonda-macros", "macros", &["zonda-codec"]),
    ("zonda-runtime", "runtime", &[]),
    (
        "zonda-transport",
        "transport",
        &["zonda-codec", "zonda-runtime", "zonda-shm"],
    ),
    ("zonda-shm", "shm", &["zonda-codec"]),
    ("zonda-table", "router/table", &["zonda-codec"]),
    (
        "zonda-config",
        "router/config",
        &[
            "zonda-codec",
            "zonda-runtime",
            "zonda-table",
            "zonda-transport",
        ],
    ),
    (
        "zonda-router",
        "router",
        &[
            "zonda-codec",
            "zonda-config",
            "zonda-runtime",
            "zonda-table",
            "zonda-transport",
        ],
    ),
    (
        "zonda-rehearsal",
        "rehearsal",
        &["zonda-codec", "zonda-table"],
    ),
    (
        "zonda",
        "session",
        &[
            "zonda-codec",
            "zonda-macros",
            "zonda-runtime",
            "zonda-router",
            "zonda-shm",
        ],
    ),
    (
        "zonda-program",
        "src/program",
        &[
            "zonda",
            "zonda-codec",
            "zonda-router",
            "zonda-runtime",
            "zonda-transport",
        ],
    ),
    ("zonda-explain", "services/explain", &[]),
    ("zonda-volume", "services/volume", &["zonda-codec"]),
    (
        "zonda-storage",
        "services/storage",
        &["zonda", "zonda-volume"],
    ),
    (
        "zonda-services",
        "services",
        &["zonda", "zonda-explain", "zonda-storage", "zonda-transport"],
    ),
    (
        "zondad",
        "router/daemon",
        &[
            "zonda",
            "zonda-codec",
            "zonda-program",
            "zonda-router",
            "zonda-runtime",
            "zonda-services",
        ],
    ),
    (
        "zonda-perf",
        "perf",
        &[
            "zonda",
            "zonda-codec",
            "zonda-program",
            "zonda-router",
            "zonda-runtime",
            "zonda-transport",
            "zondad",
        ],
    ),
    (
        "zonda-command",
        "",
        &[
            "zonda",
            "zonda-codec",
            "zonda-explain",
            "zonda-perf",
            "zonda-program",
            "zonda-rehearsal",
            "zonda-router",
            "zonda-runtime",
            "zonda-storage",
            "zonda-transport",
            "zondad",
        ],
    ),
    (
        "zonda-probe",
        "benches/probe",
        &["zonda", "zonda-codec", "zonda-router", "zonda-runtime"],
    ),
    (
        TESTKIT,
        "testkit",
        &[
            "zonda-codec",
            "zonda-router",
            "zonda-runtime",
            "zonda-table",
            "zonda-transport",
        ],
    ),
    ("zonda-fuzz", "fuzz", &["zonda", TESTKIT, "zonda-transport"]),
    ("zonda-loom", "loom", &[]),
    ("zonda-python", "bindings/python", &["zonda"]),
    ("zonda-c", "bindings/c", &["zonda", "zonda-runtime"]),
    ("zenoh-peers", "peers/zenoh", &["peers-report"]),
    (
        "zonda-kafka",
        "bridges/kafka",
        &[
            "zonda",
            "zonda-perf",
            "zonda-program",
            "zonda-router",
            "zonda-runtime",
            "zonda-transport",
        ],
    ),
];

/// Returns the crates of one workspace, as cargo understands their manifests.
fn crates_of(folder: &str) -> Vec<Value> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version=1",
        "--manifest-path",
    ]);
    let output = cargo
        .arg(format!("{root}/{folder}Cargo.toml"))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Returns every crate of the project, each with its manifest's facts.
fn crates() -> &'static [Value] {
    static CRATES: OnceLock<Vec<Value>> = OnceLock::new();
    CRATES.get_or_init(|| {
        ["", "fuzz/", "loom/", "peers/zenoh/"]
            .into_iter()
            .flat_map(crates_of)
            .collect()
    })
}

fn name(krate: &Value) -> &str {
    krate["name"].as_str().expect("a crate has a name")
}

fn targets(kind: &str) -> impl Iterator<Item = &'static Source> {
    let all = crates()
        .iter()
        .flat_map(|k| k["targets"].as_array().expect("targets"));
    let chosen = all.filter(move |t| {
        t["kind"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|k| k == kind))
    });
    chosen.map(|target| {
        let file = target["src_path"]
            .as_str()
            .expect("a target has a file")
            .replace('\\', "/");
        let found = sources()
            .iter()
            .find(|s| file.ends_with(&format!("/{}", s.path)));
        found.unwrap_or_else(|| panic!("{file} is not looked at"))
    })
}

fn allowed(krate: &str) -> &'static [&'static str] {
    let row = ARROWS.iter().find(|(name, ..)| *name == krate);
    row.unwrap_or_else(|| panic!("{krate} is new: say in ARROWS what it may depend on"))
        .2
}

/// Returns the crates of the project that the manifest of `krate` names and may not.
fn wrong_arrows(krate: &Value, allowed: &[&str]) -> Vec<String> {
    let dependencies = krate["dependencies"]
        .as_array()
        .expect("dependencies")
        .iter();
    let ours = dependencies.filter(|d| d["path"].is_string() || name(d).starts_with("zonda"));
    // the tests across crates may use each of them
    let crosses =
        |d: &&Value| d["kind"] == "dev" && (name(krate) == "zonda-command" || name(d) == TESTKIT);
    let wrong = ours
        .filter(|d| !crosses(d))
        .map(name)
        .filter(|d| !allowed.contains(d));
    wrong
        .map(|d| format!("{} depends on {d}", name(krate)))
        .collect()
}

#[test]
fn arrows_go_down_only() {
    assert_eq!(
        crates().len(),
        ARROWS.len(),
        "a crate is not looked at, or gone"
    );
    let places: Vec<_> = crates()
        .iter()
        .flat_map(|k| wrong_arrows(k, allowed(name(k))))
        .collect();
    none("a crate depends on those below it only", &places);
}

#[test]
fn no_file_is_borrowed_from_a_crate_that_may_not_be_named() {
    let mut places = Vec::new();
    for (krate, folder, allowed) in ARROWS
        .into_iter()
        .filter(|(_, folder, _)| !folder.is_empty())
    {
        let inside = |s: &&Source| s.path.starts_with(&format!("{folder}/src/"));
        for source in sources().iter().filter(inside) {
            for Import { at, path, .. } in imports(&source.code) {
                let first = path.split("::").next().unwrap_or("").replace('_', "-");
                let is_ours = first.starts_with("zonda") && first != krate;
                if is_ours && !allowed.contains(&first.as_str()) {
                    places.push(format!("{} {path}", source.place(at)));
                }
            }
        }
    }
    none("a crate imports from those below it only", &places);
}

#[test]
fn libraries_and_programs_forbid_unsafe_code() {
    // the macro of a fuzz target writes its own entry point, nothing here is built on the reference's programs, Python's
    // buffers are pointers, and a mapping of shared memory is one
    let others = ["fuzz/fuzz_targets/", "peers/", "bindings/", "shm/"];
    let is_ours = |s: &&Source| !others.iter().any(|folder| s.path.starts_with(folder));
    let roots: Vec<_> = targets("lib")
        .chain(targets("bin"))
        .filter(is_ours)
        .collect();
    assert!(roots.len() >= 10, "only {} crate roots", roots.len());
    let unsafe_ones = roots
        .iter()
        .filter(|s| !s.code.contains("#![forbid(unsafe_code)]"));
    none(
        "#![forbid(unsafe_code)]",
        &unsafe_ones.map(|s| s.path.clone()).collect::<Vec<_>>(),
    );
}

/// Returns the crates that the session crate brings along with one feature.
fn brought_by(feature: &str) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args([
        "tree",
        "--offline",
        "--package",
        "zonda",
        "--edges",
        "normal",
    ]);
    cargo.args(["--prefix", "none", "--format", "{p}"]);
    cargo.args(["--no-default-features", "--features", feature]);
    let output = cargo.output().expect("cargo starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {complaint}");
    String::from_utf8(output.stdout).expect("names are text")
}

#[test]
fn tokio_comes_with_its_own_feature_only() {
    let brings_tokio = |feature: &&str| brought_by(feature).contains("tokio");
    let with_tokio: Vec<_> = ["tokio", "smol", "async-std", "threads", "uring"]
        .into_iter()
        .filter(brings_tokio)
        .collect();
    assert_eq!(with_tokio, ["tokio"]);
}

/// An exact version of one of Zenoh's crates in the product would keep a program that also has
/// another release of Zenoh from resolving.
#[test]
fn the_library_depends_on_no_crate_of_zenoh() {
    let tree =
        brought_by("tokio,smol,threads,compression,logs,multilink,tls,wss,quic,serial,legacy");
    let theirs = tree.lines().filter(|line| line.starts_with("zenoh"));
    let theirs: Vec<_> = theirs.map(str::to_owned).collect();
    none("a dependency on Zenoh", &theirs);
    let direct = |krate: &Value| -> Vec<String> {
        let dependencies = krate["dependencies"].as_array().expect("dependencies");
        let normal = dependencies.iter().filter(|d| d["kind"].is_null());
        let names = normal.filter_map(|d| d["name"].as_str());
        let theirs = names.filter(|name| name.starts_with("zenoh"));
        theirs.map(|d| format!("{} -> {d}", name(krate))).collect()
    };
    let tests = ["zenoh-peers", TESTKIT];
    let ours = crates()
        .iter()
        .filter(|krate| !tests.contains(&name(krate)));
    let theirs: Vec<_> = ours.flat_map(direct).collect();
    none("a dependency on Zenoh", &theirs);
}

/// Maximum number of packages of other projects that a program on tokio and TCP is built of.
const PACKAGES_MAX: usize = 59;

#[test]
fn the_library_stands_on_few_packages() {
    let tree = brought_by("tokio");
    let packages: BTreeSet<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    let (ours, others): (Vec<_>, Vec<_>) =
        (packages.into_iter()).partition(|package| package.starts_with("zonda"));
    assert!(ours.iter().any(|ours| ours.starts_with("zonda-codec ")));
    let count = others.len();
    assert!(count <= PACKAGES_MAX, "{count} packages: {others:?}");
}

#[test]
fn features_are_explained() {
    let mut places = Vec::new();
    for (krate, folder, _) in ARROWS {
        let facts = crates()
            .iter()
            .find(|k| name(k) == krate)
            .expect("checked above");
        let features = facts["features"].as_object().expect("features").keys();
        let path = format!("{folder}/Cargo.toml");
        let path = path.trim_start_matches('/');
        let manifest = files()
            .iter()
            .find(|f| f.path == path)
            .expect("a manifest is a file");
        let library = sources()
            .iter()
            .find(|s| s.path == format!("{folder}/src/lib.rs"));
        let library = library.map_or("", |s| s.text.as_str());
        let told = |f: &str| {
            library.contains(&format!("`{f}`")) || manifest.text.contains(&format!("# `{f}`"))
        };
        let untold = features.filter(|f| *f != "default" && !told(f));
        places.extend(untold.map(|f| format!("{path}: {f}")));
    }
    none(
        "a feature is explained in lib.rs, or in the manifest as \"# `name`: ...\"",
        &places,
    );
}

#[test]
fn tests_use_time_to_wait_for_something() {
    let waits = [
        "recv_timeout",
        "deadline",
        "until",
        "Instant::now",
        "elapsed",
        "timeout",
    ];
    let idle = |s: &&Source| s.is_test() && find(&s.code, "sleep").next().is_some();
    let idle = sources()
        .iter()
        .filter(idle)
        .filter(|s| !waits.iter().any(|w| s.code.contains(w)));
    none(
        "a test waits for a condition with a deadline",
        &idle.map(|s| s.path.clone()).collect::<Vec<_>>(),
    );
}

#[test]
fn a_wrong_arrow_is_seen() {
    let facts = serde_json::json!({"name": "zonda-codec", "dependencies": [
        {"name": "bytes"}, {"name": "zonda-runtime", "path": "/x/runtime"}, {"name": "zonda-transport"},
    ]});
    let expected = [
        "zonda-codec depends on zonda-runtime",
        "zonda-codec depends on zonda-transport",
    ];
    assert_eq!(wrong_arrows(&facts, &[]), expected);
    assert_eq!(
        wrong_arrows(&facts, &["zonda-runtime", "zonda-transport"]),
        [""; 0]
    );
}
