// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of the declaration of an advanced publisher or subscriber.

use zonda_codec::{KeyExpr, KeyExprError};

use crate::error::{DeclareError, Refusal};

/// Error of the declaration of an advanced publisher or subscriber.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AdvancedError {
    /// One of its declarations failed.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// A setting is 0 that has to be more.
    #[error("{what} must not be zero")]
    Zero {
        /// The setting.
        what: &'static str,
    },
    /// A cache of publications distinguishes its samples by timestamps, and this session stamps
    /// none.
    #[error("the cache of {key} needs timestamps: set `timestamping/enabled` to true")]
    Unstamped {
        /// The key of the cache.
        key: KeyExpr<'static>,
    },
    /// Without `sample_miss_detection` timestamps distinguish the samples of a cache, and this
    /// session stamps none.
    #[error(
        "the cache of {key} needs timestamps or numbers: set `timestamping/enabled` to true, or add \
         `.sample_miss_detection(..)`"
    )]
    NoTimestamps {
        /// The publisher's key.
        key: KeyExpr<'static>,
    },
}

zonda_codec::debug_as_text!(AdvancedError);

impl From<KeyExprError> for AdvancedError {
    fn from(error: KeyExprError) -> Self {
        AdvancedError::Declare(error.into())
    }
}

impl Refusal for AdvancedError {
    fn is_closed(&self) -> bool {
        matches!(self, AdvancedError::Declare(error) if error.is_closed())
    }
}
