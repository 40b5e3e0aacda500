// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this build is, for the report of a measurement and of `zonda info`.

/// The version of the project.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the compiler says of itself: `rustc 1.90.0 (...)`.
pub const RUSTC: &str = env!("ZONDA_RUSTC");

/// The profile: `debug` or `release`.
pub const PROFILE: &str = env!("ZONDA_PROFILE");

/// The platform, as the compiler names it.
pub const TARGET: &str = env!("ZONDA_TARGET");
