// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats: keys with named parts, to write and to read such keys by.
//!
//! A part is written `${name:pattern}`, or `${name:pattern#default}`, and stands for whole chunks;
//! where a `}` occurs within, `$#{name:pattern}#` is used. Wildcards stand in patterns only. A
//! [`KeFormatter`] takes a value for each part that the pattern includes, and builds a key.
//! [`KeFormat::parse`] reads the values of a key, from left to right and each as long as possible.
//!
//! ```
//! use zonda_codec::key_expr::format::KeFormat;
//! use zonda_codec::keyexpr;
//!
//! let format = KeFormat::new("room/${number:*}/${what:**}")?;
//! let mut formatter = format.formatter();
//! assert_eq!(formatter.set("number", 7)?.set("what", "light/on")?.build()?, "room/7/light/on");
//! assert!(formatter.set("number", "7/8").is_err());
//!
//! let parsed = format.parse(keyexpr::new("room/9")?)?;
//! assert_eq!((parsed.get("number")?, parsed.get("what")?), ("9", ""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod formatter;
mod parsed;

use std::fmt;

use super::borrowed::keyexpr;
use super::error::KeyExprError;
use super::owned::KeyExpr;

pub use formatter::KeFormatter;
pub use parsed::{Iter, Parsed};

/// A key with named parts; see the [module](self).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeFormat<'s> {
    segments: Vec<Segment<'s>>,
    /// The text behind the last part, with its `/`; all of it if there is no part.
    suffix: &'s str,
}

/// A part of a format, with the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment<'s> {
    /// Nothing, `/`, or a key with a `/` behind it and, but for the first segment, before it.
    prefix: &'s str,
    spec: Spec<'s>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Spec<'s> {
    /// The text between the braces.
    text: &'s str,
    id: &'s str,
    pattern: &'s keyexpr,
    default: Option<&'s keyexpr>,
}

/// Error of a format, of a key that does not fit it, or of its values.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is no format.
    #[error("{format:?} is not a format: {problem}")]
    Invalid {
        /// The text.
        format: Box<str>,
        /// The fault.
        problem: Box<str>,
    },
    /// The format has no part of that name.
    #[error("{format} has no part {id}")]
    Unknown {
        /// The format.
        format: Box<str>,
        /// The name.
        id: Box<str>,
    },
    /// A part has neither a value nor a default.
    #[error("part {id} of {format} has no value")]
    Missing {
        /// The format with its values.
        format: Box<str>,
        /// The part's name.
        id: Box<str>,
    },
    /// No key of the format intersects the key.
    #[error("{key} does not intersect {format}")]
    Disjoint {
        /// The format.
        format: Box<str>,
        /// The key.
        key: Box<str>,
    },
    /// A value was not accepted.
    #[error(transparent)]
    Set(#[from] FormatSetError),
    /// The parts do not make a key.
    #[error(transparent)]
    Key(#[from] KeyExprError),
}

crate::debug_as_text!(FormatError);

/// Error of a value that was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum FormatSetError {
    /// The format has no part of that name.
    #[error("the format has no such part")]
    InvalidId,
    /// The part's pattern does not include the value.
    #[error("the pattern of the part does not include the value")]
    PatternNotMatched,
}

crate::debug_as_text!(FormatSetError);

impl<'s> KeFormat<'s> {
    /// Parses a format.
    ///
    /// # Errors
    /// The text is not a format.
    pub fn new<S: AsRef<str> + ?Sized>(format: &'s S) -> Result<Self, FormatError> {
        let format = format.as_ref();
        read(format).map_err(|problem| FormatError::Invalid {
            format: format.into(),
            problem: problem.into(),
        })
    }

    /// Returns the parts, each with the text before it.
    pub fn segments(&self) -> &[Segment<'s>] {
        &self.segments
    }

    /// Returns a formatter, which takes values for the parts.
    pub fn formatter(&'s self) -> KeFormatter<'s> {
        KeFormatter::new(self)
    }

    /// Reads the values of a key, or of a key expression that intersects the format.
    ///
    /// # Errors
    /// No key of the format intersects it.
    pub fn parse(&'s self, key: &'s keyexpr) -> Result<Parsed<'s>, FormatError> {
        Parsed::of(self, key)
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.segments.iter().position(|segment| segment.id() == id)
    }
}

impl<'s> Segment<'s> {
    /// Returns the key before the part, without the `/` around it.
    pub fn prefix(&self) -> Option<&'s keyexpr> {
        let prefix = self.prefix.trim_matches('/');
        (!prefix.is_empty()).then(|| keyexpr::from_str_unchecked(prefix))
    }

    /// Returns the part's name.
    pub fn id(&self) -> &'s str {
        self.spec.id
    }

    /// Returns the pattern, which includes its values.
    pub fn pattern(&self) -> &'s keyexpr {
        self.spec.pattern
    }

    /// Returns the default value.
    pub fn default(&self) -> Option<&'s keyexpr> {
        self.spec.default
    }
}

/// Parses a format, or returns its fault.
fn read(format: &str) -> Result<KeFormat<'_>, String> {
    let mut segments: Vec<Segment> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = format.split_at(at).1.find('$') {
        // The next part, in one of its two spellings.
        let begin = at + found;
        let rest = format.split_at(begin).1;
        if rest.starts_with("$*") {
            return Err("wildcards stand in patterns only".into());
        }
        let (inside, end) = match (rest.strip_prefix("${"), rest.strip_prefix("$#{")) {
            (Some(inside), _) => (inside, "}"),
            (_, Some(inside)) => (inside, "}#"),
            _ => return Err("a $ begins neither ${name:pattern} nor $#{name:pattern}#".into()),
        };
        let (text, behind) = inside
            .split_once(end)
            .ok_or_else(|| format!("{rest} has no {end}"))?;
        // The text before it and behind it has to be whole chunks.
        let prefix = format.split_at(begin).0.split_at(from).1;
        check_between(prefix, segments.is_empty())?;
        if !behind.is_empty() && !behind.starts_with('/') {
            return Err(format!("{text} is part of a chunk"));
        }
        // The part itself, with a name of its own.
        let spec = Spec::read(text)?;
        if segments.iter().any(|segment| segment.id() == spec.id) {
            return Err(format!("{} is there twice", spec.id));
        }
        segments.push(Segment { prefix, spec });
        from = format.len() - behind.len();
        at = from;
    }
    // The text behind the last part.
    let suffix = format.split_at(from).1;
    let bare = match segments.is_empty() {
        true => suffix,
        false => suffix.strip_prefix('/').unwrap_or(suffix),
    };
    if !(bare.is_empty() && suffix.is_empty() && !segments.is_empty()) {
        check_plain(bare)?;
    }
    Ok(KeFormat { segments, suffix })
}

/// Checks that the text before a part ends with a `/`, and has a key before that.
fn check_between(prefix: &str, is_first: bool) -> Result<(), String> {
    if prefix.is_empty() && is_first {
        return Ok(());
    }
    let bare = prefix
        .strip_suffix('/')
        .ok_or("a part is part of a chunk")?;
    match (is_first, bare.strip_prefix('/')) {
        (false, None) => Ok(()),
        (false, Some(key)) => check_plain(key),
        (true, _) => check_plain(bare),
    }
}

/// Checks a key without wildcards.
fn check_plain(key: &str) -> Result<(), String> {
    match super::validate(key) {
        Ok(()) if key.contains('*') => Err("wildcards stand in patterns only".into()),
        Ok(()) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

impl<'s> Spec<'s> {
    fn read(text: &'s str) -> Result<Self, String> {
        let (id, rest) = text
            .split_once(':')
            .ok_or_else(|| format!("{text} has no `:` behind its name"))?;
        let (pattern, default) = match rest.split_once('#') {
            None => (rest, None),
            Some((pattern, default)) => (pattern, Some(default)),
        };
        let key = |text| keyexpr::new(text).map_err(|error| error.to_string());
        let pattern = key(pattern)?;
        let default = default.map(key).transpose()?;
        if default.is_some_and(|default| !pattern.includes(default)) {
            return Err(format!(
                "the default of {id} is not included by its pattern"
            ));
        }
        Ok(Spec {
            text,
            id,
            pattern,
            default,
        })
    }
}

impl fmt::Display for KeFormat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            let text = segment.spec.text;
            match text.contains('}') {
                true => write!(f, "{}$#{{{text}}}#", segment.prefix)?,
                false => write!(f, "{}${{{text}}}", segment.prefix)?,
            }
        }
        f.write_str(self.suffix)
    }
}

impl fmt::Debug for KeFormat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'s> TryFrom<&'s str> for KeFormat<'s> {
    type Error = FormatError;

    fn try_from(format: &'s str) -> Result<Self, FormatError> {
        Self::new(format)
    }
}

impl<'s> TryFrom<&'s String> for KeFormat<'s> {
    type Error = FormatError;

    fn try_from(format: &'s String) -> Result<Self, FormatError> {
        Self::new(format)
    }
}

/// Writes the key expression of all its keys.
impl TryFrom<&KeFormat<'_>> for KeyExpr<'static> {
    type Error = KeyExprError;

    fn try_from(format: &KeFormat<'_>) -> Result<Self, KeyExprError> {
        let mut text = String::new();
        for segment in &format.segments {
            text += segment.prefix;
            text += segment.pattern();
        }
        text += format.suffix;
        KeyExpr::autocanonize(text)
    }
}

#[cfg(test)]
mod tests;
