// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of chunks as text: `""` is the empty list, otherwise chunks joined by `/`. Also the cuts and the search that both
//! relations share, and the step counter with which the tests prove its bound.

/// Counter of the elementary steps of a relation. The production counter is `()`, which costs
/// nothing.
pub(super) trait Tally {
    /// Counts work proportional to `bytes`.
    fn add(&mut self, bytes: usize);
}

impl Tally for () {
    #[inline(always)]
    fn add(&mut self, _: usize) {}
}

/// The end of a list that is worked on.
#[derive(Clone, Copy)]
pub(super) enum End {
    Front,
    Back,
}

impl End {
    /// Returns the chunk at this end and the list without it.
    #[inline]
    pub(super) fn split<'a, T: Tally>(
        self,
        list: &'a str,
        tally: &mut T,
    ) -> Option<(&'a str, &'a str)> {
        if list.is_empty() {
            return None;
        }
        let (chunk, rest) = match self {
            End::Front => {
                // Chunks are short: a plain loop beats the library's word-wise search.
                let slash = list.as_bytes().iter().position(|byte| *byte == b'/');
                let (chunk, rest) = list.split_at(slash.unwrap_or(list.len()));
                (chunk, rest.get(1..).unwrap_or(""))
            }
            End::Back => match list.rsplit_once('/') {
                Some((rest, chunk)) => (chunk, rest),
                None => (list, ""),
            },
        };
        tally.add(chunk.len() + 1);
        Some((chunk, rest))
    }
}

/// A list divided at its first verbatim chunk.
struct Cut<'a> {
    before: &'a str,
    verbatim: &'a str,
    after: &'a str,
}

/// Divides the list at its first chunk that starts with `@`.
#[inline]
fn cut_at_verbatim(list: &str) -> Option<Cut<'_>> {
    let bytes = list.as_bytes();
    if !bytes.contains(&b'@') {
        return None;
    }
    let starts_chunk = |at: usize| at == 0 || bytes.get(at - 1) == Some(&b'/');
    let (at, _) = list.match_indices('@').find(|(at, _)| starts_chunk(*at))?;
    let (before, rest) = list.split_at(at);
    let (verbatim, after) = rest.split_once('/').unwrap_or((rest, ""));
    Some(Cut {
        before: before.strip_suffix('/').unwrap_or(before),
        verbatim,
        after,
    })
}

/// Cuts both lists at their verbatim chunks, which must be equal and in the same order; returns
/// true if `relation` holds between their parts, pair by pair.
#[inline]
pub(super) fn in_parts<T: Tally>(
    mut a: &str,
    mut b: &str,
    tally: &mut T,
    relation: impl Fn(&str, &str, &mut T) -> bool,
) -> bool {
    tally.add(a.len() + b.len());
    loop {
        match (cut_at_verbatim(a), cut_at_verbatim(b)) {
            (None, None) => return relation(a, b, tally),
            (Some(x), Some(y)) => {
                if x.verbatim != y.verbatim || !relation(x.before, y.before, tally) {
                    return false;
                }
                (a, b) = (x.after, y.after);
            }
            _ => return false,
        }
    }
}

/// Result of taking chunks off one end of two lists.
pub(super) enum Peeled<'a, 'b> {
    /// True if the lists are related.
    Decided(bool),
    /// The lists without the removed chunks.
    Open(&'a str, &'b str),
}

/// Removes chunks from the front, then from the back of two lists, as long as nothing is decided.
#[inline]
pub(super) fn peel_ends<'a, 'b, T: Tally>(
    mut a: &'a str,
    mut b: &'b str,
    tally: &mut T,
    peel: impl Fn(&'a str, &'b str, End, &mut T) -> Peeled<'a, 'b>,
) -> Peeled<'a, 'b> {
    for end in [End::Front, End::Back] {
        (a, b) = match peel(a, b, end, tally) {
            Peeled::Open(a, b) => (a, b),
            decided => return decided,
        };
    }
    Peeled::Open(a, b)
}

/// Returns true if `text` matches `pattern`, where each `**` of the pattern absorbs any chunks and
/// every other chunk of it takes one chunk of the text for which `accepts` holds. The pattern
/// starts and ends with `**`.
///
/// Between two `**` stands a run of chunks. Taking the leftmost place for each run leaves the most text for the next
/// ones, and `**` absorbs whatever lies between, so the first choice is never regretted. Within the search for one run
/// a pair (pattern chunk, text chunk) is compared once at most: the work is bounded by the product of the lengths.
pub(super) fn runs_in_order<T: Tally>(
    mut pattern: &str,
    mut text: &str,
    tally: &mut T,
    accepts: impl Fn(&str, &str, &mut T) -> bool,
) -> bool {
    while let Some((chunk, rest)) = End::Front.split(pattern, tally) {
        if chunk == "**" {
            pattern = rest;
            continue;
        }
        // The leftmost place of the run; where it does not match, `**` absorbs one chunk more.
        match take_run(pattern, text, tally, &accepts) {
            Attempt::Taken {
                pattern: after_run,
                text: after_text,
            } => (pattern, text) = (after_run, after_text),
            Attempt::TooShort => return false,
            Attempt::Mismatch => match End::Front.split(text, tally) {
                Some((_, rest)) => text = rest,
                None => return false,
            },
        }
    }
    true
}

enum Attempt<'p, 't> {
    /// The run ended; with the rest of both.
    Taken {
        pattern: &'p str,
        text: &'t str,
    },
    /// The text ended first: no later start can succeed either.
    TooShort,
    Mismatch,
}

/// Compares the chunks of the pattern up to its next `**` with the start of the text.
fn take_run<'p, 't, T: Tally>(
    mut pattern: &'p str,
    mut text: &'t str,
    tally: &mut T,
    accepts: &impl Fn(&str, &str, &mut T) -> bool,
) -> Attempt<'p, 't> {
    loop {
        let Some((wanted, pattern_rest)) = End::Front
            .split(pattern, tally)
            .filter(|(chunk, _)| *chunk != "**")
        else {
            return Attempt::Taken { pattern, text };
        };
        let Some((found, text_rest)) = End::Front.split(text, tally) else {
            return Attempt::TooShort;
        };
        if !accepts(wanted, found, tally) {
            return Attempt::Mismatch;
        }
        (pattern, text) = (pattern_rest, text_rest);
    }
}
