// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`keyexpr`]: text that is known to be a canonical key expression, like `str` is text that is
//! known to be UTF-8.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::{Deref, Div};

use ref_cast::{RefCastCustom, ref_cast_custom};

use super::error::KeyExprError;
use super::owned::KeyExpr;

/// A borrowed canonical key expression; [`KeyExpr`] dereferences to it.
///
/// ```
/// use zonda_codec::keyexpr;
/// let room = keyexpr::new("plant/*/room")?;
/// assert!(room.intersects(keyexpr::new("plant/boiler/**")?));
/// assert_eq!((room / keyexpr::new("raw")?).as_str(), "plant/*/room/raw");
/// assert_eq!(room.chunks().count(), 3);
/// assert_eq!(room.get_nonwild_prefix().map(keyexpr::as_str), Some("plant"));
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
#[allow(non_camel_case_types)]
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, RefCastCustom)]
#[repr(transparent)]
pub struct keyexpr(str);

/// Relation between the names of two keys, from the first one's point of view: each level implies
/// those before it, except the first.
///
/// ```
/// use zonda_codec::{SetIntersectionLevel, keyexpr};
/// let level = keyexpr::new("a/**")?.relation_to(keyexpr::new("a/b")?);
/// assert_eq!(level, SetIntersectionLevel::Includes);
/// assert!(level > SetIntersectionLevel::Intersects);
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetIntersectionLevel {
    /// No name belongs to both.
    Disjoint,
    /// Some name belongs to both.
    Intersects,
    /// Every name of the second belongs to the first.
    Includes,
    /// The keys are equal.
    Equals,
}

impl keyexpr {
    #[ref_cast_custom]
    const fn of(text: &str) -> &keyexpr;

    /// Checks `text`, and borrows it.
    ///
    /// # Errors
    /// The text is not a canonical key expression.
    pub fn new<T: AsRef<str> + ?Sized>(text: &T) -> Result<&keyexpr, KeyExprError> {
        let text = text.as_ref();
        super::validate(text)?;
        Ok(Self::of(text))
    }

    /// Canonizes `text` in place, and borrows it.
    ///
    /// ```
    /// use zonda_codec::keyexpr;
    /// let mut text = String::from("a/**/*/$*");
    /// assert_eq!(keyexpr::autocanonize(&mut text)?.as_str(), "a/*/*/**");
    /// # Ok::<(), zonda_codec::KeyExprError>(())
    /// ```
    ///
    /// # Errors
    /// No respelling makes it a key expression.
    pub fn autocanonize(text: &mut String) -> Result<&keyexpr, KeyExprError> {
        if let Cow::Owned(canonical) = super::canonize(text)? {
            *text = canonical;
        }
        Ok(Self::of(text))
    }

    /// Checks a key that is known when the program is compiled; [`ke!`](crate::ke) calls it.
    ///
    /// # Panics
    /// The text is not a canonical key expression: in a constant, the program then does not
    /// compile.
    pub const fn constant(text: &str) -> &keyexpr {
        assert!(
            super::constant::is_canonical(text.as_bytes()),
            "not a canonical key expression"
        );
        Self::of(text)
    }

    /// Creates a key of a text that the caller knows to be a canonical key expression. With another
    /// text the relations have no meaning, and neighbours may refuse messages with it. (With the
    /// reference a call of this is `unsafe`; here the block around it does nothing.)
    pub const fn from_str_unchecked(text: &str) -> &keyexpr {
        Self::of(text)
    }

    /// Returns the text.
    #[inline]
    pub const fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if some name belongs to both keys.
    #[inline]
    pub fn intersects(&self, other: &keyexpr) -> bool {
        super::intersects(&self.0, &other.0)
    }

    /// Returns true if every name of `other` belongs to this key.
    #[inline]
    pub fn includes(&self, other: &keyexpr) -> bool {
        super::includes(&self.0, &other.0)
    }

    /// Returns the relation of this key's names to those of `other`.
    pub fn relation_to(&self, other: &keyexpr) -> SetIntersectionLevel {
        if self == other {
            SetIntersectionLevel::Equals
        } else if !self.intersects(other) {
            SetIntersectionLevel::Disjoint
        } else if self.includes(other) {
            SetIntersectionLevel::Includes
        } else {
            SetIntersectionLevel::Intersects
        }
    }

    /// Returns true if the key contains a wildcard.
    #[inline]
    pub fn is_wild(&self) -> bool {
        super::is_wild(&self.0)
    }

    /// Returns this key, `/`, and `tail`, canonized.
    ///
    /// # Errors
    /// `tail` is not a key expression in any spelling.
    pub fn join<S: AsRef<str> + ?Sized>(&self, tail: &S) -> Result<KeyExpr<'static>, KeyExprError> {
        KeyExpr::autocanonize(format!("{self}/{}", tail.as_ref()))
    }

    /// Returns the chunks between its `/`, each a key.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = &keyexpr> {
        self.0.split('/').map(Self::of)
    }

    /// Returns the chunks before the first one with a wildcard; `None` if the first one has one.
    pub fn get_nonwild_prefix(&self) -> Option<&keyexpr> {
        let (prefix, _) = super::literal_prefix(&self.0);
        (!prefix.is_empty()).then(|| Self::of(prefix))
    }
}

/// Checks a [`keyexpr`] at compile time, so that it can stand in constants.
///
/// ```
/// use zonda_codec::{ke, keyexpr};
/// static SENSORS: &keyexpr = ke!("plant/*/temp");
/// assert!(SENSORS.includes(ke!("plant/boiler/temp")));
/// ```
/// ```compile_fail
/// let key = zonda_codec::ke!("plant//temp");
/// ```
#[macro_export]
macro_rules! ke {
    ($text:expr) => {{
        const KEY: &$crate::keyexpr = $crate::keyexpr::constant($text);
        KEY
    }};
}

impl Deref for keyexpr {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for keyexpr {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<keyexpr> for keyexpr {
    fn as_ref(&self) -> &keyexpr {
        self
    }
}

impl fmt::Display for keyexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Formats like the reference: ``ke`plant/*` ``.
impl fmt::Debug for keyexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ke`{}`", &self.0)
    }
}

impl PartialEq<str> for keyexpr {
    fn eq(&self, other: &str) -> bool {
        &self.0 == other
    }
}

impl PartialEq<keyexpr> for str {
    fn eq(&self, other: &keyexpr) -> bool {
        self == &other.0
    }
}

impl PartialEq<keyexpr> for KeyExpr<'_> {
    fn eq(&self, other: &keyexpr) -> bool {
        self.as_str() == &other.0
    }
}

impl PartialEq<&keyexpr> for KeyExpr<'_> {
    fn eq(&self, other: &&keyexpr) -> bool {
        self.as_str() == &other.0
    }
}

impl PartialEq<KeyExpr<'_>> for keyexpr {
    fn eq(&self, other: &KeyExpr<'_>) -> bool {
        &self.0 == other.as_str()
    }
}

impl ToOwned for keyexpr {
    type Owned = KeyExpr<'static>;

    fn to_owned(&self) -> KeyExpr<'static> {
        KeyExpr::from(self).into_owned()
    }
}

impl Borrow<keyexpr> for KeyExpr<'_> {
    fn borrow(&self) -> &keyexpr {
        self
    }
}

impl Deref for KeyExpr<'_> {
    type Target = keyexpr;

    #[inline]
    fn deref(&self) -> &keyexpr {
        keyexpr::of(self.as_str())
    }
}

impl AsRef<keyexpr> for KeyExpr<'_> {
    fn as_ref(&self) -> &keyexpr {
        self
    }
}

impl<'a> From<&'a keyexpr> for KeyExpr<'a> {
    fn from(key: &'a keyexpr) -> Self {
        KeyExpr::from_str_unchecked(&key.0)
    }
}

impl<'a> From<&'a keyexpr> for Cow<'a, str> {
    fn from(key: &'a keyexpr) -> Self {
        Cow::Borrowed(&key.0)
    }
}

/// Implements the conversions of texts to keys that borrow them.
macro_rules! from_texts {
    ($($text:ty),+) => {$(
        impl<'a> TryFrom<&'a $text> for &'a keyexpr {
            type Error = KeyExprError;

            fn try_from(text: &'a $text) -> Result<Self, KeyExprError> {
                keyexpr::new(text)
            }
        }
    )+};
}

from_texts!(str, String, &'a str);

/// Implements the joining of two keys by `/`.
macro_rules! joined {
    ($($key:ty),+) => {$(
        /// Joins the two with a `/` between them, canonized.
        impl<K: AsRef<keyexpr> + ?Sized> Div<&K> for $key {
            type Output = KeyExpr<'static>;

            fn div(self, tail: &K) -> KeyExpr<'static> {
                let text = format!("{self}/{}", tail.as_ref());
                match super::canonize(&text) {
                    Ok(Cow::Owned(canonical)) => KeyExpr::from_string_unchecked(canonical),
                    // Two keys with a `/` between them are a key.
                    Ok(Cow::Borrowed(_)) | Err(_) => KeyExpr::from_string_unchecked(text),
                }
            }
        }
    )+};
}

joined!(&keyexpr, KeyExpr<'_>, &KeyExpr<'_>);

#[cfg(test)]
mod tests {
    use super::*;

    static AHEAD: &keyexpr = crate::ke!("a/**/b$*");

    #[test]
    fn keys_of_texts_behave_as_texts() -> Result<(), KeyExprError> {
        assert_eq!(format!("{AHEAD} {AHEAD:?}"), "a/**/b$* ke`a/**/b$*`");
        let owned = KeyExpr::new("a/x")?;
        assert_eq!(format!("{owned:?}"), "ke`a/x`");
        assert!(owned.starts_with("a/") && owned == *keyexpr::new("a/x")?);
        assert_eq!(&*owned / keyexpr::new("**")?, KeyExpr::new("a/x/**")?);
        let twice = &KeyExpr::new("a/**")? / &KeyExpr::new("**")?;
        assert_eq!(twice, keyexpr::new("a/**")?);
        assert_eq!(owned.join(&owned)?.as_str(), "a/x/a/x");
        let chunks: Vec<&str> = AHEAD.chunks().rev().map(keyexpr::as_str).collect();
        assert_eq!(chunks, ["b$*", "**", "a"]);
        assert!(keyexpr::new("**").is_ok_and(|key| key.get_nonwild_prefix().is_none()));
        assert!(keyexpr::new("a//b").is_err() && <&keyexpr>::try_from("").is_err());
        Ok(())
    }

    #[test]
    fn relations() -> Result<(), KeyExprError> {
        use SetIntersectionLevel::*;
        for (a, b, level) in [
            ("a", "b", Disjoint),
            ("a/*", "*/b", Intersects),
            ("a/**", "a/b", Includes),
            ("a/b", "a/**", Intersects),
            ("a/*", "a/*", Equals),
        ] {
            assert_eq!(
                keyexpr::new(a)?.relation_to(keyexpr::new(b)?),
                level,
                "{a} {b}"
            );
        }
        Ok(())
    }
}
