// SPDX-License-Identifier: MIT OR Apache-2.0

//! The keys of rules, found by the key of a message without a look at each of them.
//!
//! A key is filed under its leading chunks without wildcards. A key that includes another one
//! starts with the same chunks there, because such a chunk includes itself only.

use std::{collections::BTreeMap, ops::Bound};

use zonda_codec::{KeyExpr, key_expr::is_wild};

/// Keys and the numbers of the rules that have them.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    by_start: BTreeMap<Box<str>, Vec<FiledKey>>,
    /// Bytes of the longest start. A message's key is not looked up beyond it.
    longest: usize,
}

#[derive(Debug)]
struct FiledKey {
    key: KeyExpr<'static>,
    rule: usize,
}

impl KeyIndex {
    pub(super) fn insert(&mut self, key: KeyExpr<'static>, rule: usize) {
        let start = start_of(key.as_str());
        self.longest = self.longest.max(start.len());
        let filed = FiledKey {
            key: key.clone(),
            rule,
        };
        self.by_start.entry(start.into()).or_default().push(filed);
    }

    /// Returns the rules with a key that includes `key`, in ascending order.
    pub(super) fn including(&self, key: &KeyExpr<'_>) -> Vec<usize> {
        let found = self.filed_at_starts_of(key.as_str());
        in_order(found.filter(|filed| filed.key.includes(key)))
    }

    /// Returns the rules with a key that intersects `key`, in ascending order.
    pub(super) fn intersecting(&self, key: &KeyExpr<'_>) -> Vec<usize> {
        // behind its first wildcard, `key` fits longer starts than its own
        let start = start_of(key.as_str());
        let shorter = self.filed_at_starts_of(start);
        let longer = self
            .by_start
            .range::<str, _>((Bound::Included(start), Bound::Unbounded));
        let longer = longer.take_while(|(longer, _)| longer.starts_with(start));
        let all = shorter.chain(longer.flat_map(|(_, filed)| filed));
        in_order(all.filter(|filed| filed.key.intersects(key)))
    }

    /// Returns the keys that are filed under `text` or some of its leading chunks.
    fn filed_at_starts_of<'i>(&'i self, text: &'i str) -> impl Iterator<Item = &'i FiledKey> {
        let ends = text.match_indices('/').map(|(at, _)| at);
        let ends = std::iter::once(0).chain(ends).chain([text.len()]);
        let ends = ends.take_while(|end| *end <= self.longest);
        let filed = ends.filter_map(|end| self.by_start.get(text.get(..end)?));
        filed.flatten()
    }
}

/// Returns the leading chunks without wildcards.
fn start_of(key: &str) -> &str {
    let mut end = 0;
    for chunk in key.split('/') {
        if is_wild(chunk) {
            return key.get(..end).unwrap_or(key).trim_end_matches('/');
        }
        end += chunk.len() + 1;
    }
    key
}

fn in_order<'i>(filed: impl Iterator<Item = &'i FiledKey>) -> Vec<usize> {
    let mut rules: Vec<_> = filed.map(|filed| filed.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 18] = [
        "a", "b", "a/b", "a/b/c", "a/*", "a/**", "**", "*", "*/b", "a/*/c", "**/c", "@x", "@x/**",
        "a/@x", "a/**/@x", "a$*/b", "ab/b", "a/b$*",
    ];

    fn key(text: &str) -> KeyExpr<'static> {
        KeyExpr::try_from(text.to_owned()).expect("a key expression")
    }

    #[test]
    fn it_finds_what_a_look_at_each_key_finds() {
        let mut index = KeyIndex::default();
        for (rule, text) in KEYS.iter().enumerate() {
            index.insert(key(text), rule);
        }
        for text in KEYS.iter().chain(&["a/b/c/d", "c", "a/@x/y", "**/b", "ab"]) {
            let sought = key(text);
            let like = |is_like: &dyn Fn(&KeyExpr<'_>) -> bool| {
                let all = KEYS.iter().enumerate();
                let found = all.filter(|(_, text)| is_like(&key(text)));
                found.map(|(rule, _)| rule).collect::<Vec<_>>()
            };
            let including = like(&|own| own.includes(&sought));
            assert_eq!(index.including(&sought), including, "{text}");
            let intersecting = like(&|own| own.intersects(&sought));
            assert_eq!(index.intersecting(&sought), intersecting, "{text}");
        }
    }

    #[test]
    fn a_start_ends_before_the_first_wildcard() {
        for (text, start) in [
            ("a/b", "a/b"),
            ("a/*", "a"),
            ("**", ""),
            ("a/b$*/c", "a"),
            ("@x/y/**", "@x/y"),
        ] {
            assert_eq!(start_of(text), start);
        }
    }
}
