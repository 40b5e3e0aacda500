// SPDX-License-Identifier: MIT OR Apache-2.0
//! Relations of two single chunks, neither of them verbatim or `**`. Linear in their lengths.

use super::chunks::Tally;

/// Returns true if some chunk matches both.
#[inline]
pub(super) fn chunk_intersects<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    tally.add(a.len() + b.len() + 2);
    if a == b || a == "*" || b == "*" {
        return true;
    }
    match (is_glob(a), is_glob(b)) {
        (false, false) => false,
        (true, false) => glob_matches(a, b, tally),
        (false, true) => glob_matches(b, a, tally),
        (true, true) => ends_agree(a, b, tally),
    }
}

/// Returns true if every chunk that matches `b` matches `a`, compared by the letters of `b`: its
/// `$*` counts as literal bytes, which only a `$*` of `a` can cover.
#[inline]
pub(super) fn chunk_includes<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    tally.add(a.len() + b.len() + 2);
    a == b || a == "*" || (is_glob(a) && glob_matches(a, b, tally))
}

#[inline]
fn is_glob(chunk: &str) -> bool {
    chunk.as_bytes().contains(&b'$')
}

/// Returns true if the literal pieces of `glob` appear in `text`: the first as its prefix, the last
/// as its suffix, the inner ones in between from left to right. Each search continues where the
/// last one ended, so `text` is read once.
fn glob_matches<T: Tally>(glob: &str, text: &str, tally: &mut T) -> bool {
    tally.add(glob.len() + text.len());
    // Prefix and suffix are fixed.
    let Some((prefix, rest)) = glob.split_once("$*") else {
        return glob == text;
    };
    let (middle, suffix) = rest.rsplit_once("$*").unwrap_or(("", rest));
    let Some(mut between) = text
        .strip_prefix(prefix)
        .and_then(|text| text.strip_suffix(suffix))
    else {
        return false;
    };
    // The pieces between them are searched from left to right.
    for piece in middle.split("$*") {
        tally.add(piece.len());
        match between.split_once(piece) {
            Some((skipped, after)) => {
                tally.add(skipped.len());
                between = after;
            }
            None => {
                tally.add(between.len());
                return false;
            }
        }
    }
    true
}

/// Returns true if two globs have a chunk in common. Their inner pieces never conflict (a `$*` of
/// either side absorbs those of the other), so only the literal ends must agree: one of the two
/// prefixes starts the other, one suffix ends the other.
fn ends_agree<T: Tally>(a: &str, b: &str, tally: &mut T) -> bool {
    tally.add(a.len() + b.len());
    let prefix = |glob: &'_ str| glob.split("$*").next().map_or(0, str::len);
    let suffix = |glob: &'_ str| glob.rsplit("$*").next().map_or(0, str::len);
    let front = prefix(a).min(prefix(b));
    let back = suffix(a).min(suffix(b));
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.get(..front) == b.get(..front) && a.get(a.len() - back..) == b.get(b.len() - back..)
}
