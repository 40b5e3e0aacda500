// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems on which this crate does not place threads.

use std::io;

use crate::Scheduling;

fn unsupported(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{what} of threads can be set on Linux only"),
    )
}

/// Fails: threads cannot be bound.
pub fn bind(_cpus: &[usize]) -> io::Result<()> {
    Err(unsupported("the cpus"))
}

/// Fails for every class but the inherited one.
pub fn schedule(class: Scheduling) -> io::Result<()> {
    match class {
        Scheduling::Inherit => Ok(()),
        _ => Err(unsupported("the scheduling class")),
    }
}
