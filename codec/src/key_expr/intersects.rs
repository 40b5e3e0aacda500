// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intersection: two key expressions have a name in common.
//!
//! No wildcard matches a verbatim chunk, so in a common name each verbatim chunk of one side meets
//! the same chunk of the other, in order: both keys are cut there and the parts compared pair by
//! pair. In a part without verbatim chunks, the chunks before the first `**` of either side meet
//! one to one, and so do the chunks after the last. The rest starts with `**` on one side and ends
//! with `**` on one side. If both sides still hold a `**`, each can absorb the rest of the other;
//! if only one does, its runs are searched in the other from left to right.

use super::chunks::{End, Peeled, Tally, in_parts, peel_ends, runs_in_order};
use super::glob::chunk_intersects;
use super::is_wild;

/// Returns true if some name belongs to both keys. Both must be canonical.
///
/// Time is bounded by the product of the lengths; nothing is allocated.
///
/// ```
/// use zonda_codec::key_expr::intersects;
/// assert!(intersects("a/**", "a"));
/// assert!(intersects("ab$*cd", "abxxcxxcd"));
/// assert!(!intersects("a/**", "a/@b"));
/// ```
#[inline]
pub fn intersects(a: &str, b: &str) -> bool {
    if !(is_wild(a) || is_wild(b)) {
        return a == b;
    }
    let (a, b) = behind_common(a, b);
    a == b || counted(a, b, &mut ())
}

/// Removes the chunks without wildcards that both keys begin with; the last chunk of each stays.
fn behind_common<'a, 'b>(a: &'a str, b: &'b str) -> (&'a str, &'b str) {
    let mut begin = 0;
    for (at, (x, y)) in a.bytes().zip(b.bytes()).enumerate() {
        if x == b'*' || x != y {
            break;
        }
        if x == b'/' {
            begin = at + 1;
        }
    }
    (a.get(begin..).unwrap_or(a), b.get(begin..).unwrap_or(b))
}

/// Returns true if the keys intersect, computed without the shortcuts of `intersects`.
pub(super) fn counted<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    in_parts(a, b, tally, parts_intersect)
}

/// Returns true if two lists without verbatim chunks intersect.
fn parts_intersect<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    let (a, b) = match peel_ends(a, b, tally, peel) {
        Peeled::Decided(answer) => return answer,
        Peeled::Open(a, b) => (a, b),
    };
    tally.add(a.len() + b.len());
    match (has_double(a), has_double(b)) {
        (true, true) => true,
        (true, false) => runs_in_order(a, b, tally, chunk_intersects),
        (false, _) => runs_in_order(b, a, tally, chunk_intersects),
    }
}

/// Removes chunks from one end of both lists as long as they meet one to one.
fn peel<'a, 'b, T: Tally>(
    mut a: &'a str,
    mut b: &'b str,
    end: End,
    tally: &mut T,
) -> Peeled<'a, 'b> {
    loop {
        let (Some((x, a_rest)), Some((y, b_rest))) = (end.split(a, tally), end.split(b, tally))
        else {
            tally.add(a.len() + b.len());
            return Peeled::Decided(all_double(a) && all_double(b));
        };
        if x == "**" || y == "**" {
            return Peeled::Open(a, b);
        }
        if !chunk_intersects(x, y, tally) {
            return Peeled::Decided(false);
        }
        (a, b) = (a_rest, b_rest);
    }
}

fn has_double(list: &str) -> bool {
    list.split('/').any(|chunk| chunk == "**")
}

/// Returns true if the list can match the empty one.
fn all_double(list: &str) -> bool {
    list.is_empty() || list.split('/').all(|chunk| chunk == "**")
}
