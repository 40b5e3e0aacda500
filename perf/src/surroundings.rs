// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages around the rounds of a measurement: warnings about its environment, and notes.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use zonda_program::{Failure, Interrupt};

use super::machine;

/// The text about Ctrl-C after the length of a run.
pub const ENDS_EARLY: &str = "Ctrl-C ends it early and keeps what there is";

/// Catches Ctrl-C.
pub fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::listen().map_err(|e| Failure::doing("catching Ctrl-C", e))
}

/// Prints one line on standard error that is not a failure.
pub fn note(text: &str) {
    // a closed standard error is no reason to stop
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Warns of conditions that make the figures less reliable.
pub fn warn_of_surroundings() {
    if cfg!(debug_assertions) {
        note("this is a debug build; for real figures build with --release");
    }
    let load = machine::load_average()
        .and_then(|l| l.first().copied())
        .unwrap_or(0.0);
    if load > 0.3 * machine::cores() as f64 {
        note(&format!(
            "load average {load:.1} on {} CPUs: other programs disturb these figures",
            machine::cores()
        ));
    }
}

/// Returns the error of a file that cannot be written; the flag `other` selects another file.
pub fn cannot_write(file: &Path, error: impl fmt::Display, other: &str) -> Failure {
    Failure::Run(format!(
        "cannot write {}: {error}; {other} writes elsewhere",
        file.display()
    ))
}
