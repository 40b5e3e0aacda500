// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limits on open files and sockets of this process.
//! [`zonda_transport::link::Protocol::descriptors`] is the number that a connection needs.

/// Descriptors reserved for all else: listening sockets, the runtime, the log, files of the
/// application.
pub(crate) const SPARE: usize = 128;

/// Returns the current limit; `None` if there is none or the system does not report one.
#[must_use]
pub fn limit() -> Option<u64> {
    imp::limit()
}

/// Raises the soft limit to the hard one, which needs no privilege. Returns both limits, before and
/// after, if it changed.
///
/// Only programs that run a node call it, not the library: an application may depend on small
/// descriptors, for example if it uses `select`.
pub fn raise() -> Option<(u64, u64)> {
    imp::raise()
}

/// Returns the number of open descriptors, if the system reports it.
pub(crate) fn used() -> Option<u64> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    u64::try_from(open.count()).ok()
}

#[cfg(unix)]
mod imp {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    pub(super) fn limit() -> Option<u64> {
        getrlimit(Resource::Nofile).current
    }

    pub(super) fn raise() -> Option<(u64, u64)> {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let before = current?;
        if maximum == current {
            return None;
        }
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        setrlimit(Resource::Nofile, raised).ok()?;
        Some((before, maximum.unwrap_or(u64::MAX)))
    }
}

#[cfg(not(unix))]
mod imp {
    pub(super) fn limit() -> Option<u64> {
        None
    }

    pub(super) fn raise() -> Option<(u64, u64)> {
        None
    }
}
