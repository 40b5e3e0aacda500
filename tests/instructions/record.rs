// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts on record, and the conditions of their measurement: `benches/instructions.json`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::callgrind;
use super::probe::{self, Cost, Costs};

/// Maximum deviation of a count from the recorded one, either way.
pub const BOUND_PERCENT: f64 = 2.0;
/// Maximum deviation of a count close to zero.
const LEAST: f64 = 0.02;

/// Conditions that counts depend on in addition to the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub rustc: String,
    pub compiled_for: String,
    pub libc: String,
    pub processor: String,
    pub valgrind: String,
}

impl Surroundings {
    /// Returns the conditions of this machine.
    pub fn here() -> Self {
        let (compiled_for, processor) = probe::processor();
        Surroundings {
            rustc: said("rustc", &["--version"]),
            compiled_for,
            libc: said("getconf", &["GNU_LIBC_VERSION"]),
            processor,
            valgrind: callgrind::version().unwrap_or_default(),
        }
    }

    fn of(record: &Value) -> Self {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        Surroundings {
            rustc: text("rustc"),
            compiled_for: text("compiled_for"),
            libc: text("libc"),
            processor: text("processor"),
            valgrind: text("valgrind"),
        }
    }

    /// Returns a difference that makes the program's own instructions incomparable.
    pub fn differs(&self, recorded: &Self) -> Option<String> {
        let pairs = [
            (&self.rustc, &recorded.rustc),
            (&self.compiled_for, &recorded.compiled_for),
        ];
        difference(pairs)
    }

    /// Returns a difference that makes the C library's instructions incomparable.
    pub fn library_differs(&self, recorded: &Self) -> Option<String> {
        let pairs = [
            (&self.libc, &recorded.libc),
            (&self.processor, &recorded.processor),
        ];
        difference(pairs)
    }
}

fn difference(pairs: [(&String, &String); 2]) -> Option<String> {
    let differing = pairs.into_iter().find(|(here, recorded)| here != recorded);
    differing.map(|(here, recorded)| format!("{here:?} here, {recorded:?} on record"))
}

/// Returns the first line that a program prints, or nothing.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let text = text.unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json")
}

/// Returns the counts on record, and the conditions of their measurement.
pub fn read() -> (Surroundings, Costs) {
    let text = fs::read_to_string(file()).expect("benches/instructions.json");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let counts = record["per_message"].as_object().expect("counts");
    let figure = |case: &Value, name: &str| case[name].as_f64().expect("a figure");
    let cost = |case: &Value| Cost {
        own: figure(case, "own"),
        memory: figure(case, "memory"),
        other: figure(case, "other"),
        system_calls: figure(case, "system_calls"),
    };
    let costs = counts.iter().map(|(name, case)| (name.clone(), cost(case)));
    (Surroundings::of(&record), costs.collect())
}

/// Records these counts.
pub fn write(here: &Surroundings, costs: &Costs) {
    let rounded = |figure: f64| (figure * 1e4).round() / 1e4;
    let case = |cost: &Cost| {
        json!({
            "own": rounded(cost.own), "memory": rounded(cost.memory),
            "other": rounded(cost.other), "system_calls": rounded(cost.system_calls),
        })
    };
    let counts = costs.iter().map(|(name, cost)| (name.clone(), case(cost)));
    let record = json!({
        "what": "instructions and system calls per message; benches/instructions.sh --record writes this file",
        "rustc": here.rustc,
        "compiled_for": here.compiled_for,
        "libc": here.libc,
        "processor": here.processor,
        "valgrind": here.valgrind,
        "per_message": Value::Object(counts.collect::<Map<_, _>>()),
    });
    fs::write(file(), format!("{record:#}\n")).expect("benches/instructions.json is writable");
}

/// Returns true if a figure deviates from the recorded one by more than the bound.
pub fn is_off(figure: f64, recorded: f64) -> bool {
    (figure - recorded).abs() > (recorded * BOUND_PERCENT / 100.0).max(LEAST)
}

#[test]
fn a_figure_is_off_in_both_directions() {
    assert!(!is_off(101.9, 100.0) && !is_off(98.1, 100.0));
    assert!(is_off(102.1, 100.0) && is_off(97.9, 100.0));
    assert!(!is_off(0.01, 0.0) && is_off(1.0, 0.0007));
}
