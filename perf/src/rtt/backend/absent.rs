// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in for a backend that is not compiled in or that the platform lacks. The command line
//! never selects it, because its parser accepts only backends that are present.

use zonda_program::Failure;

use super::kind::Backend;
use crate::rtt::plan::{AnsweringSocket, AskingSocket, Ping};
use crate::rtt::samples::Recording;

/// Compile-time flag: the backend is absent.
pub const PRESENT: bool = false;

/// Fails: the backend is absent.
pub fn ping(backend: Backend, _: AskingSocket, _: Ping) -> Result<Recording, Failure> {
    Err(refusal(backend))
}

/// Fails: the backend is absent.
pub fn pong(backend: Backend, _: AnsweringSocket) -> Result<(), Failure> {
    Err(refusal(backend))
}

/// Fails: the backend is absent.
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
