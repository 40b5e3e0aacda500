// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grammar: one pass over the chunks, used strictly (canonical text only) and leniently (what can be canonized).

use super::error::{KeyExprError, quoted};

/// Checks that `key` is a canonical key expression.
///
/// # Errors
/// The first fault found; see [`KeyExprError`]. Only an error allocates.
///
/// ```
/// use zonda_codec::key_expr::validate;
/// assert!(validate("demo/**/temp$*").is_ok());
/// assert_eq!(
///     validate("demo//x").unwrap_err().to_string(),
///     "key expression \"demo//x\" has an empty chunk at byte 5: remove the extra `/`",
/// );
/// ```
#[inline]
pub fn validate(key: &str) -> Result<(), KeyExprError> {
    scan(key, Form::Canonical).map_err(|fault| fault.explain(key))
}

/// Spellings that pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Canonical texts only.
    Canonical,
    /// Canonical texts and texts that canonisation can repair.
    Repairable,
}

/// The kind and the offset of a fault, without the text, so that a failed check costs nothing.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    kind: FaultKind,
    at: usize,
}

#[derive(Clone, Copy)]
enum FaultKind {
    Empty,
    EmptyChunk,
    Reserved(char),
    StarInChunk,
    LoneDollar,
    RepeatedDollarStar,
    LoneDollarStar,
    WildAfterDoubleStar,
}

impl Fault {
    #[cold]
    pub(super) fn explain(self, text: &str) -> KeyExprError {
        let (key, at) = (quoted(text), self.at);
        match self.kind {
            FaultKind::Empty => KeyExprError::Empty,
            FaultKind::EmptyChunk => KeyExprError::EmptyChunk { key, at },
            FaultKind::Reserved(found) => KeyExprError::Reserved { key, at, found },
            FaultKind::StarInChunk => KeyExprError::StarInChunk { key, at },
            FaultKind::LoneDollar => KeyExprError::LoneDollar { key, at },
            FaultKind::RepeatedDollarStar => KeyExprError::RepeatedDollarStar { key, at },
            FaultKind::LoneDollarStar => KeyExprError::LoneDollarStar { key, at },
            FaultKind::WildAfterDoubleStar => KeyExprError::WildAfterDoubleStar { key, at },
        }
    }
}

/// Returns true if the text is a key without wildcards: most keys that arrive are, and this check
/// is cheap.
#[inline]
fn is_plain(text: &str) -> bool {
    let mut previous = b'/';
    for &byte in text.as_bytes() {
        if matches!(byte, b'*' | b'$' | b'#' | b'?') || (byte == b'/' && previous == b'/') {
            return false;
        }
        previous = byte;
    }
    previous != b'/'
}

/// Finds the first fault of `text`.
pub(super) fn scan(text: &str, form: Form) -> Result<(), Fault> {
    if is_plain(text) {
        return Ok(());
    }
    if text.is_empty() {
        return Err(Fault {
            kind: FaultKind::Empty,
            at: 0,
        });
    }
    // Each chunk, and the order of wildcard chunks.
    let mut at = 0;
    let mut after_double = false;
    for chunk in text.split('/') {
        let wild = matches!(chunk, "*" | "**");
        if wild {
            if after_double && form == Form::Canonical {
                return Err(Fault {
                    kind: FaultKind::WildAfterDoubleStar,
                    at,
                });
            }
        } else {
            scan_chunk(chunk, form).map_err(|fault| Fault {
                at: at + fault.at,
                ..fault
            })?;
        }
        after_double = chunk == "**";
        at += chunk.len() + 1;
    }
    Ok(())
}

/// Finds the first fault of a chunk other than `*` and `**`; offsets count from the start of the chunk.
fn scan_chunk(chunk: &str, form: Form) -> Result<(), Fault> {
    if chunk.is_empty() {
        return Err(Fault {
            kind: FaultKind::EmptyChunk,
            at: 0,
        });
    }
    // Every `*` needs its `$`; reserved characters are refused.
    let canonical = form == Form::Canonical;
    let mut rest = chunk.as_bytes();
    while let [byte, tail @ ..] = rest {
        let kind = match (byte, tail) {
            (b'$', [b'*', b'$', b'*', ..]) if canonical => FaultKind::RepeatedDollarStar,
            (b'$', [b'*', after @ ..]) => {
                rest = after;
                continue;
            }
            (b'$', _) => FaultKind::LoneDollar,
            (b'*', _) => FaultKind::StarInChunk,
            (b'#', _) => FaultKind::Reserved('#'),
            (b'?', _) => FaultKind::Reserved('?'),
            _ => {
                rest = tail;
                continue;
            }
        };
        return Err(Fault {
            kind,
            at: chunk.len() - rest.len(),
        });
    }
    // A chunk `$*` is spelled `*`.
    if canonical && chunk == "$*" {
        return Err(Fault {
            kind: FaultKind::LoneDollarStar,
            at: 0,
        });
    }
    Ok(())
}
