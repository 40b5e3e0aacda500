// SPDX-License-Identifier: MIT OR Apache-2.0

//! `SIGPIPE`: a write to a closed pipe or socket is an error, not the end of the program. Programs in
//! Rust get that from the standard library before their `main`; for C programs this library does it
//! when it is loaded.

#![cfg(unix)]

use std::ffi::c_int;

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
}

/// The number of the signal, which all Unix systems share.
const SIGPIPE: c_int = 13;
/// The handler that ignores a signal.
const SIG_IGN: usize = 1;

extern "C" fn ignore_sigpipe() {
    // SAFETY: the C library is initialised before the constructors of the libraries that need it, and
    // both numbers are those of its header.
    unsafe { signal(SIGPIPE, SIG_IGN) };
}

// SAFETY: the loader calls each function of this section once, without arguments that matter.
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[used]
static AT_LOAD: extern "C" fn() = ignore_sigpipe;
