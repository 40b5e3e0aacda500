// SPDX-License-Identifier: MIT OR Apache-2.0

//! The keys on which advanced publishers and subscribers find each other, all below the user's key `K`:
//! ```text
//! K/@adv/pub/<zid>/<eid | uhlc>/<meta | _>    a publisher: its token, its cache, its heartbeats
//! K/@adv/sub/<zid>/<eid>/<meta | _>           a subscriber: its token
//! ```

use zonda_codec::{EntityGlobalId, KeyExpr, KeyExprError, ZenohId};

/// Placeholder of the number of a publisher that numbers nothing.
const STAMPED: &str = "uhlc";
/// Placeholder of missing metadata.
const NOTHING: &str = "_";

/// Identity of one sequence of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A publisher that numbers its samples.
    Numbered(EntityGlobalId),
    /// Samples stamped by this clock.
    Stamped(ZenohId),
}

impl Source {
    /// Returns the source whose token or heartbeat has this key.
    pub fn of_key(key: &KeyExpr<'_>) -> Option<Source> {
        let (_, entity) = key.as_str().split_once("/@adv/pub/")?;
        let mut chunks = entity.split('/');
        let zid: ZenohId = chunks.next()?.parse().ok()?;
        match chunks.next()? {
            STAMPED => Some(Source::Stamped(zid)),
            number => {
                let eid = number.parse().ok()?;
                Some(Source::Numbered(EntityGlobalId { zid, eid }))
            }
        }
    }
}

type Made = Result<KeyExpr<'static>, KeyExprError>;

/// Returns a publisher's own key.
pub(super) fn publisher(key: &KeyExpr<'_>, of: Source, meta: Option<&KeyExpr<'_>>) -> Made {
    let meta = meta.map_or(NOTHING, |meta| meta.as_str());
    match of {
        Source::Numbered(EntityGlobalId { zid, eid }) => {
            key.join(&format!("@adv/pub/{zid}/{eid}/{meta}"))
        }
        Source::Stamped(zid) => key.join(&format!("@adv/pub/{zid}/{STAMPED}/{meta}")),
    }
}

/// Returns a subscriber's own key.
pub(super) fn subscriber(
    key: &KeyExpr<'_>,
    id: EntityGlobalId,
    meta: Option<&KeyExpr<'_>>,
) -> Made {
    let meta = meta.map_or(NOTHING, |meta| meta.as_str());
    key.join(&format!("@adv/sub/{}/{}/{meta}", id.zid, id.eid))
}

/// Returns the key of every cache on these keys.
pub(super) fn caches(key: &KeyExpr<'_>) -> Made {
    key.join("@adv/**")
}

/// Returns the key of every publisher on these keys.
pub(super) fn publishers(key: &KeyExpr<'_>) -> Made {
    key.join("@adv/pub/**")
}

/// Returns the key of the cache of this publisher.
pub(super) fn cache_of(key: &KeyExpr<'_>, id: EntityGlobalId) -> Made {
    key.join(&format!("@adv/*/{}/{}/**", id.zid, id.eid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_publishers_are_made_and_read() {
        let zid: ZenohId = "c1".parse().unwrap();
        let id = EntityGlobalId { zid, eid: 9 };
        let (key, meta) = (KeyExpr::new("adv/x").unwrap(), KeyExpr::new("a/b").unwrap());
        let numbered = publisher(&key, Source::Numbered(id), None).unwrap();
        assert_eq!(numbered, "adv/x/@adv/pub/c1/9/_");
        assert_eq!(Source::of_key(&numbered), Some(Source::Numbered(id)));
        let stamped = publisher(&key, Source::Stamped(zid), Some(&meta)).unwrap();
        assert_eq!(stamped, "adv/x/@adv/pub/c1/uhlc/a/b");
        assert_eq!(Source::of_key(&stamped), Some(Source::Stamped(zid)));
        let other = subscriber(&key, id, None).unwrap();
        assert_eq!(other, "adv/x/@adv/sub/c1/9/_");
        assert_eq!(Source::of_key(&other), None);
        assert_eq!(cache_of(&key, id).unwrap(), "adv/x/@adv/*/c1/9/**");
        assert!(caches(&key).unwrap().intersects(&numbered));
        assert!(publishers(&key).unwrap().intersects(&stamped));
        for no in [
            "adv/x",
            "a/@adv/pub/c1",
            "a/@adv/pub/xyz/9/_",
            "a/@adv/pub/c1/n/_",
        ] {
            assert_eq!(Source::of_key(&KeyExpr::new(no).unwrap()), None, "{no}");
        }
    }
}
