// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of a text that is no key expression. Every variant shows the key (shortened, escaped),
//! the byte, and the correction, in one line.

/// A fault in the text of a key expression.
///
/// `key` is the quoted text, shortened when long, and `at` the offset in bytes of the first fault.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyExprError {
    /// The text is empty.
    #[error("key expression is empty: give at least one chunk, such as `demo` or `**`")]
    Empty,
    /// Two slashes in a row, or one at either end.
    #[error("key expression {key} has an empty chunk at byte {at}: remove the extra `/`")]
    EmptyChunk {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// `#` and `?` separate a key from other parts of a selector or an endpoint and cannot be part of it.
    #[error(
        "key expression {key} has `{found}` at byte {at}: `#` and `?` are reserved, use another character"
    )]
    Reserved {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
        /// The character found.
        found: char,
    },
    /// A `*` that is neither a whole chunk `*` or `**` nor part of `$*`.
    #[error(
        "key expression {key} has `*` inside a chunk at byte {at}: write `$*` there, or make `*` or `**` a chunk of its own"
    )]
    StarInChunk {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// A `$` without its `*`.
    #[error("key expression {key} has `$` without `*` at byte {at}: `$` is only allowed in `$*`")]
    LoneDollar {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// A repeated `$*`, which is not canonical.
    #[error(
        "key expression {key} is not canonical, `$*` is repeated at byte {at}: write it once, or canonize the key"
    )]
    RepeatedDollarStar {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// A chunk that is just `$*`, which is not canonical.
    #[error(
        "key expression {key} is not canonical, a chunk is just `$*` at byte {at}: write `*`, or canonize the key"
    )]
    LoneDollarStar {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// A `**` followed by `*` or `**`, which is not canonical.
    #[error(
        "key expression {key} is not canonical, `**` is followed by `*` or `**` at byte {at}: put `*` first and `**` once, or canonize the key"
    )]
    WildAfterDoubleStar {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the fault in bytes.
        at: usize,
    },
    /// A wildcard in a key that has to stand for one name.
    #[error("key expression {key} has a wildcard at byte {at}: use a key without `*`")]
    Wild {
        /// The quoted text.
        key: Box<str>,
        /// Offset of the wildcard in bytes.
        at: usize,
    },
    /// Two texts whose ends would run together into another wildcard.
    #[error(
        "key expression {left} followed by {right} would join their wildcards: put a `/` between them"
    )]
    JoinedWildcards {
        /// The quoted first text.
        left: Box<str>,
        /// The quoted second text.
        right: Box<str>,
    },
}

crate::debug_as_text!(KeyExprError);

/// Limit of the bytes of a key that an error shows.
const SHOWN_BYTES_MAX: usize = 96;

/// Returns the text as errors show it: quoted, control characters escaped, shortened.
pub(super) fn quoted(text: &str) -> Box<str> {
    if text.len() <= SHOWN_BYTES_MAX {
        return format!("{text:?}").into();
    }
    let mut end = SHOWN_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, _) = text.split_at(end);
    format!("{shown:?}... ({} bytes)", text.len()).into()
}

/// Conversion of a key expression that needs no check; it allows functions to take one as well as
/// texts.
impl From<std::convert::Infallible> for KeyExprError {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
