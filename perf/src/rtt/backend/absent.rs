// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands where a backend is not compiled in, or where the platform has none. Nobody gets here by
//! the command line, which only understands the names of backends that are present.

use zonda_program::Failure;

use super::kind::Backend;
use crate::rtt::plan::{Doors, Ends, Ping};
use crate::rtt::samples::Recording;

/// It is not.
pub const PRESENT: bool = false;

/// Refuses.
pub fn ping(backend: Backend, _: Ends, _: Ping) -> Result<Recording, Failure> {
    Err(refusal(backend))
}

/// Refuses.
pub fn pong(backend: Backend, _: Doors) -> Result<(), Failure> {
    Err(refusal(backend))
}

/// Refuses.
#[cfg_attr(
    all(feature = "uring", target_os = "linux"),
    expect(dead_code, reason = "only io_uring can be there and not start")
)]
pub fn check(backend: Backend) -> Result<(), Failure> {
    Err(refusal(backend))
}

fn refusal(backend: Backend) -> Failure {
    Failure::Usage(format!("--backend {backend}: not compiled in"))
}
