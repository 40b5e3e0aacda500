// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of a program under callgrind, which writes a part each time the program enters a certain
//! function, and the sums of the parts.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use zonda_testkit::Folder;

/// Function at which a part ends and the next one begins.
const BOUNDARY: &str = "zonda_probe::boundary*";

/// Instructions of one part, by the program's own thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Instructions in the program itself.
    pub own: u64,
    /// Instructions of the C library that move or compare memory.
    pub memory: u64,
    /// Other instructions: the allocator's, which depend on the state of the heap, and those around
    /// system calls.
    pub other: u64,
    /// System calls.
    pub system_calls: u64,
}

/// Returns the version, or nothing if it is not installed.
pub fn version() -> Option<String> {
    let output = Command::new("valgrind").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|_| output.status.success())
}

/// Returns the output of `program`, and the instructions between each two calls of the boundary, in
/// their order.
pub fn run(program: &Path, arguments: &[&str]) -> (String, Vec<Spent>) {
    let folder = Folder::new(&arguments.concat().replace(['/', ' '], "_"));
    let parts = folder.path().join("part");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-systime=yes"])
        // the clock of a node ticks on a thread of its own
        .arg("--separate-threads=yes")
        .arg(format!("--dump-before={BOUNDARY}"))
        .arg(format!("--callgrind-out-file={}", parts.display()))
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("valgrind starts");
    assert!(output.status.success(), "{}", last_words(&output));
    let mut all = Vec::new();
    for number in 1.. {
        let file = format!("{}.{number}-01", parts.display());
        match fs::read_to_string(file) {
            Ok(text) => all.push(spent(&text, program)),
            Err(_) => break,
        }
    }
    (String::from_utf8_lossy(&output.stdout).into_owned(), all)
}

fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Adds up a part: lines of costs belong to the object named last, except lines that repeat the
/// cost of a called function.
fn spent(text: &str, program: &Path) -> Spent {
    // names are compressed: only their first occurrence is spelled out
    let program = program.display().to_string();
    let mut objects: HashMap<&str, bool> = HashMap::new();
    let mut functions: HashMap<&str, bool> = HashMap::new();
    let (mut is_own, mut is_memory, mut repeats) = (false, false, false);
    let mut sum = Spent::default();
    for line in text.lines() {
        // a function: a called one (`cfn`) only gets its name, another one becomes the current one
        if let Some((kind, function)) = line.split_once("fn=").filter(|(kind, _)| kind.len() < 2) {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            if !name.is_empty() {
                functions.insert(number, name.trim_start_matches('_').starts_with("mem"));
            }
            if kind.is_empty() {
                is_memory = functions.get(number).copied().unwrap_or_default();
            }
        // an object, in the same manner
        } else if let Some((kind, object)) =
            line.split_once("ob=").filter(|(kind, _)| kind.len() < 2)
        {
            let (number, name) = object.split_once(' ').unwrap_or((object, ""));
            if !name.is_empty() {
                objects.insert(number, name == program);
            }
            if kind.is_empty() {
                is_own = objects.get(number).copied().unwrap_or_default();
            }
        // the line after a call has the inclusive cost, which is skipped
        } else if line.starts_with("calls=") {
            repeats = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c))
            && !std::mem::take(&mut repeats)
        {
            let mut costs = line.split(' ').skip(1).map(|n| n.parse().unwrap_or(0));
            let instructions: u64 = costs.next().unwrap_or(0);
            match (is_own, is_memory) {
                (true, _) => sum.own += instructions,
                (false, true) => sum.memory += instructions,
                (false, false) => sum.other += instructions,
            }
            sum.system_calls += costs.next().unwrap_or(0);
        }
    }
    sum
}

#[test]
fn costs_go_to_the_object_that_spent_them() {
    let part = "version: 1\nevents: Ir sysCount sysTime\n\nob=(1) /bin/probe\nfl=(1) a.rs\nfn=(1) a\n10 5\n+1 7\n\
                cob=(2) /lib/libc.so.6\ncfn=(2) memcpy\ncalls=1 0\n+2 100 1 3\n\nob=(2)\nfn=(2)\n0 98\n* 2 1 3\n\n\
                fn=(4) malloc\n0 9\n\nob=(1)\nfn=(3) b\n-4 1\ntotals: 122 1 3\n";
    let spent = spent(part, Path::new("/bin/probe"));
    let expected = Spent {
        own: 13,
        memory: 100,
        other: 9,
        system_calls: 1,
    };
    assert_eq!(spent, expected);
}
