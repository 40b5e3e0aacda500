// SPDX-License-Identifier: MIT OR Apache-2.0

//! Failures of attempts to connect.

use zonda_codec::Endpoint;
use zonda_transport::dial::DialError;

use crate::peers::reasons::{Refusal, RefusalKind};

/// Cause of an attempt that did not end in a new connection.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Attempt {
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The node at this endpoint is connected already.
    #[error("already connected to the node at {0}")]
    Known(Endpoint),
    #[error("the session is closed")]
    Closed,
}

impl Attempt {
    pub(crate) fn kind(&self) -> RefusalKind {
        match self {
            Attempt::Dial(error) => Refusal::from(error).kind,
            Attempt::Known(_) => RefusalKind::MaxLinks,
            Attempt::Closed => RefusalKind::Closing,
        }
    }
}
