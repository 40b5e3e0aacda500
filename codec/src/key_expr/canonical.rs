// SPDX-License-Identifier: MIT OR Apache-2.0
//! Canonisation: the one spelling of each key expression in messages.

use std::borrow::Cow;

use super::KeyExprError;
use super::validate::{Form, scan};

/// Returns the canonical spelling of `key`: runs of `$*` become one, a chunk `$*` becomes `*`, and
/// in a run of `*` and `**` chunks the `*` come first and `**` at most once. Borrows when nothing
/// has to change.
///
/// # Errors
/// A fault that no respelling repairs, such as an empty chunk; see [`KeyExprError`].
///
/// ```
/// use zonda_codec::key_expr::canonize;
/// assert_eq!(canonize("a/**/*/**/b$*$*").unwrap(), "a/*/**/b$*");
/// assert!(canonize("a//b").is_err());
/// ```
pub fn canonize(key: &str) -> Result<Cow<'_, str>, KeyExprError> {
    // Most keys are canonical: no copy then.
    if scan(key, Form::Canonical).is_ok() {
        return Ok(Cow::Borrowed(key));
    }
    scan(key, Form::Repairable).map_err(|fault| fault.explain(key))?;
    let mut canonical = String::with_capacity(key.len());
    // A `**` is owed until the `*` behind it are written.
    let mut owed_double = false;
    for chunk in key.split('/') {
        if chunk == "**" {
            owed_double = true;
        } else if is_any_chunk(chunk) {
            begin_chunk(&mut canonical).push('*');
        } else {
            if owed_double {
                begin_chunk(&mut canonical).push_str("**");
                owed_double = false;
            }
            push_collapsed(begin_chunk(&mut canonical), chunk);
        }
    }
    if owed_double {
        begin_chunk(&mut canonical).push_str("**");
    }
    Ok(Cow::Owned(canonical))
}

/// Returns true if the chunk is `*` or nothing but `$*` repeated.
fn is_any_chunk(chunk: &str) -> bool {
    chunk == "*" || (!chunk.is_empty() && chunk.split("$*").all(str::is_empty))
}

/// A text that can be respelled in place.
///
/// ```
/// use zonda_codec::key_expr::Canonize;
/// let mut text = String::from("a/**/*");
/// text.canonize();
/// assert_eq!(text, "a/*/**");
/// ```
pub trait Canonize {
    /// Replaces the text by its [canonical spelling](canonize); a text that has none is unchanged.
    fn canonize(&mut self);
}

impl Canonize for String {
    fn canonize(&mut self) {
        if let Ok(Cow::Owned(canonical)) = canonize(self) {
            *self = canonical;
        }
    }
}

fn begin_chunk(key: &mut String) -> &mut String {
    if !key.is_empty() {
        key.push('/');
    }
    key
}

/// Appends the chunk with every run of `$*` written once.
fn push_collapsed(key: &mut String, chunk: &str) {
    let mut after_wild = false;
    for (index, literal) in chunk.split("$*").enumerate() {
        if index > 0 && !after_wild {
            key.push_str("$*");
            after_wild = true;
        }
        if !literal.is_empty() {
            key.push_str(literal);
            after_wild = false;
        }
    }
}
