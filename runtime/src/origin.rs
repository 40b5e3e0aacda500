// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which process a thing belongs to. A process that is forked off has copies of its parent's memory and sockets but
//! none of its threads, so what needs a thread must not be used there: it would wait for ever.

/// Remembers the process that it was made in.
///
/// ```
/// use zonda_runtime::Origin;
///
/// let origin = Origin::here();
/// assert!(!origin.is_elsewhere());
/// ```
#[derive(Debug, Clone)]
pub struct Origin(Option<forkguard::Guard>);

impl Origin {
    /// The process that calls. The first call registers a handler with the system's `fork`.
    pub fn here() -> Self {
        let guard = forkguard::Guard::try_new()
            .inspect_err(|error| tracing::debug!("a fork would not be noticed: {error}"));
        Origin(guard.ok())
    }

    /// Whether the calling process was forked off after this was made. Costs a load from memory, no system call.
    ///
    /// Where there is no `fork`, and for a process made by the bare system call, the answer is no.
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.0
            .clone()
            .is_some_and(|mut guard| guard.detected_fork())
    }
}
