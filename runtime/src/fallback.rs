// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs in place of io_uring where the system refuses it: tried before anything depends on it, reported once, or an
//! error if the configuration insists.

use std::io;

use crate::{AnyRuntime, RuntimeKind, RuntimeOptions, UringRuntime};

/// Starts io_uring, or what takes its place.
pub(crate) fn start_uring(options: &RuntimeOptions) -> io::Result<AnyRuntime> {
    let refusal = match UringRuntime::start(options) {
        Ok(runtime) => return Ok(AnyRuntime::Uring(runtime)),
        Err(refusal) => refusal,
    };
    // Options that do not fit are the user's to change, whatever runs.
    if options.uring_required || refusal.kind() == io::ErrorKind::InvalidInput {
        return Err(refusal);
    }
    let Some(substitute) = substitute() else {
        return Err(refusal);
    };
    tracing::warn!(
        "{refusal}; running on {substitute} instead (runtime_uring_required: true makes this an error)"
    );
    AnyRuntime::start(substitute, options)
}

/// The first other kind that is compiled in, if io_uring is.
fn substitute() -> Option<RuntimeKind> {
    RuntimeKind::available().find(|&kind| UringRuntime::COMPILED_IN && kind != RuntimeKind::Uring)
}

impl RuntimeKind {
    /// What [`AnyRuntime::start`] starts here and now when this kind is asked for, and why if that is another one:
    /// `uring` is tried, and another kind takes its place where the system refuses it and one is compiled in.
    ///
    /// # Errors
    /// Why nothing would start.
    pub fn effective(self) -> io::Result<(RuntimeKind, Option<String>)> {
        if !RuntimeKind::available().any(|kind| kind == self) {
            let names = RuntimeKind::available_names();
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("this runtime is not compiled in (compiled in: {names})"),
            ));
        }
        if self != RuntimeKind::Uring {
            return Ok((self, None));
        }
        match (UringRuntime::probe(), substitute()) {
            (Ok(()), _) => Ok((self, None)),
            (Err(refusal), Some(kind)) => Ok((kind, Some(refusal.to_string()))),
            (Err(refusal), None) => Err(refusal),
        }
    }
}
