// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Reply`]: what a question gives.

use std::fmt;

use crate::bytes::{Encoding, ZBytes};
use crate::handlers::Stored;
use crate::sample::Sample;

/// One answer: a sample, or an error that stands for answers which do not come.
///
/// ```
/// fn alive(reply: zonda::liveliness::Reply) -> Option<String> {
///     let sample = reply.into_result().ok()?;
///     Some(sample.key_expr().to_string())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Reply {
    result: Result<Sample, ReplyError>,
}

impl Reply {
    /// The sample or the error.
    pub fn result(&self) -> Result<&Sample, &ReplyError> {
        self.result.as_ref()
    }

    /// Takes the sample or the error out.
    pub fn into_result(self) -> Result<Sample, ReplyError> {
        self.result
    }

    pub(super) fn of_sample(sample: Sample) -> Reply {
        Reply { result: Ok(sample) }
    }

    pub(super) fn timeout() -> Reply {
        let payload = ZBytes::from("Timeout");
        let encoding = Encoding::ZENOH_STRING;
        Reply {
            result: Err(ReplyError { payload, encoding }),
        }
    }
}

impl Stored for Reply {
    fn before_storing(self) -> Reply {
        Reply {
            result: self.result.map(Stored::before_storing),
        }
    }
}

/// Why an answer is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError {
    payload: ZBytes,
    encoding: Encoding,
}

impl ReplyError {
    /// What is said of the reason, such as `Timeout`.
    pub fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// How to read it.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.payload.to_bytes()))
    }
}

impl std::error::Error for ReplyError {}
