// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, ids, roles and endpoints as texts, in formats of serde.

use serde_core::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

use crate::{Endpoint, KeyExpr, Locator, WhatAmI, ZenohId, keyexpr};

/// Implements both directions for types with `Display` and `FromStr`.
macro_rules! as_text {
    ($($text:ty),+) => {$(
        impl Serialize for $text {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $text {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(de::Error::custom)
            }
        }
    )+};
}

as_text!(ZenohId, WhatAmI, Endpoint, Locator);

impl Serialize for KeyExpr<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for keyexpr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for KeyExpr<'static> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        KeyExpr::new(text).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for &'de keyexpr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        keyexpr::new(<&'de str>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_back() -> serde_json::Result<()> {
        let key: KeyExpr = serde_json::from_str("\"a/**\"")?;
        assert_eq!(serde_json::to_string(&key)?, "\"a/**\"");
        assert!(serde_json::from_str::<KeyExpr>("\"a//b\"").is_err());
        let borrowed: &keyexpr = serde_json::from_str("\"a/b\"")?;
        assert!(key.includes(borrowed));
        let endpoint: Endpoint = serde_json::from_str("\"tcp/h:1#iface=lo\"")?;
        assert_eq!(serde_json::to_string(&endpoint)?, "\"tcp/h:1#iface=lo\"");
        assert_eq!(serde_json::from_str::<WhatAmI>("\"peer\"")?, WhatAmI::Peer);
        assert_eq!(
            serde_json::to_string(&serde_json::from_str::<ZenohId>("\"3a\"")?)?,
            "\"3a\""
        );
        Ok(())
    }
}
