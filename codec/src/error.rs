// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of reading bytes as a message. Every variant has the field that was read and its offset.

/// Error of bytes that are not a message of this protocol. Offsets count from the start of the
/// reader's input.
///
/// The peer that sent such bytes broke the protocol: the reference drops the link at once.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ended inside a field.
    #[error("input ends inside a {reading} at byte {offset}")]
    Truncated {
        /// The kind of field.
        reading: &'static str,
        /// The place at which the field starts.
        offset: usize,
    },
    /// A number does not fit the width of its field.
    #[error("{reading} of {value} at byte {offset} exceeds {max}")]
    TooLarge {
        /// The kind of field.
        reading: &'static str,
        /// The value found.
        value: u64,
        /// The greatest value allowed.
        max: u64,
        /// The place at which the field ends.
        offset: usize,
    },
    /// A text is not UTF-8.
    #[error("text before byte {offset} is not UTF-8")]
    NotUtf8 {
        /// The place at which the text ends.
        offset: usize,
    },
    /// No message, body or declaration has this id.
    #[error("unknown {kind} id 0x{id:02x} before byte {offset}")]
    UnknownId {
        /// The kind of thing that the id would name.
        kind: &'static str,
        /// The id, without flags.
        id: u8,
        /// The place at which reading stopped.
        offset: usize,
    },
    /// An extension that must be understood is not known.
    #[error("unknown mandatory extension 0x{key:02x} before byte {offset}")]
    MandatoryExtension {
        /// The extension's header without its "more" bit.
        key: u8,
        /// The place at which reading stopped.
        offset: usize,
    },
    /// The payload lies in the sender's shared memory. The message was read as far as it goes: another may follow.
    #[error("a payload in shared memory before byte {end}")]
    SharedMemory {
        /// The place at which the message ends.
        end: usize,
    },
    /// A body uses the reserved encoding 3.
    #[error("reserved body encoding before byte {offset}")]
    ReservedEncoding {
        /// The place at which reading stopped.
        offset: usize,
    },
    /// A field holds a value that has no meaning.
    #[error("{field} of {value} before byte {offset} is not valid")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The value found (for an id or a text: its length).
        value: u64,
        /// The place at which reading stopped.
        offset: usize,
    },
}

/// Writes `Debug` of error types as their text. `main` prints an error that it returns by `Debug`,
/// and there the advice counts.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_text {
    ($($error:ty),+) => {
        $(impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        })+
    };
}
