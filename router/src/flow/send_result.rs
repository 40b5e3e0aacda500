// SPDX-License-Identifier: MIT OR Apache-2.0

//! Put with only a payload, and its fate, in few registers.

use zonda_codec::{Encoding, Qos, Reliability};

use crate::model::{Outcome, Publication, PublishError, SampleKind, Value};

/// Put with only a payload: no attachment, timestamp or source info.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a> {
    /// Payload of the put.
    pub payload: Value<'a>,
    /// Number of its encoding, which has no schema.
    pub encoding: u16,
    /// Priority, congestion control and express.
    pub qos: Qos,
    /// Class of delivery: a best-effort message may be lost on the way.
    pub reliability: Reliability,
}

impl<'a> From<Plain<'a>> for Publication<'a> {
    fn from(plain: Plain<'a>) -> Self {
        Publication {
            kind: SampleKind::Put,
            payload: plain.payload,
            encoding: Encoding {
                id: plain.encoding,
                schema: None,
            },
            attachment: None,
            timestamp: None,
            source_info: None,
            qos: plain.qos,
            reliability: plain.reliability,
            points: 0,
        }
    }
}

/// Fate of a message that all neighbours on its route took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// [`Outcome::Sent`].
    Sent,
    /// [`Outcome::Queued`].
    Queued,
    /// [`Outcome::NoSubscriber`].
    NoSubscriber,
}

/// Fate of a message, in two registers. A whole [`Outcome`] or [`PublishError`] is written to
/// memory in parts and read back in one piece before the parts are there (a failed store
/// forwarding), which once cost a quarter of a put.
#[derive(Debug)]
#[must_use = "the message may not have been accepted"]
pub struct SendResult {
    /// Fate in the usual case.
    pub passed: Accepted,
    /// Fate otherwise; `passed` then has no meaning.
    pub unusual: Option<Box<Result<Outcome, PublishError>>>,
}

impl SendResult {
    /// Returns the fate of a message that the node did not accept.
    #[cold]
    pub(crate) fn refused(error: PublishError) -> SendResult {
        SendResult {
            passed: Accepted::NoSubscriber,
            unusual: Some(Box::new(Err(error))),
        }
    }

    /// Returns both fields as one result.
    #[inline(always)]
    pub fn into_result(self) -> Result<Outcome, PublishError> {
        match self.unusual {
            None => Ok(self.passed.into()),
            Some(unusual) => *unusual,
        }
    }
}

impl From<Accepted> for Outcome {
    #[inline(always)]
    fn from(passed: Accepted) -> Outcome {
        match passed {
            Accepted::Sent => Outcome::Sent,
            Accepted::Queued => Outcome::Queued,
            Accepted::NoSubscriber => Outcome::NoSubscriber,
        }
    }
}
