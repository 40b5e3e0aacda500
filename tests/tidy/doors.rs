// SPDX-License-Identifier: MIT OR Apache-2.0
//! One exit for the text output of a program: lines of the log that a peer can cause pass a
//! `LogLimit`, and only the printer writes to standard output. A second exit without a guard has
//! let floods and control characters through.

use super::none;
use super::source::{Source, find, sources};

/// Crates that process input of peers.
const LIMITED: [&str; 4] = [
    "transport/src/",
    "router/config/src/",
    "router/src/",
    "router/table/src/",
];

/// Levels of lines that are visible by default, or with one `-v`.
const LEVELS: [&str; 3] = ["tracing::warn!", "tracing::info!", "tracing::error!"];

/// Field with the number of lines that were left out before: the result of `LogLimit::admit`.
const ADMITTED: &str = "{left_out}";

/// Lines that no peer can cause, or whose number another limit bounds: a file, words of the line,
/// and the reason.
const OWN: [(&str, &str, &str); 30] = [
    (
        "router/config/src/transport.rs",
        "no shared memory",
        "this node opens",
    ),
    (
        "router/src/peers/connect.rs",
        "Err(Some(failure)) => tracing::warn!(\"{failure}\")",
        "this node reloads its endpoints",
    ),
    (
        "router/src/peers/renewal.rs",
        "trying again in the background",
        "this node reloads its endpoints",
    ),
    (
        "router/src/peers/renewal.rs",
        "listening on {} now",
        "this node reloads its endpoints",
    ),
    (
        "router/src/peers/renewal.rs",
        "get the previous certificate",
        "this node reloads its certificates",
    ),
    (
        "transport/src/link/unixpipe.rs",
        "no invitations are read any more",
        "once: the thread ends",
    ),
    (
        "transport/src/link/tls/credentials.rs",
        "tracing::warn!(\"{concern}\")",
        "a file of this node has changed",
    ),
    (
        "transport/src/link/tls/credentials.rs",
        "get the renewed certificate",
        "a file of this node has changed",
    ),
    (
        "transport/src/link/tls/credentials.rs",
        "get the previous certificate",
        "a file of this node has changed",
    ),
    (
        "router/src/node/open.rs",
        "trying again in the background",
        "this node opens its endpoints",
    ),
    (
        "router/src/node/open.rs",
        "tracing::warn!(\"{error}\")",
        "this node opens its endpoints",
    ),
    (
        "router/src/node/open.rs",
        "waiting for it (connect/timeout_ms)",
        "this node opens its endpoints",
    ),
    (
        "router/src/node/open.rs",
        "searching on in the background",
        "this node opens its endpoints",
    ),
    (
        "router/src/peers/trust.rs",
        "may join as a router",
        "once: this node starts",
    ),
    (
        "router/src/node/limits.rs",
        "files may be open",
        "this node starts",
    ),
    (
        "router/src/peers/connect.rs",
        "{failure}; trying again",
        "this node dials, after longer and longer pauses",
    ),
    (
        "router/src/peers/connect.rs",
        "tracing::info!(\"{failure}\")",
        "this node dials, after longer and longer pauses",
    ),
    (
        "router/src/peers/connect.rs",
        "attempts that failed",
        "this node dials, after longer and longer pauses",
    ),
    (
        "router/src/peers/listen.rs",
        "TimeLimit::Once => tracing",
        "this node listens",
    ),
    (
        "router/src/peers/listen.rs",
        "waiting for it (listen/timeout_ms)",
        "this node listens",
    ),
    (
        "router/src/peers/listen.rs",
        "trying again in the background",
        "this node listens",
    ),
    (
        "router/src/peers/listen.rs",
        "listening on {endpoint} now",
        "this node listens",
    ),
    (
        "router/src/peers/events.rs",
        "cannot report connection events",
        "this node starts",
    ),
    (
        "router/src/peers/groups.rs",
        "joining it again",
        "this machine's socket has failed",
    ),
    (
        "router/src/peers/groups.rs",
        "in the group {} now",
        "this node joins",
    ),
    (
        "router/src/peers/finding.rs",
        "no scouting: {error}",
        "this node starts",
    ),
    (
        "router/src/scouting/service.rs",
        "scouting cannot be woken",
        "this node closes",
    ),
    (
        "router/src/scouting/service.rs",
        "scouting ends",
        "once: the thread ends",
    ),
    (
        "router/src/scouting/service.rs",
        "the interfaces are unknown",
        "this machine's interfaces",
    ),
    (
        "router/src/scouting/service.rs",
        "no scouting on {}",
        "this machine's interfaces have changed",
    ),
];

/// Path of the only file that writes to standard output.
const PRINTER: &str = "src/program/src/output.rs";

/// Calls that write to standard output.
const STDOUT: [&str; 3] = ["stdout()", "println!", "print!"];

/// Call that checks standard output, and writes nothing.
const ASKS: &str = "stdout().is_terminal()";

/// Folders that are no part of the product: build scripts, measured peers, and examples, which show
/// a user's code.
const NO_PRODUCT: [&str; 3] = ["peers/", "examples/", "/examples/"];

/// Returns each line of the log in `source`, as it is written, with its place.
fn lines(source: &Source) -> Vec<(String, String)> {
    let starts = LEVELS.iter().flat_map(|level| find(&source.product, level));
    let line = |at: usize| {
        let rest = &source.product[at..];
        let mut depth = 0;
        let end = rest.char_indices().find_map(|(index, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && depth == 0).then_some(index + 1)
        });
        // From the start of its own line, which contains the level.
        let begin = source.product[..at]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let text = &source.text[begin..at + end.unwrap_or(rest.len())];
        (
            source.place(at),
            text.split_whitespace().collect::<Vec<_>>().join(" "),
        )
    };
    starts.map(line).collect()
}

fn is_limited(line: &str) -> bool {
    line.contains(ADMITTED)
}

fn own(path: &str, line: &str) -> Option<usize> {
    OWN.iter()
        .position(|(file, words, _)| *file == path && line.contains(words))
}

fn prints(source: &Source) -> Vec<String> {
    let is_outside = source.path == PRINTER
        || source.path.ends_with("build.rs")
        || NO_PRODUCT
            .iter()
            .any(|part| source.path.starts_with(part) || source.path.contains(part));
    let writes = |at: &usize| !source.product[*at..].starts_with(ASKS);
    let places = STDOUT
        .iter()
        .flat_map(|word| find(&source.product, word))
        .filter(writes);
    let mut places: Vec<_> = places.map(|at| source.place(at)).collect();
    places.dedup();
    if is_outside { Vec::new() } else { places }
}

#[test]
fn lines_that_a_peer_can_cause_pass_a_limit() {
    let mut used = [false; OWN.len()];
    let mut places = Vec::new();
    let facing = sources()
        .iter()
        .filter(|source| LIMITED.iter().any(|folder| source.path.starts_with(folder)));
    for source in facing {
        for (place, line) in lines(source) {
            match own(&source.path, &line) {
                _ if is_limited(&line) => {}
                Some(index) => used[index] = true,
                None => places.push(format!("{place} {line}")),
            }
        }
        let shorter = [
            "use tracing::warn",
            "use tracing::{",
            "use tracing::info",
            "use tracing::error",
        ];
        places.extend(
            shorter
                .iter()
                .flat_map(|word| find(&source.product, word))
                .map(|at| {
                    format!(
                        "{} the macros are called by their whole name",
                        source.place(at)
                    )
                }),
        );
    }
    none(
        "a line of the log is admitted by a LogLimit, and says {left_out}",
        &places,
    );
    let unused = OWN.iter().zip(used).filter(|(_, used)| !used);
    let unused: Vec<_> = unused
        .map(|((path, words, _), _)| format!("{path} {words}"))
        .collect();
    none("an exception is of use", &unused);
}

#[test]
fn standard_output_has_one_printer() {
    let places: Vec<_> = sources().iter().flat_map(prints).collect();
    none(
        "what is printed goes through zonda_program::output",
        &places,
    );
    let printer = sources().iter().find(|source| source.path == PRINTER);
    let printer = printer.expect("the printer is there");
    assert!(find(&printer.product, "stdout()").next().is_some());
}

#[test]
fn doors_are_seen() {
    let source = |text| Source::new("router/src/x.rs", text);
    let open =
        source("fn a() {\n    tracing::warn!(\n        \"{} (b)\",\n        c()\n    );\n}\n");
    let lines = lines(&open);
    assert_eq!(
        lines,
        [(
            "router/src/x.rs:2".to_owned(),
            "tracing::warn!( \"{} (b)\", c() )".to_owned()
        )]
    );
    assert!(!is_limited(&lines[0].1) && is_limited("tracing::warn!(\"b{left_out}\")"));
    assert!(
        own(
            "router/src/peers/listen.rs",
            "TimeLimit::Once => tracing::warn!(\"{error}\")"
        )
        .is_some()
    );
    assert_eq!(
        prints(&source("fn a() { println!(); }")),
        ["router/src/x.rs:1"]
    );
    assert_eq!(
        prints(&source("fn a() { eprintln!(); out.print(); }")),
        [""; 0]
    );
}
