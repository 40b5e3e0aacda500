// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`KeFormatter`]: writes keys of a format.

use std::fmt;

use super::{FormatError, FormatSetError, KeFormat};
use crate::key_expr::borrowed::keyexpr;
use crate::key_expr::owned::KeyExpr;

/// Collector of values for the parts of a format, which builds keys of them; made by
/// [`KeFormat::formatter`].
#[derive(Clone)]
pub struct KeFormatter<'s> {
    format: &'s KeFormat<'s>,
    values: Vec<Option<String>>,
}

impl<'s> KeFormatter<'s> {
    pub(super) fn new(format: &'s KeFormat<'s>) -> Self {
        KeFormatter {
            format,
            values: vec![None; format.segments.len()],
        }
    }

    /// Returns the format.
    pub fn format(&self) -> &KeFormat<'s> {
        self.format
    }

    /// Removes all values.
    pub fn clear(&mut self) -> &mut Self {
        self.values.fill(None);
        self
    }

    /// Returns the value that was set for a part.
    pub fn get(&self, id: &str) -> Option<&str> {
        let value = self.values.get(self.format.position(id)?)?;
        value.as_deref()
    }

    /// Sets the value of a part, as it is displayed: a key expression that the part's pattern
    /// includes, or nothing where that is `**`.
    ///
    /// # Errors
    /// No part has this name, or its pattern does not include the value; then the part has no
    /// value.
    pub fn set<S: fmt::Display>(
        &mut self,
        id: &str,
        value: S,
    ) -> Result<&mut Self, FormatSetError> {
        let position = self.format.position(id);
        let segment = position.and_then(|at| self.format.segments.get(at));
        let place = position.and_then(|at| self.values.get_mut(at));
        let (Some(segment), Some(place)) = (segment, place) else {
            return Err(FormatSetError::InvalidId);
        };
        *place = None;
        let (value, pattern) = (value.to_string(), segment.pattern());
        let is_included = match value.is_empty() {
            true => pattern.as_str() == "**",
            false => keyexpr::new(&value).is_ok_and(|value| pattern.includes(value)),
        };
        if !is_included {
            return Err(FormatSetError::PatternNotMatched);
        }
        *place = Some(value);
        Ok(self)
    }

    /// Builds the key of the values, with the defaults of parts without one. The values stay.
    ///
    /// # Errors
    /// A part has neither a value nor a default.
    pub fn build(&self) -> Result<KeyExpr<'static>, FormatError> {
        let mut text = String::new();
        let mut add = |piece: &str| {
            let is_doubled = (text.is_empty() || text.ends_with('/')) && piece.starts_with('/');
            text += match is_doubled {
                true => piece.trim_start_matches('/'),
                false => piece,
            };
        };
        for (segment, value) in self.format.segments.iter().zip(&self.values) {
            add(segment.prefix);
            let default = segment.default().map(keyexpr::as_str);
            let value = value.as_deref().or(default);
            add(value.ok_or_else(|| FormatError::Missing {
                format: format!("{self:?}").into(),
                id: segment.id().into(),
            })?);
        }
        add(self.format.suffix);
        if text.ends_with('/') {
            text.pop();
        }
        Ok(KeyExpr::autocanonize(text)?)
    }
}

/// Writes the format with the values that were set so far.
impl fmt::Debug for KeFormatter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (segment, value) in self.format.segments.iter().zip(&self.values) {
            let shown = match (value, segment.default()) {
                (Some(value), _) => format!("{}:{}={value}", segment.id(), segment.pattern()),
                (None, Some(default)) => {
                    format!("{}:{}#{default}", segment.id(), segment.pattern())
                }
                (None, None) => format!("{}:{}", segment.id(), segment.pattern()),
            };
            let sharp = if shown.contains('}') { "#" } else { "" };
            write!(f, "{}${sharp}{{{shown}}}{sharp}", segment.prefix)?;
        }
        f.write_str(self.format.suffix)
    }
}

impl TryFrom<&KeFormatter<'_>> for KeyExpr<'static> {
    type Error = FormatError;

    fn try_from(formatter: &KeFormatter<'_>) -> Result<Self, FormatError> {
        formatter.build()
    }
}

impl TryFrom<&mut KeFormatter<'_>> for KeyExpr<'static> {
    type Error = FormatError;

    fn try_from(formatter: &mut KeFormatter<'_>) -> Result<Self, FormatError> {
        formatter.build()
    }
}
