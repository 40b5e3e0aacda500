// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fork detection. A forked process has copies of its parent's memory and sockets but none of its
//! threads, so code that needs a thread must not run there: it would wait for ever.

/// A record of the process that created it.
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
    /// Records the calling process. The first call registers a handler with the system's `fork`.
    pub fn here() -> Self {
        let guard = forkguard::Guard::try_new()
            .inspect_err(|error| tracing::debug!("a fork would not be noticed: {error}"));
        Origin(guard.ok())
    }

    /// Returns true if the calling process was forked after this value was created. Costs a load
    /// from memory, no system call.
    ///
    /// Always false on systems without `fork`, and in a process made by the bare system call.
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.0
            .clone()
            .is_some_and(|mut guard| guard.detected_fork())
    }
}
