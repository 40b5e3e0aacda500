// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many sockets a process may have open: each connection takes two descriptors at either end.

/// Raises this process's limit, and that of the programs it starts, as far as the system lets it. What is still too
/// little then shows as a connection that fails.
#[cfg(target_os = "linux")]
pub fn raise() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    // a system that refuses leaves the limit as it is
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

/// Elsewhere the limit is left as it is.
#[cfg(not(target_os = "linux"))]
pub fn raise() {}
