// SPDX-License-Identifier: MIT OR Apache-2.0

//! Has the C library give large blocks back to the system as soon as they are freed.
//!
//! glibc takes blocks above a threshold from the system and gives them back, but raises the threshold, up to 32 MiB, each
//! time a block above it is freed; smaller ones stay in the heap of a thread. Under large messages of changing sizes a
//! router with a budget of 128 MiB kept 160 MiB beside 10 MiB in use; with a fixed threshold next to nothing. It can only
//! be fixed from outside, or by unsafe code: so the daemon sets the variables that glibc reads, and starts itself once more.

/// Starts this program again, in the same process, unless the variables are set. Returns when they are, and when that is not
/// possible.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(super) fn settle() {
    use std::{env, os::unix::process::CommandExt, process::Command};
    // A block of so many bytes comes from the system: nothing that is needed for each message is as large.
    const MMAP_THRESHOLD: (&str, &str) = ("MALLOC_MMAP_THRESHOLD_", "1048576");
    // With so many free bytes at its end a heap becomes smaller.
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
    // It only comes back if it fails; then memory stays as it is.
    let _ = Command::new(program)
        .arg0(name)
        .args(arguments)
        .envs([MMAP_THRESHOLD, TRIM_THRESHOLD])
        .exec();
}

/// Other C libraries are left as they are.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn settle() {}
