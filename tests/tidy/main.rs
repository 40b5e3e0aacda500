// SPDX-License-Identifier: MIT OR Apache-2.0
//! The house rules, as tests. Each rule reads the sources and names every place that breaks it, as `path:line`.
//!
//! The rules are in one file each; `source` and `lexer` give them the text to look at, and their own tests show
//! that they look: a rule that finds nothing to read fails instead of passing.
#![forbid(unsafe_code)]

mod api;
mod circles;
mod dependencies;
mod documents;
mod doors;
mod functions;
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
