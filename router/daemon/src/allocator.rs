// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration of the C library's allocator, so that it returns large freed blocks to the system
//! at once.
//!
//! glibc maps blocks above a threshold one by one and unmaps them when they are freed, but it
//! raises the threshold, up to 32 MiB, each time a block above it is freed; smaller blocks stay in
//! a thread's heap. Under large messages of changing sizes a router with a budget of 128 MiB kept
//! 160 MiB in addition to 10 MiB in use; with a fixed threshold next to nothing. The threshold can
//! be fixed only from outside, or by unsafe code: so the daemon sets the variables that glibc
//! reads, and executes itself once more.

/// Executes this program again, in the same process, unless the variables are set. Returns if they
/// are set, and if the execution fails.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn settle() {
    use std::{env, os::unix::process::CommandExt, process::Command};
    // Minimum size of a mapped block; allocations of single messages in steady state are smaller.
    const MMAP_THRESHOLD: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");
    // Number of free bytes at the end of a heap from which glibc shrinks it.
    const TRIM_THRESHOLD: (&str, &str) = ("MALLOC_TRIM_THRESHOLD_", "8388608");
    let is_set = |name: &str| env::var_os(name).is_some();
    if is_set(MMAP_THRESHOLD.0) || is_set("GLIBC_TUNABLES") {
        return;
    }
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| program.clone().into());
    // `exec` returns only on failure; then the allocator keeps its defaults.
    let _ = Command::new(program)
        .arg0(name)
        .args(arguments)
        .envs([MMAP_THRESHOLD, TRIM_THRESHOLD])
        .exec();
}

/// Does nothing for other C libraries.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn settle() {}
