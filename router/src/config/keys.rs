// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finding keys in the table: by path, by the section that they are in, by likeness to a text.

use crate::config::{
    kind::{Key, Kind},
    rows::ROWS,
};

/// The key with exactly this path.
pub fn find(path: &str) -> Option<&'static Key> {
    ROWS.iter().find(|k| k.path == path)
}

/// The key whose free-form subtree holds `path` (for example `plugins` for `plugins/rest/http_port`).
pub fn subtree_of(path: &str) -> Option<&'static Key> {
    let holds = |k: &&Key| k.kind == Kind::Tree && under(path, k.path);
    ROWS.iter().find(holds)
}

/// Whether some key lies below `path`.
pub fn is_section(path: &str) -> bool {
    path.is_empty() || ROWS.iter().any(|k| under(k.path, path))
}

/// The valid key or section that looks most like `path`, if any looks like it at all.
pub fn nearest(path: &str) -> Option<&'static str> {
    let last = |p: &str| p.rsplit('/').next().unwrap_or("").to_owned();
    let same_name = ROWS
        .iter()
        .map(|k| k.path)
        .filter(|p| last(p) == last(path));
    let best_namesake = same_name.min_by_key(|p| distance(path, p));
    let (steps, best) = candidates().map(|p| (distance(path, p), p)).min()?;
    if steps <= 2.max(path.chars().count() / 4) {
        Some(best)
    } else {
        best_namesake
    }
}

/// Whether a few changes make a valid key or section of `path`.
pub fn resembles(path: &str) -> bool {
    candidates().any(|known| distance(path, known) <= 2)
}

fn under(path: &str, section: &str) -> bool {
    path.strip_prefix(section)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Every key, and every section a key lies in.
fn candidates() -> impl Iterator<Item = &'static str> {
    ROWS.iter().flat_map(|k| {
        let sections = k
            .path
            .match_indices('/')
            .filter_map(|(i, _)| k.path.get(..i));
        sections.chain(std::iter::once(k.path))
    })
}

/// How many single-character edits lead from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let up = *cell;
            left = (diagonal + usize::from(x != *y)).min(up + 1).min(left + 1);
            diagonal = up;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
