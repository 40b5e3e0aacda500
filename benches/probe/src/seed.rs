// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work added to each message on purpose, to prove that the counts show it.

use std::hint::black_box;
use std::str::FromStr;

/// Extra work for each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// No extra work.
    None,
    /// A copy of the payload.
    Copy,
    /// A system call.
    Syscall,
}

impl Seed {
    /// Spends the extra costs of one message with this payload.
    #[inline]
    pub fn cost(self, payload: &[u8]) {
        match self {
            Seed::None => {}
            Seed::Copy => drop(black_box(payload.to_vec())),
            Seed::Syscall => std::thread::yield_now(),
        }
    }
}

impl FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "copy" => Ok(Seed::Copy),
            "syscall" => Ok(Seed::Syscall),
            other => Err(format!("--seed {other:?}: copy or syscall")),
        }
    }
}
