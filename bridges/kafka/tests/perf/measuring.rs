// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of `zonda-kafka perf` as a user starts it.

use std::process::Command;

use zonda_kafka::ingest::On;

const PROGRAM: &str = env!("CARGO_BIN_EXE_zonda-kafka");

/// Runs the command and returns its output.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the rows of its table, cell by cell.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|c| c.trim().to_owned())
            .collect()
    };
    lines.map(cells).collect()
}

/// A small run of the README's one command.
#[test]
fn the_table_has_every_server_and_its_files_every_figure() {
    let folder = std::env::temp_dir().join(format!("zonda-kafka-perf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (csv, json) = (folder.join("a.csv"), folder.join("a.json"));
    let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/measure"));
    command
        .env("ZONDA_KAFKA_BIN", PROGRAM)
        .args(["--mock", "--rounds", "1"]);
    command.args([
        "--seconds",
        "0.05",
        "--connections",
        "2",
        "--rate",
        "200",
        "--csv",
    ]);
    let text = output(command.arg(&csv).arg("--json").arg(&json));
    let rows = rows(&text);
    assert_eq!(rows.len(), 2 * On::all().len(), "{text}");
    for (row, on) in rows.iter().zip(On::all().iter().cycle()) {
        assert_eq!(row[2], on.to_string(), "{text}");
    }
    let csv = std::fs::read_to_string(csv).expect("a file");
    assert!(
        csv.contains("\nuring,connection per request,2,rate,req/s,1,"),
        "{csv}"
    );
    let json = std::fs::read_to_string(json).expect("a file");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (json["schema"].as_u64(), json["tool"].as_str()),
        (Some(1), Some("kafka"))
    );
    std::fs::remove_dir_all(folder).expect("the folder goes");
}

/// The study ran for ten minutes; here each server is under load, and a stall of half a minute
/// would fail.
#[test]
fn stalls_are_looked_for_on_every_server() {
    let mut command = Command::new(PROGRAM);
    command.args([
        "perf",
        "--mock",
        "--minutes",
        "0.01",
        "--connections",
        "2",
        "--stall-ms",
        "30000",
    ]);
    let text = output(&mut command);
    let rows = rows(&text);
    assert_eq!(rows.len(), On::all().len(), "{text}");
    for row in rows {
        assert_eq!(
            (&row[3][..], &row[5][..]),
            ("0", "0"),
            "no failure, no stall: {text}"
        );
    }
}

/// Each acknowledged message is in the topic after a clean end, and with the broker's acknowledgement after a kill.
#[test]
fn what_is_acknowledged_is_found_in_the_topic() {
    let mut command = Command::new(PROGRAM);
    command.args(["perf", "--mock", "--messages", "2000", "--connections", "4"]);
    let text = output(command.args(["--runtimes", "tokio,uring"]));
    let rows = rows(&text);
    assert_eq!(rows.len(), 6, "{text}");
    for row in rows.iter().filter(|row| !row[0].contains("queue, kill")) {
        assert_eq!(row[5], "0", "{text}");
    }
    assert_eq!(
        (&rows[0][1][..], &rows[0][3][..]),
        ("2000", "2000"),
        "{text}"
    );
}

#[test]
fn the_workers_are_not_shown() {
    let text = output(Command::new(PROGRAM).arg("--help"));
    assert!(
        text.contains("  perf ") && !text.contains("perf-server"),
        "{text}"
    );
}
