// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Parsed`]: the values that a key has for the parts of a format.

use std::fmt;

use super::{FormatError, KeFormat, Segment};
use crate::key_expr::borrowed::keyexpr;

/// The values that a key has for the parts of a format; made by [`KeFormat::parse`].
pub struct Parsed<'s> {
    format: &'s KeFormat<'s>,
    values: Vec<Option<&'s keyexpr>>,
}

impl<'s> Parsed<'s> {
    pub(super) fn of(format: &'s KeFormat<'s>, key: &'s keyexpr) -> Result<Self, FormatError> {
        let segments = &format.segments;
        let mut values = vec![None; segments.len()];
        let suffix = match segments.is_empty() {
            true => Some(format.suffix),
            false => format.suffix.strip_prefix('/'),
        };
        let is_found = match suffix.map(keyexpr::from_str_unchecked) {
            None => fits(Some(key), segments, &mut values),
            Some(suffix) if segments.is_empty() => suffix.intersects(key),
            Some(suffix) => {
                splits(key).into_iter().rev().any(|(front, back)| {
                    suffix.intersects(back) && fits(Some(front), segments, &mut values)
                }) || (suffix.intersects(key) && fits(None, segments, &mut values))
            }
        };
        match is_found {
            true => Ok(Parsed { format, values }),
            false => Err(FormatError::Disjoint {
                format: format.to_string().into(),
                key: key.as_str().into(),
            }),
        }
    }

    /// Returns the value of a part; empty where a pattern `**` stands for no chunk.
    ///
    /// # Errors
    /// No part has this name.
    pub fn get(&self, id: &str) -> Result<&'s str, FormatError> {
        let value = self.format.position(id).and_then(|at| self.values.get(at));
        let value = value.ok_or_else(|| FormatError::Unknown {
            format: self.format.to_string().into(),
            id: id.into(),
        })?;
        Ok(value.map_or("", keyexpr::as_str))
    }

    /// Returns the value of each part, from left to right; `None` where a pattern `**` stands for
    /// no chunk.
    pub fn values(&self) -> &[Option<&'s keyexpr>] {
        &self.values
    }

    /// Returns the parts with their values.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.format.segments.iter().zip(&self.values))
    }
}

impl fmt::Debug for Parsed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Parsed<'_> {
    type Item = (&'a str, Option<&'a keyexpr>);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The parts of a format, each with its value; from [`Parsed::iter`].
#[derive(Debug, Clone)]
pub struct Iter<'a>(
    std::iter::Zip<std::slice::Iter<'a, Segment<'a>>, std::slice::Iter<'a, Option<&'a keyexpr>>>,
);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, Option<&'a keyexpr>);

    fn next(&mut self) -> Option<Self::Item> {
        let (segment, value) = self.0.next()?;
        Some((segment.id(), *value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (segment, value) = self.0.next_back()?;
        Some((segment.id(), *value))
    }
}

impl ExactSizeIterator for Iter<'_> {}

fn is_any(key: &keyexpr) -> bool {
    key.as_str() == "**"
}

/// Returns the divisions of a key in two, from left to right: between chunks, and within a `**`,
/// which is then in both.
fn splits(key: &keyexpr) -> Vec<(&keyexpr, &keyexpr)> {
    let text = key.as_str();
    let of = keyexpr::from_str_unchecked;
    let mut found = Vec::new();
    let (mut begin, mut is_whole) = (0, true);
    for chunk in text.split('/') {
        let end = begin + chunk.len();
        let back = text.split_at(begin).1;
        if chunk == "**" {
            found.push((of(text.split_at(end).0), of(back)));
        } else if !is_whole {
            found.push((of(text.split_at(begin - 1).0), of(back)));
        }
        is_whole = chunk == "**";
        begin = end + 1;
    }
    found
}

/// Returns true if the segments match the key, or the empty key if it is `None`. If so, their
/// values are set.
fn fits<'s>(
    key: Option<&'s keyexpr>,
    segments: &[Segment<'_>],
    values: &mut [Option<&'s keyexpr>],
) -> bool {
    let Some((segment, others)) = segments.split_first() else {
        return key.is_none_or(is_any);
    };
    let (prefix, pattern) = (segment.prefix(), segment.pattern());
    let Some(key) = key else {
        let may_be_nothing =
            |segment: &Segment<'_>| segment.prefix().is_none() && is_any(segment.pattern());
        values.fill(None);
        return segments.iter().all(may_be_nothing);
    };
    if prefix.is_none() && takes(key, segments, values) {
        return true;
    }
    // Each chunk of the prefix may be one of the key, or two with a `**` between them.
    let most = prefix.map_or(1, |prefix| prefix.chunks().count() * 3);
    for (front, back) in splits(key).into_iter().take(most) {
        let is_prefix = prefix.map_or(is_any(front), |prefix| prefix.intersects(front));
        if is_prefix && takes(back, segments, values) {
            return true;
        }
    }
    let Some((value, values)) = values.split_first_mut() else {
        return false;
    };
    *value = None;
    is_any(pattern)
        && prefix.is_some_and(|prefix| prefix.intersects(key))
        && fits(None, others, values)
}

/// Returns true if the segments match the key behind the first one's prefix: the first one takes as
/// much of it as it can.
fn takes<'s>(
    key: &'s keyexpr,
    segments: &[Segment<'_>],
    values: &mut [Option<&'s keyexpr>],
) -> bool {
    let (Some((segment, segments)), Some((value, values))) =
        (segments.split_first(), values.split_first_mut())
    else {
        return false;
    };
    let pattern = segment.pattern();
    if pattern.intersects(key) && fits(Some(key).filter(|key| is_any(key)), segments, values) {
        *value = Some(key);
        return true;
    }
    for (front, back) in splits(key).into_iter().rev() {
        if pattern.intersects(front) && fits(Some(back), segments, values) {
            *value = Some(front);
            return true;
        }
    }
    *value = None;
    is_any(pattern) && fits(Some(key), segments, values)
}
