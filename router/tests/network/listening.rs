// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices that a listener of a session has got.

use std::collections::BTreeSet;

use zonda_router::table::Notice;

pub struct Listener {
    pub key: &'static str,
    pub heard: Heard,
}

pub enum Heard {
    /// The keys of the tokens that are alive.
    Tokens(BTreeSet<String>),
    /// True if a subscriber or a queryable matches.
    Matching(bool),
}

impl Listener {
    pub fn to_tokens(key: &'static str) -> Self {
        let heard = Heard::Tokens(BTreeSet::new());
        Listener { key, heard }
    }

    pub fn to_matching(key: &'static str) -> Self {
        let heard = Heard::Matching(false);
        Listener { key, heard }
    }

    pub fn told(&mut self, notice: &Notice) {
        match (&mut self.heard, notice) {
            (Heard::Tokens(alive), Notice::Token { key, alive: true }) => {
                assert!(alive.insert(key.as_str().to_owned()), "{key} was alive");
            }
            (Heard::Tokens(alive), Notice::Token { key, alive: false }) => {
                assert!(alive.remove(key.as_str()), "{key} was not alive");
            }
            (Heard::Matching(before), Notice::Matching(now)) => {
                assert_ne!(before, now, "each notice is a change");
                *before = *now;
            }
            (_, Notice::End { .. }) => {}
            (_, other) => panic!("{other:?} is not for this listener"),
        }
    }
}
