// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`nonwild_keyexpr`] and [`OwnedNonWildKeyExpr`]: keys that stand for one name, by their type.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, Div};

use ref_cast::{RefCastCustom, ref_cast_custom};

use super::borrowed::keyexpr;
use super::error::{KeyExprError, quoted};
use super::owned::KeyExpr;

/// A key without wildcards that is borrowed. It dereferences to [`keyexpr`].
///
/// ```
/// use zonda_codec::{keyexpr, nonwild_keyexpr};
/// let name = nonwild_keyexpr::new("plant/boiler")?;
/// assert!(keyexpr::new("plant/*")?.includes(name));
/// assert!(nonwild_keyexpr::new("plant/*").is_err());
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
#[allow(non_camel_case_types)]
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, RefCastCustom)]
#[repr(transparent)]
pub struct nonwild_keyexpr(keyexpr);

impl nonwild_keyexpr {
    #[ref_cast_custom]
    fn of(key: &keyexpr) -> &nonwild_keyexpr;

    /// Checks a text or a key.
    ///
    /// # Errors
    /// The key is not a canonical key expression, or has a wildcard.
    pub fn new<'a, T, E>(key: &'a T) -> Result<&'a nonwild_keyexpr, KeyExprError>
    where
        T: ?Sized,
        &'a keyexpr: TryFrom<&'a T, Error = E>,
        E: Into<KeyExprError>,
    {
        let key: &keyexpr = key.try_into().map_err(Into::into)?;
        key.try_into()
    }

    /// Creates a key of a text that the caller knows to be a canonical key expression without
    /// wildcards, as [`keyexpr::from_str_unchecked`].
    pub fn from_str_unchecked(text: &str) -> &nonwild_keyexpr {
        Self::of(keyexpr::from_str_unchecked(text))
    }
}

impl Deref for nonwild_keyexpr {
    type Target = keyexpr;

    fn deref(&self) -> &keyexpr {
        &self.0
    }
}

impl fmt::Display for nonwild_keyexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a> TryFrom<&'a keyexpr> for &'a nonwild_keyexpr {
    type Error = KeyExprError;

    fn try_from(key: &'a keyexpr) -> Result<Self, KeyExprError> {
        match key.find('*') {
            None => Ok(nonwild_keyexpr::of(key)),
            Some(at) => Err(KeyExprError::Wild {
                key: quoted(key),
                at,
            }),
        }
    }
}

impl ToOwned for nonwild_keyexpr {
    type Owned = OwnedNonWildKeyExpr;

    fn to_owned(&self) -> OwnedNonWildKeyExpr {
        OwnedNonWildKeyExpr(self.0.to_owned())
    }
}

/// A key without wildcards that borrows nothing. It dereferences to [`nonwild_keyexpr`]; cloning shares the text.
///
/// ```
/// use zonda_codec::{OwnedNonWildKeyExpr, keyexpr};
/// let prefix = OwnedNonWildKeyExpr::try_from(String::from("plant"))?;
/// assert_eq!((&prefix / keyexpr::new("*/temp")?).as_str(), "plant/*/temp");
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnedNonWildKeyExpr(KeyExpr<'static>);

impl TryFrom<String> for OwnedNonWildKeyExpr {
    type Error = KeyExprError;

    fn try_from(text: String) -> Result<Self, KeyExprError> {
        let key = KeyExpr::new(text)?;
        nonwild_keyexpr::new(&*key)?;
        Ok(OwnedNonWildKeyExpr(key))
    }
}

impl From<&nonwild_keyexpr> for OwnedNonWildKeyExpr {
    fn from(key: &nonwild_keyexpr) -> Self {
        key.to_owned()
    }
}

impl Deref for OwnedNonWildKeyExpr {
    type Target = nonwild_keyexpr;

    fn deref(&self) -> &nonwild_keyexpr {
        nonwild_keyexpr::of(&self.0)
    }
}

impl Borrow<nonwild_keyexpr> for OwnedNonWildKeyExpr {
    fn borrow(&self) -> &nonwild_keyexpr {
        self
    }
}

/// The two with a `/` between them, canonized.
impl Div<&keyexpr> for &OwnedNonWildKeyExpr {
    type Output = KeyExpr<'static>;

    fn div(self, tail: &keyexpr) -> KeyExpr<'static> {
        &self.0 / tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_anywhere_is_refused() -> Result<(), KeyExprError> {
        for wild in ["*", "a/*", "a/**/b", "a/b$*"] {
            let error = nonwild_keyexpr::new(wild).unwrap_err();
            assert!(matches!(error, KeyExprError::Wild { .. }), "{error}");
        }
        assert!(nonwild_keyexpr::new("a//b").is_err());
        assert!(OwnedNonWildKeyExpr::try_from(String::from("a/*")).is_err());
        let name = nonwild_keyexpr::new(keyexpr::new("@a/b")?)?;
        assert_eq!(name.to_string(), "@a/b");
        let owned = name.to_owned();
        assert_eq!(&*owned, name);
        assert_eq!(&owned / keyexpr::new("c")?, KeyExpr::new("@a/b/c")?);
        Ok(())
    }
}
