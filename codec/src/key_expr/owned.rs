// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`KeyExpr`]: text that is known to be a canonical key expression, borrowed or shared.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use super::borrowed::keyexpr;
use super::error::{KeyExprError, quoted};
use crate::short::Short;

/// A canonical key expression.
///
/// Borrowed from the caller, or shared behind a reference count: cloning never copies the text.
/// Equality, order and hash are those of the text, so a `&str` can look up a map keyed by
/// `KeyExpr`.
///
/// ```
/// use zonda_codec::KeyExpr;
/// let sensors = KeyExpr::new("plant/*/temp")?;
/// assert!(sensors.intersects(&KeyExpr::new("plant/boiler/**")?));
/// assert_eq!(sensors.join("raw")?.as_str(), "plant/*/temp/raw");
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
#[derive(Clone)]
pub struct KeyExpr<'a>(Text<'a>);

#[derive(Clone)]
enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
    /// The bytes of a short text that was validated.
    Short(Short),
}

/// A short key that is copied whole, whatever its form. From [`KeyExpr::short`].
#[derive(Clone, Copy)]
pub struct ShortKey(Short);

impl From<ShortKey> for KeyExpr<'_> {
    #[inline(always)]
    fn from(ShortKey(short): ShortKey) -> Self {
        Self(Text::Short(short))
    }
}

impl<'a> KeyExpr<'a> {
    /// Checks `text`; borrows a `&str`, takes ownership of a `String` (one copy into shared
    /// memory).
    ///
    /// # Errors
    /// The text is not a canonical key expression; [`KeyExpr::autocanonize`] accepts more
    /// spellings.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, KeyExprError> {
        let text = text.into();
        super::validate(&text)?;
        Ok(Self::trusted(text))
    }

    /// Canonizes `text`; borrows when it is canonical already.
    ///
    /// # Errors
    /// No respelling makes it a key expression.
    pub fn autocanonize(text: impl Into<Cow<'a, str>>) -> Result<Self, KeyExprError> {
        let text = text.into();
        if let Cow::Owned(canonical) = super::canonize(&text)? {
            return Ok(Self(Text::Shared(canonical.into())));
        }
        Ok(Self::trusted(text))
    }

    /// Checks text that is shared already, and shares it too.
    ///
    /// # Errors
    /// The text is not a canonical key expression.
    pub fn from_shared(text: Arc<str>) -> Result<Self, KeyExprError> {
        super::validate(&text)?;
        Ok(Self(Text::Shared(text)))
    }

    /// Creates a key of a text that the caller knows to be a canonical key expression. With another
    /// text the relations have no meaning, and neighbours may refuse messages with it. (With the
    /// reference a call of this is `unsafe`; here the block around it does nothing.)
    pub const fn from_str_unchecked(text: &'a str) -> Self {
        Self(Text::Borrowed(text))
    }

    /// Creates a key like [`from_str_unchecked`](Self::from_str_unchecked), of an owned text.
    pub fn from_string_unchecked(text: String) -> Self {
        Self(Text::Shared(text.into()))
    }

    /// Creates a key like [`from_str_unchecked`](Self::from_str_unchecked), of an owned text.
    pub fn from_boxed_str_unchecked(text: Box<str>) -> Self {
        Self(Text::Shared(text.into()))
    }

    /// Creates a key like [`from_str_unchecked`](Self::from_str_unchecked), of a shared text.
    pub fn from_shared_unchecked(text: Arc<str>) -> Self {
        Self(Text::Shared(text))
    }

    /// Creates a key of a text that was just checked.
    fn trusted(text: Cow<'a, str>) -> Self {
        Self(match text {
            Cow::Borrowed(text) => Text::Borrowed(text),
            Cow::Owned(text) => Text::Shared(text.into()),
        })
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
            // Validated each time it is read, which is cheap for so few bytes. It is always UTF-8.
            Text::Short(short) => std::str::from_utf8(short.as_slice()).unwrap_or_default(),
        }
    }

    /// Converts to a key without a borrow: copies borrowed text once, shares shared text.
    pub fn into_owned(self) -> KeyExpr<'static> {
        match self.0 {
            Text::Short(short) => KeyExpr(Text::Short(short)),
            _ => KeyExpr(Text::Shared(self.into())),
        }
    }

    /// Converts to the form that is cheapest to clone repeatedly: up to [`Short::BYTES_MAX`] bytes
    /// are kept in the value itself and copied, longer ones share their text by a count of
    /// references.
    pub fn into_cloneable(self) -> KeyExpr<'static> {
        match Short::new(self.as_str().as_bytes()) {
            Some(short) => KeyExpr(Text::Short(short)),
            None => self.into_owned(),
        }
    }

    /// Returns a copy of the key, if it has [the form](KeyExpr::into_cloneable) that is copied.
    #[inline]
    pub fn short(&self) -> Option<ShortKey> {
        match self.0 {
            Text::Short(short) => Some(ShortKey(short)),
            _ => None,
        }
    }

    /// Returns the key as the type of borrowed keys.
    pub fn as_keyexpr(&self) -> &keyexpr {
        self
    }

    /// Calls [`borrowed`](Self::borrowed), by the reference's name.
    pub fn borrowing_clone(&'a self) -> Self {
        self.borrowed()
    }

    /// Returns a key that borrows from this one; copies nothing and counts nothing.
    #[inline]
    pub fn borrowed(&self) -> KeyExpr<'_> {
        KeyExpr(Text::Borrowed(self.as_str()))
    }

    /// Returns this key directly followed by `tail`, without a `/`.
    ///
    /// # Errors
    /// The result is not a canonical key expression, or a `*` at the end would join one at the
    /// start of `tail` and mean something else.
    pub fn concat<S: AsRef<str> + ?Sized>(
        &self,
        tail: &S,
    ) -> Result<KeyExpr<'static>, KeyExprError> {
        let tail = tail.as_ref();
        if self.as_str().ends_with('*') && tail.starts_with('*') {
            return Err(KeyExprError::JoinedWildcards {
                left: quoted(self.as_str()),
                right: quoted(tail),
            });
        }
        KeyExpr::new(format!("{self}{tail}"))
    }
}

impl AsRef<str> for KeyExpr<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for KeyExpr<'_> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for KeyExpr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Formats like the reference: ``ke`plant/*` ``.
impl fmt::Debug for KeyExpr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_keyexpr(), f)
    }
}

impl PartialEq<KeyExpr<'_>> for KeyExpr<'_> {
    #[inline]
    fn eq(&self, other: &KeyExpr<'_>) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for KeyExpr<'_> {}

impl PartialEq<str> for KeyExpr<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for KeyExpr<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for KeyExpr<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyExpr<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for KeyExpr<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<'a> TryFrom<&'a str> for KeyExpr<'a> {
    type Error = KeyExprError;

    fn try_from(text: &'a str) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl<'a> TryFrom<&'a String> for KeyExpr<'a> {
    type Error = KeyExprError;

    fn try_from(text: &'a String) -> Result<Self, KeyExprError> {
        Self::new(text.as_str())
    }
}

impl<'a> TryFrom<&'a mut str> for KeyExpr<'a> {
    type Error = KeyExprError;

    /// Canonizes it, unlike the other conversions.
    fn try_from(text: &'a mut str) -> Result<Self, KeyExprError> {
        Self::autocanonize(&*text)
    }
}

impl<'a> TryFrom<&'a mut String> for KeyExpr<'a> {
    type Error = KeyExprError;

    /// Canonizes it, unlike the other conversions.
    fn try_from(text: &'a mut String) -> Result<Self, KeyExprError> {
        Self::autocanonize(text.as_str())
    }
}

impl TryFrom<String> for KeyExpr<'_> {
    type Error = KeyExprError;

    fn try_from(text: String) -> Result<Self, KeyExprError> {
        Self::new(text)
    }
}

impl FromStr for KeyExpr<'static> {
    type Err = KeyExprError;

    fn from_str(text: &str) -> Result<Self, KeyExprError> {
        Self::new(text.to_owned())
    }
}

impl<'a> From<&'a KeyExpr<'_>> for KeyExpr<'a> {
    fn from(key: &'a KeyExpr<'_>) -> Self {
        key.borrowed()
    }
}

impl From<KeyExpr<'_>> for String {
    fn from(key: KeyExpr<'_>) -> Self {
        key.as_str().to_owned()
    }
}

impl From<KeyExpr<'_>> for Arc<str> {
    fn from(key: KeyExpr<'_>) -> Self {
        match key.0 {
            Text::Borrowed(text) => text.into(),
            Text::Shared(text) => text,
            Text::Short(_) => key.as_str().into(),
        }
    }
}
