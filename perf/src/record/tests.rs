// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests: records survive their files, and other files are refused.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Better, Cell, Record, SCHEMA};

/// A temporary file, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("zonda-record-{name}-{}.json", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // a file left in a temporary folder does no harm
        let _ = fs::remove_file(&self.0);
    }
}

fn record() -> Record {
    let settings: Map<String, Value> = Map::from_iter([("rounds".to_owned(), json!(2))]);
    let mut record = Record::begin("thr", settings);
    let mut cell = Cell::new("zonda", "p2p").at("size", "B", 8.0);
    for rate in [2.5e6, 3.5e6, f64::NAN] {
        cell.add("rate", "msg/s", Better::Higher, rate);
    }
    record.cells.push(cell);
    let mut cell = Cell::new("zenoh", "p2p").at("size", "B", 8.0);
    cell.add("rate", "msg/s", Better::Higher, 1.0);
    cell.fail("it did not start");
    record.cells.push(cell);
    record
}

#[test]
fn a_record_survives_its_file() {
    let file = Scratch::new("whole");
    Record::reserve(&file.0).expect("a writable file");
    let record = record();
    record.write(&file.0).expect("a writable file");
    let read = Record::read(&file.0).expect("a record");
    assert_eq!(read, record);
    assert_eq!((read.schema, read.tool.as_str()), (SCHEMA, "thr"));
    let zonda = &read.cells[0];
    assert_eq!(zonda.median("rate"), Some(3.0e6));
    assert_eq!(zonda.metrics["rate"].rounds.len(), 2);
    assert_eq!(zonda.to_string(), "zonda p2p size 8 B");
    let zenoh = &read.cells[1];
    assert!(zenoh.metrics.is_empty() && zenoh.note.is_some());
}

#[test]
fn the_file_has_the_documented_form() {
    let file = Scratch::new("form");
    record().write(&file.0).expect("a writable file");
    let text = fs::read_to_string(&file.0).expect("text");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let cell = &value["cells"][0];
    assert_eq!(
        cell["x"],
        json!({"name": "size", "unit": "B", "value": 8.0})
    );
    let rate = json!({"unit": "msg/s", "better": "higher", "rounds": [2.5e6, 3.5e6]});
    assert_eq!(cell["metrics"]["rate"], rate);
    assert_eq!(value["cells"][1]["metrics"], json!({}));
    assert_eq!(value["settings"], json!({"rounds": 2}));
    for path in ["/machine/cores", "/build/version", "/build/profile"] {
        assert!(value.pointer(path).is_some_and(|v| !v.is_null()), "{path}");
    }
}

#[test]
fn other_files_are_refused_in_one_line() {
    let file = Scratch::new("other");
    for (text, words) in [
        ("", "no record"),
        ("{}", "no \"schema\""),
        (r#"{"schema": 7}"#, "has schema 7"),
        (r#"{"schema": 1, "tool": 3}"#, "no record"),
    ] {
        fs::write(&file.0, text).expect("a writable file");
        let told = Record::read(&file.0).expect_err(text).to_string();
        assert!(told.contains(words), "{told}");
        assert_eq!(told.lines().count(), 1);
    }
    let nowhere = Path::new("/no/such/folder/record.json");
    assert!(Record::read(nowhere).is_err() && Record::reserve(nowhere).is_err());
}
