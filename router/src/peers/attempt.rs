// SPDX-License-Identifier: MIT OR Apache-2.0

//! Failures of attempts to connect.

use zonda_codec::{Endpoint, transport::reason::MAX_LINKS};
use zonda_transport::dial::DialError;
use zonda_transport::protocol::handshake::HandshakeError;

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
    /// Returns true if the node refused because it has, or opens, a link to this one.
    pub(crate) fn is_crossed(&self) -> bool {
        match self {
            Attempt::Dial(DialError::Handshake { source, .. }) => match source {
                HandshakeError::Linked { .. } => true,
                HandshakeError::Refused { reason } => *reason == MAX_LINKS,
                _ => false,
            },
            Attempt::Dial(_) | Attempt::Known(_) | Attempt::Closed => false,
        }
    }

    pub(crate) fn kind(&self) -> RefusalKind {
        match self {
            Attempt::Dial(error) => Refusal::from(error).kind,
            Attempt::Known(_) => RefusalKind::MaxLinks,
            Attempt::Closed => RefusalKind::Closing,
        }
    }
}
