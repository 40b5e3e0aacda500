// SPDX-License-Identifier: MIT OR Apache-2.0

//! The namespace of a session: a prefix that is added to every key on the way out and removed on
//! the way in. No other part knows of it: the sender of a key calls
//! [`Session::outgoing`](crate::Session::outgoing), the receiver [`Namespace::incoming`].

use std::sync::Arc;

use zonda_codec::{KeyExpr, KeyExprError};

/// A key without wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace(KeyExpr<'static>);

impl Namespace {
    pub(crate) fn new(key: KeyExpr<'static>) -> Namespace {
        Namespace(key)
    }

    /// Returns the key as other nodes know it.
    pub(crate) fn outgoing(&self, key: &KeyExpr<'_>) -> Result<KeyExpr<'static>, KeyExprError> {
        self.0.join(key.as_str())
    }

    /// Returns the key as the session knows it; `None` for a key outside of the namespace. Of a key
    /// with wildcards it is the part below the namespace.
    pub(crate) fn incoming(&self, key: &KeyExpr<'_>) -> Option<KeyExpr<'static>> {
        let mut rest = key.as_str();
        let mut chunks = self.0.as_str().split('/');
        while let Some(chunk) = chunks.next() {
            let (first, tail) = rest.split_once('/').unwrap_or((rest, ""));
            if first == "**" {
                // The wildcard matches the remaining chunks, unless one of them is verbatim (`@`).
                let mut left = std::iter::once(chunk).chain(chunks);
                return left
                    .all(|chunk| !chunk.starts_with('@'))
                    .then(|| KeyExpr::new(rest.to_owned()).ok())
                    .flatten();
            }
            if first != chunk && !matches(first, chunk) {
                return None;
            }
            rest = tail;
        }
        match rest.is_empty() {
            true => None,
            false => KeyExpr::new(rest.to_owned()).ok(),
        }
    }
}

/// Returns the key as a session of this namespace knows it; `None` for a key outside of it.
pub(crate) fn incoming(
    namespace: Option<&Arc<Namespace>>,
    key: KeyExpr<'static>,
) -> Option<KeyExpr<'static>> {
    match namespace {
        None => Some(key),
        Some(namespace) => namespace.incoming(&key),
    }
}

/// Returns true if a chunk with wildcards matches a plain one.
fn matches(pattern: &str, chunk: &str) -> bool {
    if !pattern.contains('*') {
        return false;
    }
    match (KeyExpr::try_from(pattern), KeyExpr::try_from(chunk)) {
        (Ok(pattern), Ok(chunk)) => pattern.intersects(&chunk),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> KeyExpr<'static> {
        KeyExpr::try_from(text.to_owned()).expect("a key")
    }

    #[test]
    fn what_goes_out_comes_back() {
        let namespace = Namespace::new(key("a/b"));
        for text in ["c", "a/b", "**", "*/x$*", "c/**", "@v/c"] {
            let outside = namespace.outgoing(&key(text)).expect("a key");
            assert_eq!(outside.as_str(), format!("a/b/{text}"));
            assert_eq!(namespace.incoming(&outside), Some(key(text)));
        }
    }

    #[test]
    fn what_is_outside_stays_outside() {
        let namespace = Namespace::new(key("a/b"));
        for text in [
            "a", "a/b", "a/c/d", "b/a/c", "a/bc/d", "a/c$*/d", "x/**", "@a/b/c",
        ] {
            assert_eq!(namespace.incoming(&key(text)), None, "{text}");
        }
        let verbatim = Namespace::new(key("a/@b"));
        for text in ["**", "a/*/c", "*/**", "a/**/c"] {
            assert_eq!(verbatim.incoming(&key(text)), None, "{text}");
        }
        assert_eq!(verbatim.incoming(&key("a/@b/c")), Some(key("c")));
    }

    #[test]
    fn wildcards_reach_in() {
        let namespace = Namespace::new(key("a/b"));
        for (outside, inside) in [
            ("**", "**"),
            ("*/*/c", "c"),
            ("a/**", "**"),
            ("**/c", "**/c"),
            ("a/b$*/c/*", "c/*"),
            ("$*a/*/**", "**"),
        ] {
            let found = namespace.incoming(&key(outside));
            assert_eq!(found, Some(key(inside)), "{outside}");
        }
    }
}
