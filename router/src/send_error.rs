// SPDX-License-Identifier: MIT OR Apache-2.0

//! Variants that the errors of publications, queries and replies have in common: reasons why a
//! message of the session was not sent.

use zonda_codec::{Encoding, ZenohId};

/// Declares an error enum with the common variants and its own ones; `from core` adds a variant for
/// invalid keys and a conversion from [`SendError`].
macro_rules! send_error {
    ($(#[$about:meta])* $seen:vis enum $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, thiserror::Error)]
        #[non_exhaustive]
        $seen enum $name {
            /// This process was forked off from the one that opened the session, and has none of its threads.
            #[error(
                "this process was forked off after the session was opened: open a session here, or fork before"
            )]
            Forked,
            /// The node is closed.
            #[error("the session is closed")]
            Closed,
            /// Congestion control is `Block`: the queue of this peer is full and the caller asked
            /// not to wait; nothing was queued for it.
            #[error("the send queue of peer {peer} is full")]
            WouldBlock {
                /// The slow peer.
                peer: zonda_codec::ZenohId,
            },
            /// Congestion control is `Drop`: the queue of this peer is full; the message was
            /// dropped for it, and counted.
            #[error("dropped for peer {peer}, whose send queue is full")]
            Dropped {
                /// The slow peer.
                peer: zonda_codec::ZenohId,
            },
            /// Congestion control `Block`: the queue of this peer stayed full for the whole deadline.
            #[error("the send queue of peer {peer} stayed full for {after:?}")]
            Timeout {
                /// The slow peer.
                peer: zonda_codec::ZenohId,
                /// Time that the call waited.
                after: std::time::Duration,
            },
            /// The message is larger than a peer may accept.
            #[error("a message of {size} bytes exceeds the limit of {limit} bytes")]
            TooLarge {
                /// Size in bytes.
                size: usize,
                /// The limit in bytes (`transport/link/rx/max_message_size`).
                limit: usize,
            },
            /// The schema of the encoding is longer than the protocol allows.
            #[error("an encoding schema of {len} bytes exceeds the limit of 255 bytes")]
            SchemaTooLong {
                /// Length in bytes.
                len: usize,
            },
            $($own)*
        }

        zonda_codec::debug_as_text!($name);
    };
    ($(#[$about:meta])* $seen:vis enum $name:ident from core { $($own:tt)* }) => {
        $crate::send_error::send_error! {
            $(#[$about])* $seen enum $name {
                /// The key is not a valid key expression.
                #[error("{0}")]
                Key(zonda_codec::KeyExprError),
                $($own)*
            }
        }

        impl From<zonda_codec::KeyExprError> for $name {
            fn from(error: zonda_codec::KeyExprError) -> Self {
                $name::Key(error)
            }
        }

        impl From<$crate::send_error::SendError> for $name {
            fn from(error: $crate::send_error::SendError) -> Self {
                use $crate::send_error::SendError;
                match error {
                    SendError::Forked => $name::Forked,
                    SendError::Closed => $name::Closed,
                    SendError::WouldBlock { peer } => $name::WouldBlock { peer },
                    SendError::Dropped { peer } => $name::Dropped { peer },
                    SendError::Timeout { peer, after } => $name::Timeout { peer, after },
                    SendError::TooLarge { size, limit } => $name::TooLarge { size, limit },
                    SendError::SchemaTooLong { len } => $name::SchemaTooLong { len },
                }
            }
        }
    };
}

pub(crate) use send_error;

send_error! {
    /// Reason why a message of the session was not sent.
    pub(crate) enum SendError {}
}

impl SendError {
    /// Returns the error of a full queue, by whether the message may be dropped.
    pub(crate) fn full(peer: ZenohId, may_drop: bool) -> SendError {
        match may_drop {
            true => SendError::Dropped { peer },
            false => SendError::WouldBlock { peer },
        }
    }

    /// Checks the limits of a message of `size` bytes with this encoding.
    pub(crate) fn check(
        size: usize,
        limit: usize,
        encoding: Option<&Encoding<'_>>,
    ) -> Result<(), SendError> {
        if size > limit {
            return Err(SendError::TooLarge { size, limit });
        }
        match encoding.and_then(|encoding| encoding.schema) {
            Some(schema) if schema.len() > SCHEMA_BYTES_MAX => {
                Err(SendError::SchemaTooLong { len: schema.len() })
            }
            _ => Ok(()),
        }
    }
}

/// Maximum length of an encoding's schema.
const SCHEMA_BYTES_MAX: usize = u8::MAX as usize;
