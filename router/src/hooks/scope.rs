// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching of rules and messages.

use zonda_codec::KeyExpr;

use crate::config::{Flow, Scope};

use super::LinkFacts;

impl Scope {
    /// Returns true if the rule may apply to messages on `key` that pass these links in direction
    /// `flow`. Without a key, the message may be on any key.
    pub(super) fn has(&self, links: &LinkFacts, flow: Flow, key: Option<&KeyExpr<'_>>) -> bool {
        self.flows.contains(&flow)
            && self
                .zids
                .as_ref()
                .is_none_or(|zids| zids.contains(&links.zid))
            && has_one_of(&self.protocols, &links.protocols)
            && has_one_of(&self.interfaces, &links.interfaces)
            && self.has_key(key)
    }

    fn has_key(&self, key: Option<&KeyExpr<'_>>) -> bool {
        let (Some(keys), Some(key)) = (&self.keys, key) else {
            return true;
        };
        keys.iter().any(|own| own.includes(key))
    }
}

fn has_one_of(listed: &Option<Vec<String>>, own: &[String]) -> bool {
    let Some(listed) = listed else {
        return true;
    };
    own.iter().any(|name| listed.contains(name))
}
