// SPDX-License-Identifier: MIT OR Apache-2.0
//! The backends by name, and the dispatch to them. Each is a file that calls its runtime's own
//! sockets, timers and tasks; one that is not compiled in is [`absent`], so that the dispatch is
//! the same for all features.

#[cfg(not(all(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    feature = "uring",
    target_os = "linux"
)))]
mod absent;
#[cfg(feature = "async-std")]
mod async_std;
mod blocking;
mod kind;
#[cfg(any(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    all(feature = "uring", target_os = "linux")
))]
mod sides;
#[cfg(feature = "smol")]
mod smol;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "tokio")]
#[cfg_attr(not(target_os = "linux"), path = "tokio_timer/portable.rs")]
#[cfg_attr(target_os = "linux", path = "tokio_timer/linux.rs")]
mod tokio_timer;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;

#[cfg(not(feature = "async-std"))]
use absent as async_std;
#[cfg(not(feature = "smol"))]
use absent as smol;
#[cfg(not(feature = "tokio"))]
use absent as tokio;
#[cfg(not(all(feature = "uring", target_os = "linux")))]
use absent as uring;

use std::str::FromStr;

use zonda_program::Failure;

use super::plan::{AnsweringSocket, AskingSocket, Ping};
use super::samples::Recording;

impl Backend {
    /// Returns true if this program contains the backend.
    pub fn is_present(self) -> bool {
        match self {
            Backend::Tokio | Backend::TokioCurrent => tokio::PRESENT,
            Backend::Smol => smol::PRESENT,
            Backend::AsyncStd => async_std::PRESENT,
            Backend::Std => blocking::PRESENT,
            Backend::Uring => uring::PRESENT,
        }
    }

    /// Returns the backends that this program contains, in the order of the tables.
    pub fn present() -> Vec<Backend> {
        Self::ALL.into_iter().filter(|b| b.is_present()).collect()
    }

    /// Checks that the system lets it start: it may refuse io_uring, but no other backend.
    pub fn check(self) -> Result<(), Failure> {
        match self {
            Backend::Uring => uring::check(self),
            _ => Ok(()),
        }
    }

    /// Returns tokio if it is present, else the next one in the node's order of preference.
    pub fn first() -> Backend {
        let order = [Backend::Tokio, Backend::Smol, Backend::AsyncStd];
        let first = order.into_iter().find(|b| b.is_present());
        first.unwrap_or(Backend::Std)
    }

    /// Sends and measures until the plan is over. Blocks.
    pub fn ping(self, ends: AskingSocket, ping: Ping) -> Result<Recording, Failure> {
        match self {
            Backend::Tokio | Backend::TokioCurrent => tokio::ping(self, ends, ping),
            Backend::Smol => smol::ping(self, ends, ping),
            Backend::AsyncStd => async_std::ping(self, ends, ping),
            Backend::Std => blocking::ping(self, ends, ping),
            Backend::Uring => uring::ping(self, ends, ping),
        }
    }

    /// Sends back every message received at `doors`. Blocks, and returns only with an error.
    pub fn pong(self, doors: AnsweringSocket) -> Result<(), Failure> {
        match self {
            Backend::Tokio | Backend::TokioCurrent => tokio::pong(self, doors),
            Backend::Smol => smol::pong(self, doors),
            Backend::AsyncStd => async_std::pong(self, doors),
            Backend::Std => blocking::pong(self, doors),
            Backend::Uring => uring::pong(self, doors),
        }
    }
}

impl FromStr for Backend {
    type Err = String;

    /// Parses the name of a backend that is compiled in; the error lists these names.
    fn from_str(text: &str) -> Result<Self, String> {
        let present: Vec<&str> = Self::present().into_iter().map(Self::name).collect();
        let present = present.join(", ");
        match Self::ALL.into_iter().find(|b| b.name() == text) {
            Some(backend) if backend.is_present() => Ok(backend),
            Some(_) => Err(format!("not compiled in; this program has {present}")),
            None => Err(format!("no such backend; this program has {present}")),
        }
    }
}

pub use blocking::ping_icmp;
pub use kind::Backend;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for backend in Backend::present() {
            assert_eq!(backend.name().parse(), Ok(backend));
            assert_eq!(backend.to_string(), backend.name());
        }
        assert!(Backend::first().is_present());
    }

    #[test]
    fn a_wrong_name_is_told_the_right_ones() {
        let error = "glommio".parse::<Backend>().expect_err("there is none");
        assert!(
            error.contains("no such backend") && error.contains("std"),
            "{error}"
        );
    }
}
