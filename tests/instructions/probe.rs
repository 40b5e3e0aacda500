// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured program: built with the optimisations of a release, and its cost per message in
//! each case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::callgrind;

/// Cost of one message in a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Instructions in the program itself.
    pub own: f64,
    /// Instructions of the C library that move or compare memory.
    pub memory: f64,
    /// Other instructions. They depend on the state of the heap, so they are on record but not
    /// compared.
    pub other: f64,
    /// System calls.
    pub system_calls: f64,
}

impl Cost {
    /// Returns the instructions that are the same each time.
    pub fn instructions(&self) -> f64 {
        self.own + self.memory
    }
}

/// Costs by case.
pub type Costs = BTreeMap<String, Cost>;

/// Returns the path of the built program. Builds it first, in the same target folder as the rest.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // target/<profile>/zonda
        let target = Path::new(env!("CARGO_BIN_EXE_zonda")).ancestors().nth(2);
        let target = target.expect("the command lies in a folder of a profile");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", "probe"])
            .args(["--package", "zonda-probe"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(built.success(), "the probe does not build");
        target.join("probe").join("zonda-probe")
    })
}

/// Returns the program's data about the processor: the target features of its build, and those the
/// C library detects.
pub fn processor() -> (String, String) {
    let output = Command::new(program()).arg("--about").output();
    let text = output.expect("the probe starts").stdout;
    let text = String::from_utf8(text).expect("text");
    let (compiled, found) = text.trim().split_once('\n').expect("two lines");
    (compiled.to_owned(), found.to_owned())
}

/// Counts the cases. Each has several parts of the same work; the cheapest one counts, as the extra
/// cost of the other parts comes from outside.
pub fn count(arguments: &[&str]) -> Costs {
    let (printed, spent) = callgrind::run(program(), arguments);
    let mut costs = Costs::new();
    for (index, line) in printed.lines().enumerate() {
        let (messages, case) = line.split_once(' ').expect("messages and case");
        let messages: f64 = messages.parse().expect("a number");
        // a part of preparation precedes each
        let part = spent.get(2 * index + 1).expect("a part for each line");
        let cost = Cost {
            own: part.own as f64 / messages,
            memory: part.memory as f64 / messages,
            other: part.other as f64 / messages,
            system_calls: part.system_calls as f64 / messages,
        };
        let known = costs.entry(case.to_owned()).or_insert(cost);
        if cost.instructions() < known.instructions() {
            *known = cost;
        }
    }
    assert!(!costs.is_empty(), "nothing was counted");
    costs
}

/// Returns the current costs of all cases.
pub fn costs() -> &'static Costs {
    static COSTS: OnceLock<Costs> = OnceLock::new();
    COSTS.get_or_init(|| count(&[]))
}
