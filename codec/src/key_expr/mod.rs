// SPDX-License-Identifier: MIT OR Apache-2.0
//! Key expressions: the names that a text stands for, and relations of two such sets.
//!
//! A key expression is non-empty chunks joined by `/`. The chunk `*` stands for any one chunk, `**` for any number of
//! chunks (also none), `$*` inside a chunk for any bytes of that chunk (also none). A chunk that starts with `@` is
//! *verbatim*: only the identical chunk matches it, no wildcard does.
//!
//! [`intersects`] and [`includes`] expect canonical text, which [`validate`] checks and
//! [`canonize`] makes. They never recurse, backtrack or allocate; their cost is bounded by the
//! product of the two lengths whatever a peer sends. On other text they still return, with a
//! meaningless answer.
//!
//! Callers: the wire decoder (validation), the forwarding table (matching), and the user's API through [`KeyExpr`].

mod borrowed;
mod canonical;
mod chunks;
mod constant;
mod error;
pub mod format;
mod glob;
mod includes;
mod intersects;
mod nonwild;
mod owned;
pub mod tree;
mod validate;

#[cfg(test)]
mod tests;

pub use self::borrowed::{SetIntersectionLevel, keyexpr};
pub use self::canonical::{Canonize, canonize};
pub use self::error::KeyExprError;
pub use self::includes::includes;
pub use self::intersects::intersects;
pub use self::nonwild::{OwnedNonWildKeyExpr, nonwild_keyexpr};
pub use self::owned::{KeyExpr, ShortKey};
pub use self::validate::validate;

/// Returns true if the key contains `*`, `**` or `$*`, so that it can match more than one name.
///
/// ```
/// use zonda_codec::key_expr::is_wild;
/// assert!(is_wild("demo/*"));
/// assert!(is_wild("demo/sensor$*"));
/// assert!(!is_wild("demo/sensor"));
/// ```
#[inline]
pub fn is_wild(key: &str) -> bool {
    key.as_bytes().contains(&b'*')
}

/// Splits a key before its first chunk with a wildcard: the longest prefix of plain chunks, and the rest with its `/`.
///
/// A key is divided in this way between a declared numeric id and a suffix. Without wildcards the
/// rest is empty; when the first chunk is already wild the prefix is.
///
/// ```
/// use zonda_codec::key_expr::literal_prefix;
/// assert_eq!(literal_prefix("demo/test/*"), ("demo/test", "/*"));
/// assert_eq!(literal_prefix("demo/test$*/x"), ("demo", "/test$*/x"));
/// assert_eq!(literal_prefix("demo/test"), ("demo/test", ""));
/// assert_eq!(literal_prefix("**/x"), ("", "**/x"));
/// ```
pub fn literal_prefix(key: &str) -> (&str, &str) {
    match key.split_once('*') {
        None => (key, ""),
        Some((before, _)) => key.split_at(before.rfind('/').unwrap_or(0)),
    }
}
