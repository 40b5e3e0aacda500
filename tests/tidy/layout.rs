// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files: their lengths, names and first lines.

use super::none;
use super::source::{Source, sources};

const LINES_MAX: usize = 800;
const TEST_LINES_MAX: usize = 1500;
const SPDX: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0";
const NAMELESS: [&str; 7] = [
    "util", "utils", "common", "helper", "helpers", "misc", "inner",
];

/// Path of the one file of the router that queues messages for neighbours.
const QUEUES: &str = "router/src/flow/deliver.rs";

fn too_long(source: &Source) -> Option<String> {
    let (lines, max) = (source.text.lines().count(), limit(source));
    (lines > max).then(|| format!("{} has {lines} lines, {max} are allowed", source.path))
}

fn limit(source: &Source) -> usize {
    if source.is_test() {
        TEST_LINES_MAX
    } else {
        LINES_MAX
    }
}

fn says_nothing(source: &Source) -> Option<String> {
    let stem = source.path.trim_end_matches(".rs");
    let name = stem.split('/').find(|part| NAMELESS.contains(part))?;
    Some(format!("{} is named {name}", source.path))
}

fn begins_wrong(source: &Source) -> Option<String> {
    let mut lines = source.text.lines();
    if lines.next() != Some(SPDX) {
        return Some(format!("{}:1 is not the licence line", source.path));
    }
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    let is_told = first.is_some_and(|line| line.starts_with("//!"));
    (!is_told).then(|| format!("{} does not begin with what it is for (//!)", source.path))
}

fn queues(source: &Source) -> bool {
    source.path.starts_with("router/src/") && source.product.contains("enqueue(")
}

#[test]
fn the_router_queues_messages_in_one_file() {
    let queueing = sources().iter().filter(|source| queues(source));
    let paths: Vec<_> = queueing.map(|source| source.path.as_str()).collect();
    assert_eq!(paths, [QUEUES]);
}

/// Folder of the state that all tasks of a node share.
const CORE: &str = "router/src/node/";

fn widens_the_core(source: &Source) -> bool {
    let is_router = source.path.starts_with("router/src/") && !source.path.starts_with(CORE);
    is_router && source.product.contains("impl Shared")
}

/// Code outside the core works on the parts of the state that it needs.
#[test]
fn the_shared_state_has_methods_in_the_core_only() {
    let outside = sources().iter().filter(|source| widens_the_core(source));
    let paths: Vec<_> = outside.map(|source| source.path.as_str()).collect();
    assert_eq!(paths, [""; 0]);
}

/// The one file that catches panics of the application's code.
const CATCHES: &str = "runtime/src/guard.rs";

#[test]
fn panics_are_caught_in_one_file() {
    let catching = sources()
        .iter()
        .filter(|source| !source.is_test() && source.product.contains("catch_unwind("));
    let paths: Vec<_> = catching.map(|source| source.path.as_str()).collect();
    assert_eq!(paths, [CATCHES]);
}

/// Blocks and implementations of unsafe code in the library for C. The number may fall.
const UNSAFE_IN_C: usize = 22;

/// Number of those in the package for Python, beside its one function.
const UNSAFE_IN_PYTHON: usize = 3;

/// Number of those in the crate of shared memory, all in one type.
const UNSAFE_IN_SHM: usize = 9;

/// Counts the blocks and implementations of unsafe code in a folder.
fn unsafe_in(folder: &str) -> usize {
    let own = sources()
        .iter()
        .filter(|source| source.path.starts_with(folder));
    let blocks = |source: &Source| {
        let words = ["unsafe {", "unsafe impl"];
        words
            .map(|word| source.product.matches(word).count())
            .iter()
            .sum::<usize>()
    };
    own.map(blocks).sum::<usize>()
}

#[test]
fn unsafe_code_of_the_library_for_c_does_not_grow() {
    assert_eq!(unsafe_in("bindings/c/src/"), UNSAFE_IN_C);
}

#[test]
fn unsafe_code_of_the_package_for_python_does_not_grow() {
    assert_eq!(unsafe_in("bindings/python/src/"), UNSAFE_IN_PYTHON);
}

#[test]
fn unsafe_code_of_shared_memory_is_in_one_file() {
    assert_eq!(unsafe_in("shm/src/map.rs"), UNSAFE_IN_SHM);
    assert_eq!(unsafe_in("shm/src/"), UNSAFE_IN_SHM);
}

#[test]
fn files_are_short() {
    none(
        "a file has one purpose",
        &sources().iter().filter_map(too_long).collect::<Vec<_>>(),
    );
}

#[test]
fn modules_are_named_after_what_they_hold() {
    none(
        "a name says something",
        &sources()
            .iter()
            .filter_map(says_nothing)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn files_begin_with_their_licence_and_their_purpose() {
    let places: Vec<_> = sources().iter().filter_map(begins_wrong).collect();
    none(
        "a file begins with the licence line and a //! paragraph",
        &places,
    );
}

#[test]
fn each_rule_of_layout_can_fail() {
    let source = |path, text: &str| Source::new(path, text);
    let lines = |count: usize| "\n".repeat(count);
    assert!(too_long(&source("a/src/x.rs", &lines(LINES_MAX + 1))).is_some());
    assert!(too_long(&source("a/src/x/tests.rs", &lines(LINES_MAX + 1))).is_none());
    assert!(too_long(&source("a/tests/x.rs", &lines(TEST_LINES_MAX + 1))).is_some());
    assert!(says_nothing(&source("a/src/util.rs", "")).is_some());
    assert!(says_nothing(&source("a/src/common/x.rs", "")).is_some());
    assert!(says_nothing(&source("a/src/commons.rs", "")).is_none());
    assert!(begins_wrong(&source("x.rs", "//! text\n")).is_some());
    let shared = |path| widens_the_core(&source(path, "impl Shared {\n}\n"));
    assert!(shared("router/src/flow/x.rs") && !shared("router/src/node/x.rs"));
    assert!(begins_wrong(&source("x.rs", &format!("{SPDX}\nfn a() {{}}\n"))).is_some());
    assert!(
        begins_wrong(&source(
            "x.rs",
            &format!("{SPDX}\n\n#![allow(x)]\n//! text\n")
        ))
        .is_none()
    );
}
