// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many files and sockets this process may have open. How many of them a connection takes says
//! [`zonda_transport::link::Protocol::descriptors`].

/// Descriptors that are left for everything else: listening sockets, the runtime, the log, files of the application.
pub(crate) const SPARE: usize = 128;

/// How many may be open now; `None` where there is no limit or the system does not tell.
#[must_use]
pub fn limit() -> Option<u64> {
    imp::limit()
}

/// Raises the soft limit to the hard one, which needs no right. Gives both limits, before and after, if it changed.
///
/// For a program that is a node; not called by the library: an application may depend on small descriptors, as those
/// that use `select` do.
pub fn raise() -> Option<(u64, u64)> {
    imp::raise()
}

/// How many are open now, where the system tells.
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
