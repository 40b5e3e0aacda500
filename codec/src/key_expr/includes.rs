// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inclusion: a key expression covers another one entirely.
//!
//! Inclusion by the plan of intersection, with one side as the pattern: verbatim chunks of both
//! sides must be equal in the same order and cut both keys into parts. In a part, chunks before the
//! first and after the last `**` of the pattern meet one to one; the runs between its `**` are
//! searched from left to right. A `**` of the covered side can only be absorbed by a `**` of the
//! pattern.

use super::chunks::{End, Peeled, Tally, in_parts, peel_ends, runs_in_order};
use super::glob::chunk_includes;
use super::is_wild;

/// Returns true if every name that belongs to `b` also belongs to `a`. Both must be canonical.
///
/// The comparison is that of the protocol, chunk by chunk: a `true` is always right, but some true
/// inclusions are not seen (`*/**` covers every name of `**/x`, yet its `*` is not matched with
/// that `**`). Time is bounded by the product of the lengths; nothing is allocated.
///
/// ```
/// use zonda_codec::key_expr::includes;
/// assert!(includes("a/**", "a/*/c"));
/// assert!(includes("*/**", "*/*"));
/// assert!(!includes("*/**", "**"));
/// assert!(!includes("**", "@a"));
/// ```
#[inline]
pub fn includes(a: &str, b: &str) -> bool {
    a == b || (is_wild(a) && counted(a, b, &mut ()))
}

/// Returns true if `a` includes `b`, computed without the shortcuts of `includes`.
pub(super) fn counted<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    in_parts(a, b, tally, part_includes)
}

/// Returns true if one list includes the other, both without verbatim chunks.
fn part_includes<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    let (a, b) = match peel_ends(a, b, tally, peel) {
        Peeled::Decided(answer) => return answer,
        Peeled::Open(a, b) => (a, b),
    };
    runs_in_order(a, b, tally, |wanted, found, tally: &mut T| {
        found != "**" && chunk_includes(wanted, found, tally)
    })
}

/// Removes chunks from one end of both lists up to a `**` of the pattern `a`.
fn peel<'a, 'b, T: Tally>(
    mut a: &'a str,
    mut b: &'b str,
    end: End,
    tally: &mut T,
) -> Peeled<'a, 'b> {
    loop {
        let Some((x, a_rest)) = end.split(a, tally) else {
            return Peeled::Decided(b.is_empty());
        };
        if x == "**" {
            return Peeled::Open(a, b);
        }
        let Some((y, b_rest)) = end.split(b, tally) else {
            return Peeled::Decided(false);
        };
        if y == "**" || !chunk_includes(x, y, tally) {
            return Peeled::Decided(false);
        }
        (a, b) = (a_rest, b_rest);
    }
}
