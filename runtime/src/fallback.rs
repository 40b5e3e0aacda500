// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fallback where the system refuses io_uring: tried before anything depends on io_uring,
//! reported once, or an error if the configuration requires io_uring.

use std::io;

use crate::{AnyRuntime, RuntimeKind, RuntimeOptions, UringRuntime};

/// Starts io_uring, or its substitute.
pub(crate) fn start_uring(options: &RuntimeOptions) -> io::Result<AnyRuntime> {
    let refusal = match UringRuntime::start(options) {
        Ok(runtime) => return Ok(AnyRuntime::Uring(runtime)),
        Err(refusal) => refusal,
    };
    // Options that do not fit are the user's mistake, whichever runtime starts.
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

/// Returns the first other kind that is compiled in, if io_uring is compiled in.
fn substitute() -> Option<RuntimeKind> {
    RuntimeKind::available().find(|&kind| UringRuntime::COMPILED_IN && kind != RuntimeKind::Uring)
}

impl RuntimeKind {
    /// Returns the kind that [`AnyRuntime::start`] would start now for this kind, and the reason if
    /// it is another one: `uring` is tried, and another kind replaces it where the system refuses
    /// it and one is compiled in.
    ///
    /// # Errors
    /// Fails with the reason why no runtime would start.
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
