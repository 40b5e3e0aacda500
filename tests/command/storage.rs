// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda storage`: copies of a storage, its check, and a smaller file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use zonda_testkit::Folder;

use super::program::{Ended, Running, run, zonda};

fn storage(arguments: &[&str]) -> Ended {
    run(&zonda(), &[&["storage"][..], arguments].concat())
}

#[track_caller]
fn done(arguments: &[&str]) -> Ended {
    let ended = storage(arguments);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    ended
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, words: &[&str]) {
    let ended = storage(arguments);
    let is_one_line = ended.err.lines().count() == 1 && ended.err.starts_with("error: ");
    let has_all = words.iter().all(|words| ended.err.contains(words));
    assert!(
        ended.code == Some(code) && is_one_line && has_all,
        "{arguments:?}: {ended:?}"
    );
}

/// Starts a router with a storage in this folder; returns it with its address.
fn router(folder: &str) -> (Running, String) {
    let storage = format!(
        "plugins/storage_manager:{{storages: {{s: {{key_expr: 'demo/**', strip_prefix: 'demo', \
         volume: {{id: 'redb', dir: {folder:?}}}}}}}}}"
    );
    let arguments = [
        "router",
        "--json",
        "--no-multicast-scouting",
        "-l",
        "tcp/127.0.0.1:0",
        "--cfg",
        &storage,
    ];
    let mut router = Running::start(&zonda(), &arguments);
    let ready: Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("it listens");
    let address = address.to_owned();
    (router, address)
}

/// Writes a recording with these messages, each with its key, its time and its payload.
fn recording(file: &str, messages: &[(&str, u64, Option<&str>)]) {
    let mut text = json!({"zonda_recording": 1, "key": "**"}).to_string() + "\n";
    for (key, at, payload) in messages {
        let time = (1_700_000_000 + at) << 32;
        let line = json!({
            "at": *at, "key": key, "delete": payload.is_none(), "payload": payload.unwrap_or(""),
            "encoding": "text/plain", "timestamp": format!("{time}/7"), "priority": 5,
        });
        text += &(line.to_string() + "\n");
    }
    fs::write(file, text).expect("a recording");
}

/// Returns the kinds, keys and payloads of a recording.
fn content(file: &str) -> Vec<String> {
    let text = fs::read_to_string(file).expect("a recording");
    let each = text.lines().skip(1).map(|line| {
        let message: Value = serde_json::from_str(line).expect("JSON");
        assert!(message["timestamp"].is_string(), "{line}");
        let kind = match message["delete"] == true {
            true => "DEL",
            false => "PUT",
        };
        let (key, payload) = (&message["key"], &message["payload"]);
        let (key, payload) = (key.as_str(), payload.as_str());
        let (key, payload) = (key.expect("a key"), payload.unwrap_or("bytes"));
        format!("{kind} {key} {payload}")
    });
    each.collect()
}

#[test]
fn what_a_router_stored_is_exported_and_imported_again() {
    let folder = Folder::new("storage");
    let [stored, backup] = ["stored", "backup.jsonl"].map(|name| folder.file(name));
    let (mut running, address) = router(&stored);
    let client = ["-m", "client", "-e", &address];
    for words in [
        &["put", "demo/a", "1", "--encoding", "text/json"][..],
        &["put", "demo/b", "--hex", "00ff"],
        &["put", "demo/c", "gone"],
        &["delete", "demo/c"],
        &["put", "demo/w/x", "old"],
        &["put", "demo/w/*", "all"],
    ] {
        let done = run(&zonda(), &[words, &client].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    // The router has the folder: one line names the file, and what to do.
    let in_use = ["storage.redb is in use", "stop the router"];
    for command in ["check", "export", "compact"] {
        refused(&[command, &stored], 1, &in_use);
    }
    recording(&backup, &[]);
    refused(&["import", &stored, &backup], 1, &in_use);
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(0));

    let prefix = ["--prefix", "demo"];
    let exported = done(&[&["export", &stored, "-o", &backup][..], &prefix].concat());
    assert!(
        exported.err.starts_with("exported 5 messages ("),
        "{exported:?}"
    );
    let expected = [
        "PUT demo/a 1",
        "PUT demo/b bytes",
        "DEL demo/c ",
        "PUT demo/w/x all",
        "PUT demo/w/* all",
    ];
    assert_eq!(content(&backup), expected);
    let text = fs::read_to_string(&backup).expect("a recording");
    assert!(
        text.contains("\"encoding\":\"text/json\"") && text.contains("\"payload_base64\":\"AP8=\"")
    );
    // Both volumes give the same recording again.
    for volume in ["redb", "fs"] {
        let [copy, again] =
            ["copy", "again.jsonl"].map(|name| folder.file(&format!("{volume}-{name}")));
        let import = ["import", &copy, &backup, "--volume", volume];
        let imported = done(&[&import[..], &prefix].concat());
        let counts = "imported 5 messages: 5 taken, 0 older than what is stored, 0 left out";
        assert_eq!(imported.err, counts);
        done(&[&["export", &copy, "-o", &again][..], &prefix].concat());
        assert_eq!(fs::read_to_string(&again).expect("a recording"), text);
    }
    // A router serves what was imported.
    let (_running, address) = router(&folder.file("redb-copy"));
    let got = run(
        &zonda(),
        &["get", "demo/**", "-m", "client", "-e", &address],
    );
    for line in ["PUT demo/a: 1", "PUT demo/w/x: all"] {
        assert!(got.out.contains(line), "{got:?}");
    }
    assert!(!got.out.contains("demo/c"), "{got:?}");
}

#[test]
fn an_export_is_replayed() {
    let folder = Folder::new("storage");
    let [stored, walk, backup] =
        ["stored", "walk.jsonl", "backup.jsonl"].map(|name| folder.file(name));
    recording(
        &walk,
        &[
            ("demo/a", 1, Some("1")),
            ("demo/b", 86_400, Some("2")),
            ("demo/b", 90_000, None),
        ],
    );
    done(&["import", &stored, &walk]);
    done(&["export", &stored, "-o", &backup]);
    let mut sub = Running::start(
        &zonda(),
        &[
            "sub",
            "demo/**",
            "-n",
            "2",
            "--json",
            "-l",
            "tcp/127.0.0.1:0",
        ],
    );
    let ready: Value = serde_json::from_str(&sub.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("it listens");
    let replayed = run(
        &zonda(),
        &["replay", &backup, "--fast", "-m", "client", "-e", address],
    );
    assert_eq!(
        (replayed.code, replayed.own_errors()),
        (Some(0), vec!["published 2 messages"])
    );
    let mut next = || serde_json::from_str::<Value>(&sub.line()).expect("a JSON line");
    let (first, second) = (next(), next());
    assert_eq!(
        (&first["kind"], &first["key"], &first["payload"]),
        (&json!("PUT"), &json!("demo/a"), &json!("1"))
    );
    assert_eq!(
        (&second["kind"], &second["key"]),
        (&json!("DELETE"), &json!("demo/b"))
    );
}

#[test]
fn an_import_overwrites_nothing_newer() {
    let folder = Folder::new("storage");
    let [stored, walk, backup] =
        ["stored", "walk.jsonl", "backup.jsonl"].map(|name| folder.file(name));
    recording(
        &walk,
        &[("a", 5, Some("new")), ("b", 5, None), ("c", 1, Some("old"))],
    );
    done(&["import", &stored, &walk]);
    recording(
        &walk,
        &[
            ("a", 4, Some("old")),
            ("b", 4, Some("old")),
            ("c", 2, Some("new")),
            ("d", 1, Some("other")),
        ],
    );
    let imported = done(&["import", &stored, &walk]);
    assert!(imported.err.contains("2 taken, 2 older"), "{imported:?}");
    // Former values are kept only where the user wants them.
    done(&["export", &stored, "-o", &backup]);
    assert_eq!(
        content(&backup),
        ["PUT d other", "PUT c new", "PUT a new", "DEL b "]
    );
    done(&["import", &stored, &walk, "--history"]);
    done(&["export", &stored, "-o", &backup]);
    assert_eq!(
        content(&backup),
        [
            "PUT d other",
            "PUT c new",
            "PUT a old",
            "PUT b old",
            "PUT a new",
            "DEL b "
        ]
    );
    // Keys without the prefix are left out.
    let imported = done(&["import", &folder.file("other"), &walk, "--prefix", "a"]);
    assert!(
        imported.err.contains("strip_prefix") && imported.err.ends_with("3 left out"),
        "{imported:?}"
    );
}

#[test]
fn a_check_counts_what_is_there() {
    let folder = Folder::new("storage");
    let [stored, walk] = ["stored", "walk.jsonl"].map(|name| folder.file(name));
    recording(
        &walk,
        &[
            ("a", 0, Some("12345")),
            ("b", 1, Some("x")),
            ("b", 2, None),
            ("a/**", 3, None),
            ("c", 9, Some("")),
        ],
    );
    done(&["import", &stored, &walk, "--history"]);
    let checked = done(&["check", &stored]);
    let rows: Vec<String> = checked
        .out
        .lines()
        .map(|line| line.replace(' ', ""))
        .collect();
    let row = |name: &str, counts: &str, oldest: u32, newest: u32| {
        let [oldest, newest] =
            [oldest, newest].map(|second| format!("2023-11-14T22:13:{second}.000000Z"));
        let wanted = format!("|{name}|{counts}|{oldest}|{newest}|");
        assert!(rows.contains(&wanted), "no {wanted} in {rows:#?}");
    };
    row("keys", "1|0", 29, 29);
    row("tombstones", "2|0", 22, 23);
    row("wildcards", "1|0", 23, 23);
    row("history", "3|6", 20, 29);
}

#[test]
fn damage_is_one_line_and_exit_code_one() {
    let folder = Folder::new("storage");
    let [stored, walk] = ["stored", "walk.jsonl"].map(|name| folder.file(name));
    let keys: Vec<String> = (0..2000).map(|number| format!("name/{number}")).collect();
    let messages: Vec<_> = keys
        .iter()
        .map(|key| (key.as_str(), 1, Some("value")))
        .collect();
    recording(&walk, &messages);
    done(&["import", &stored, &walk]);
    let file = Path::new(&stored).join("storage.redb");
    let mut bytes = fs::read(&file).expect("a database");
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(b"name/77"));
    bytes[at.expect("a key") + 5] = b'x';
    fs::write(&file, &bytes).expect("it is ours");
    refused(
        &["check", &stored],
        1,
        &["storage.redb is damaged", "restore it"],
    );
    assert!(
        fs::read(&file).expect("a database") == bytes,
        "a check only reads"
    );
    fs::write(&file, b"something else").expect("it is ours");
    refused(&["check", &stored], 1, &["storage.redb is damaged"]);
}

#[test]
fn a_compacted_storage_is_smaller_and_has_the_same_content() {
    let folder = Folder::new("storage");
    let [stored, walk, before, after] =
        ["stored", "walk.jsonl", "before.jsonl", "after.jsonl"].map(|name| folder.file(name));
    let keys: Vec<String> = (0..500).map(|number| format!("name/{number}")).collect();
    let large = "x".repeat(10_000);
    let messages: Vec<_> = keys
        .iter()
        .map(|key| (key.as_str(), 1, Some(large.as_str())))
        .collect();
    recording(&walk, &messages);
    done(&["import", &stored, &walk]);
    recording(
        &walk,
        &[
            ("name/4", 3, Some("kept")),
            ("name/$*7", 2, None),
            ("name/$*1", 2, Some("")),
        ],
    );
    done(&["import", &stored, &walk]);
    recording(&walk, &[("name/**", 3, Some("small"))]);
    done(&["import", &stored, &walk]);
    done(&["export", &stored, "-o", &before]);
    let size = || {
        fs::metadata(Path::new(&stored).join("storage.redb"))
            .expect("a database")
            .len()
    };
    let was = size();
    let compacted = done(&["compact", &stored]);
    let expected = format!("{was} bytes before, {} bytes after", size());
    assert!(
        compacted.out.ends_with(&expected),
        "{compacted:?}, {expected}"
    );
    assert!(size() < was * 3 / 4, "{compacted:?}");
    done(&["export", &stored, "-o", &after]);
    assert!(content(&before) == content(&after));
}

#[test]
fn a_folder_without_a_storage_and_a_file_that_is_no_recording_are_refused() {
    let folder = Folder::new("storage");
    let [stored, walk, by_hand] = ["stored", "walk.jsonl", "by-hand"].map(|name| folder.file(name));
    for command in ["check", "export", "compact"] {
        refused(&[command, &stored], 1, &["has no storage", "`dir`"]);
    }
    refused(
        &["check", &stored, "--volume", "memory"],
        2,
        &["no volume \"memory\"", "redb, fs"],
    );
    fs::write(&walk, "no recording\n").expect("it is ours");
    refused(&["import", &stored, &walk], 1, &["walk.jsonl:1: "]);
    assert!(!Path::new(&stored).exists(), "nothing is created for it");
    // A message that is none ends an import, and what was before it is stored.
    recording(&walk, &[("a", 1, Some("1"))]);
    let text = fs::read_to_string(&walk).expect("a recording")
        + "{\"at\":1,\"key\":\"b//c\",\"payload\":\"\"}\n";
    fs::write(&walk, text).expect("it is ours");
    let ended = storage(&["import", &stored, &walk]);
    assert!(
        ended.code == Some(1)
            && ended.err.contains("1 taken")
            && ended.err.contains("walk.jsonl:3: "),
        "{ended:?}"
    );
    // Files of other programs can be exported.
    fs::create_dir_all(&by_hand).expect("a folder");
    fs::write(Path::new(&by_hand).join("x.json"), "{}").expect("a file");
    let exported = done(&["export", &by_hand, "--volume", "fs"]);
    assert!(
        exported.out.contains("\"encoding\":\"application/json\""),
        "{exported:?}"
    );
    assert_eq!(
        fs::read_dir(&by_hand).expect("a folder").count(),
        1,
        "it only reads"
    );
}

/// Writes a configuration with the storages `data` and `copy` in this folder, and `none` in memory;
/// returns its path.
fn configuration(folder: &Folder) -> String {
    let storage = |name: &str| {
        format!(
            "{name}: {{key_expr: 'demo/**', strip_prefix: 'demo', history: {{}},
                volume: {{id: 'redb', dir: {:?}, on_closure: 'destroy_db'}}}}",
            folder.path().join(name)
        )
    };
    let storages = [
        storage("data"),
        storage("copy"),
        "none: {key_expr: 'x', volume: 'memory'}".to_owned(),
    ];
    let storages = storages.join(", ");
    let text = format!("{{plugins: {{storage_manager: {{storages: {{{storages}}}}}}}}}");
    let file = folder.path().join("router.json5");
    fs::write(&file, text).expect("a folder");
    file.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_configuration_and_a_name_stand_for_a_folder() {
    let folder = Folder::new("storage-config");
    let file = configuration(&folder);
    let backup = folder.path().join("backup.jsonl");
    let backup = backup.to_str().expect("UTF-8");
    recording(
        backup,
        &[
            ("demo/a", 1, Some("1")),
            ("demo/a", 2, Some("2")),
            ("other", 1, Some("3")),
        ],
    );
    let of_data = ["--config", &file, "--storage", "data"];
    let with = |first: &[&str]| done(&[first, &of_data[..]].concat());
    let import = with(&["import", backup]);
    let words = "2 taken, 0 older than what is stored, 1 left out";
    assert!(import.err.contains(words), "{import:?}");
    // The command destroys nothing, whatever the storage does at its closure.
    let check = with(&["check"]);
    assert!(check.out.contains("history"), "{check:?}");
    let export = with(&["export"]);
    assert!(export.out.contains("\"demo/a\""), "{export:?}");
    with(&["compact"]);
    assert!(folder.path().join("data/storage.redb").exists());
}

#[test]
fn a_configuration_without_that_storage_is_refused() {
    let folder = Folder::new("storage-config");
    let file = configuration(&folder);
    let of = |name: &'static str| ["check", "--config", &file, "--storage", name];
    refused(&of("copy"), 1, &["storage copy has no data in"]);
    refused(&of("none"), 2, &["volume memory"]);
    refused(
        &of("nine"),
        2,
        &["router.json5", "no storage \"nine\", only copy, data, none"],
    );
    refused(&of("nine")[..3], 2, &["--storage"]);
    refused(&["check"], 2, &["DIR"]);
    let both = [&of("data")[..], &["folder"]].concat();
    refused(&both, 2, &["--config"]);
}
