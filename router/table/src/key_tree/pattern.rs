// SPDX-License-Identifier: MIT OR Apache-2.0

//! Automaton of a searched key: the set of its beginnings that match the path of chunks read so
//! far, as one bit each. A chunk of the path costs chunks of the key / 64 steps, and for a chunk
//! with `$*` up to one step per chunk of the key.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use zonda_codec::key_expr;

use crate::key_tree::{ANY, is_verbatim};

/// Number of set bits up to which a loop over the bits is faster than masks.
const FEW: usize = 8;

/// A searched key. Position `p` in a set means that its first `p` chunks are matched.
pub(crate) struct Pattern<'k> {
    chunks: Vec<&'k str>,
    words: usize,
    /// The four masks one after another.
    masks: Vec<u64>,
    /// True for each mask that is not empty.
    holds: [bool; 4],
    places: OnceCell<HashMap<&'k str, Places>>,
    /// Steps in addition to one for each visited chunk.
    work: Cell<usize>,
}

/// Bytes of a chunk with `$*`, or one compared with it, that count for a step.
const GLOB_BYTES: usize = 16;

/// Positions of a kind of chunk in the key.
#[derive(Clone, Copy)]
enum Mask {
    /// `**`.
    Any,
    /// `*`.
    Star,
    /// Chunks with `$*`.
    Glob,
    /// All chunks that are not verbatim.
    Open,
}

/// Positions of one text in the key.
enum Places {
    Few(Vec<usize>),
    Many(Vec<u64>),
}

impl<'k> Pattern<'k> {
    pub(crate) fn new(key: &'k str) -> Self {
        let chunks: Vec<&str> = key.split('/').collect();
        let words = chunks.len() / 64 + 1;
        let (mut masks, mut holds) = (vec![0; 4 * words], [false; 4]);
        // Collect the positions of each kind of chunk.
        for (position, chunk) in chunks.iter().enumerate() {
            if is_verbatim(chunk) {
                continue;
            }
            set(&mut masks[Mask::Open as usize * words..], position);
            let kind = match *chunk {
                ANY => Mask::Any,
                "*" => Mask::Star,
                _ if chunk.contains('*') => Mask::Glob,
                _ => continue,
            };
            set(&mut masks[kind as usize * words..], position);
            holds[kind as usize] = true;
        }
        Pattern {
            chunks,
            words,
            masks,
            holds,
            places: OnceCell::new(),
            work: Cell::new(0),
        }
    }

    /// Returns the number of words in each set of positions.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Returns the steps counted since the last call, without the one for each visited chunk.
    pub(crate) fn take_work(&self) -> usize {
        self.work.take()
    }

    fn count(&self, steps: usize) {
        self.work.set(self.work.get() + steps);
    }

    /// Writes the positions that the empty path matches.
    pub(super) fn start(&self, to: &mut [u64]) {
        to.fill(0);
        set(to, 0);
        extend(to, self.mask(Mask::Any));
    }

    /// Returns true if the whole key is matched.
    pub(super) fn is_end(&self, at: &[u64]) -> bool {
        has(at, self.chunks.len())
    }

    /// Returns true if the key intersects `other`.
    pub(crate) fn meets(&self, other: &str) -> bool {
        let mut from = vec![0; self.words];
        let mut to = vec![0; self.words];
        self.start(&mut from);
        for chunk in other.split('/') {
            if !self.step(&from, chunk, &mut to) {
                return false;
            }
            std::mem::swap(&mut from, &mut to);
        }
        self.is_end(&from)
    }

    /// Returns the texts that may come next, if no wildcard may.
    pub(super) fn plain_next<'s>(
        &'s self,
        at: &'s [u64],
    ) -> Option<impl Iterator<Item = &'k str> + 's> {
        let is_wild = [Mask::Any, Mask::Star, Mask::Glob].iter().any(|kind| {
            if !self.holds[*kind as usize] {
                return false;
            }
            let mut words = at.iter().zip(self.mask(*kind));
            words.any(|(at, mask)| at & mask != 0)
        });
        (!is_wild).then(|| bits(at).filter_map(|position| self.chunks.get(position).copied()))
    }

    /// Writes the positions that match after one more chunk of the path; false if there is none.
    pub(super) fn step(&self, from: &[u64], chunk: &str, to: &mut [u64]) -> bool {
        // A `**` in the path matches any number of the key's chunks.
        self.count(self.words);
        if chunk == ANY {
            to.copy_from_slice(from);
            return extend(to, self.mask(Mask::Open));
        }
        let verbatim = is_verbatim(chunk);
        if verbatim {
            to.fill(0);
        } else {
            // A `**` takes the chunk and stays.
            and_into(to, from, self.mask(Mask::Any));
        }
        // Few positions are stepped one by one, many as words.
        if bits(from).nth(FEW).is_none() {
            self.step_each(bits(from), chunk, to);
        } else if verbatim || !chunk.contains('*') {
            self.step_plain(from, chunk, to);
        } else if chunk == "*" {
            let open = self.mask(Mask::Open).iter().zip(self.mask(Mask::Any));
            advance(
                to,
                from.iter()
                    .zip(open)
                    .map(|(at, (open, any))| at & open & !any),
            );
        } else {
            self.step_each(bits(from), chunk, to);
        }
        extend(to, self.mask(Mask::Any))
    }

    /// Steps each position on its own.
    fn step_each(&self, positions: impl Iterator<Item = usize>, chunk: &str, to: &mut [u64]) {
        let verbatim = is_verbatim(chunk);
        for position in positions {
            let Some(&own) = self.chunks.get(position) else {
                continue;
            };
            let meets = if verbatim || is_verbatim(own) {
                own == chunk
            } else {
                own != ANY && self.chunks_meet(own, chunk)
            };
            if meets {
                set(to, position + 1);
            }
        }
    }

    /// Returns true if two chunks, neither verbatim nor `**`, intersect.
    fn chunks_meet(&self, own: &str, chunk: &str) -> bool {
        if own == "*" || chunk == "*" || own == chunk {
            return true;
        }
        let is_glob = |chunk: &str| chunk.contains('$');
        if !is_glob(own) && !is_glob(chunk) {
            return false;
        }
        self.count(1 + (own.len() + chunk.len()) / GLOB_BYTES);
        key_expr::intersects(own, chunk)
    }

    /// Steps all positions at once, for a chunk without wildcards.
    fn step_plain(&self, from: &[u64], chunk: &str, to: &mut [u64]) {
        match self.places().get(chunk) {
            None => {}
            Some(Places::Few(places)) => {
                for &position in places.iter().filter(|place| has(from, **place)) {
                    set(to, position + 1);
                }
            }
            Some(Places::Many(mask)) => {
                advance(to, from.iter().zip(mask).map(|(at, mask)| at & mask));
            }
        }
        if self.holds[Mask::Star as usize] && !is_verbatim(chunk) {
            let star = self.mask(Mask::Star);
            advance(to, from.iter().zip(star).map(|(at, mask)| at & mask));
        }
        if self.holds[Mask::Glob as usize] && !is_verbatim(chunk) {
            let mut glob = vec![0; self.words];
            and_into(&mut glob, from, self.mask(Mask::Glob));
            self.step_each(bits(&glob), chunk, to);
        }
    }

    fn mask(&self, kind: Mask) -> &[u64] {
        let start = kind as usize * self.words;
        self.masks.get(start..start + self.words).unwrap_or(&[])
    }

    fn places(&self) -> &HashMap<&'k str, Places> {
        self.places.get_or_init(|| {
            let mut lists: HashMap<&str, Vec<usize>> = HashMap::new();
            for (position, chunk) in self.chunks.iter().enumerate() {
                lists.entry(chunk).or_default().push(position);
            }
            let pack = |(chunk, places): (_, Vec<usize>)| {
                if places.len() <= self.words {
                    return (chunk, Places::Few(places));
                }
                let mut mask = vec![0; self.words];
                places.iter().for_each(|place| set(&mut mask, *place));
                (chunk, Places::Many(mask))
            };
            lists.into_iter().map(pack).collect()
        })
    }
}

fn set(words: &mut [u64], position: usize) {
    if let Some(word) = words.get_mut(position / 64) {
        *word |= 1 << (position % 64);
    }
}

fn has(words: &[u64], position: usize) -> bool {
    words
        .get(position / 64)
        .is_some_and(|word| word & (1 << (position % 64)) != 0)
}

/// Returns the positions in a set, in order.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        std::iter::successors((word != 0).then_some(word), |rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| index * 64 + rest.trailing_zeros() as usize)
    })
}

fn and_into(to: &mut [u64], from: &[u64], mask: &[u64]) {
    for ((to, from), mask) in to.iter_mut().zip(from).zip(mask) {
        *to = from & mask;
    }
}

/// Adds the positions one behind those of `from`.
fn advance(to: &mut [u64], from: impl Iterator<Item = u64>) {
    let mut carry = 0;
    for (to, word) in to.iter_mut().zip(from) {
        *to |= word << 1 | carry;
        carry = word >> 63;
    }
}

/// Adds to each position in `mask` the next one, and so on: an addition carries through a run of
/// the mask's bits. Returns true if there is any position.
fn extend(to: &mut [u64], mask: &[u64]) -> bool {
    let (mut carry, mut all) = (false, 0);
    for (to, &mask) in to.iter_mut().zip(mask) {
        let (sum, over) = mask.overflowing_add(*to & mask);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        *to |= sum ^ mask;
        carry = over || over_again;
        all |= *to;
    }
    all != 0
}
