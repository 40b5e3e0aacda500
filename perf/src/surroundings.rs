// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every measurement says around its rounds: what makes its figures worth less, and notes.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use zonda_program::{Failure, Interrupt};

use super::machine;

/// What Ctrl-C does, behind the length of a run.
pub const ENDS_EARLY: &str = "Ctrl-C ends it early and keeps what there is";

/// Takes over Ctrl-C.
pub fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::listen().map_err(|e| Failure::doing("catching Ctrl-C", e))
}

/// One line on standard error, for what is no failure.
pub fn note(text: &str) {
    // a closed standard error is no reason to stop
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Says what makes the figures worth less.
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

/// A file cannot be written; the flag `other` would name another one.
pub fn cannot_write(file: &Path, error: impl fmt::Display, other: &str) -> Failure {
    Failure::Run(format!(
        "cannot write {}: {error}; {other} writes elsewhere",
        file.display()
    ))
}
