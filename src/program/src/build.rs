// SPDX-License-Identifier: MIT OR Apache-2.0
//! Identity of this build, for the report of a measurement and of `zonda info`.

/// The version of the project.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version of the compiler: `rustc 1.90.0 (...)`.
pub const RUSTC: &str = env!("ZONDA_RUSTC");

/// The profile: `debug` or `release`.
pub const PROFILE: &str = env!("ZONDA_PROFILE");

/// The platform, as the compiler names it.
pub const TARGET: &str = env!("ZONDA_TARGET");
