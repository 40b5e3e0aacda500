// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules of the project, as tests. Each rule reads the sources and reports every violation, as
//! `path:line`.
//!
//! The rules are in one file each; `source` and `lexer` supply the text, and tests of the rules
//! show that they read it: a rule without input fails instead of passing.
#![forbid(unsafe_code)]

mod api;
mod circles;
mod dependencies;
mod documents;
mod doors;
mod functions;
mod grammar;
mod imports;
mod layout;
mod lexer;
mod sans_io;
mod source;
mod tokens;
mod words;

/// Fails with one line for each place.
fn none(rule: &str, places: &[String]) {
    assert!(
        places.is_empty(),
        "{rule}; {} times:\n  {}",
        places.len(),
        places.join("\n  ")
    );
}
