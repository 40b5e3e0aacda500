// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Selector`]: the keys and the parameters of a query.

use std::fmt;
use std::str::FromStr;

use zonda_codec::{KeyExpr, KeyExprError, keyexpr};

use super::parameters::Parameters;

/// The selection of a query: a key expression, and parameters for the queryables. As text:
/// `demo/*?unit=celsius`.
///
/// ```
/// use zonda::query::Selector;
///
/// let selector = Selector::try_from("demo/*?unit=celsius")?;
/// assert_eq!(selector.key_expr().as_str(), "demo/*");
/// assert_eq!(selector.parameters().get("unit"), Some("celsius"));
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Selector<'a> {
    key_expr: KeyExpr<'a>,
    parameters: Parameters<'a>,
}

impl<'a> Selector<'a> {
    /// Returns the keys.
    pub fn key_expr(&self) -> &KeyExpr<'a> {
        &self.key_expr
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &Parameters<'a> {
        &self.parameters
    }

    /// Splits it into its parts.
    pub fn split(self) -> (KeyExpr<'a>, Parameters<'a>) {
        (self.key_expr, self.parameters)
    }

    /// Combines the parts.
    pub fn owned<K, P>(key_expr: K, parameters: P) -> Selector<'a>
    where
        K: Into<KeyExpr<'a>>,
        P: Into<Parameters<'a>>,
    {
        Selector {
            key_expr: key_expr.into(),
            parameters: parameters.into(),
        }
    }

    /// Combines borrowed parts.
    pub fn borrowed(key_expr: &'a KeyExpr<'a>, parameters: &'a Parameters<'a>) -> Selector<'a> {
        Selector {
            key_expr: key_expr.borrowed(),
            parameters: parameters.borrowed(),
        }
    }

    /// Converts to a selector without a borrow.
    pub fn into_owned(self) -> Selector<'static> {
        Selector {
            key_expr: self.key_expr.into_owned(),
            parameters: self.parameters.into_owned(),
        }
    }
}

impl<'a, K, P> From<(K, P)> for Selector<'a>
where
    K: Into<KeyExpr<'a>>,
    P: Into<Parameters<'a>>,
{
    fn from(parts: (K, P)) -> Self {
        Selector::owned(parts.0, parts.1)
    }
}

impl<'a> From<Selector<'a>> for (KeyExpr<'a>, Parameters<'a>) {
    fn from(selector: Selector<'a>) -> Self {
        selector.split()
    }
}

impl<'a> From<KeyExpr<'a>> for Selector<'a> {
    fn from(key_expr: KeyExpr<'a>) -> Self {
        Selector::owned(key_expr, Parameters::empty())
    }
}

impl<'a> From<&'a keyexpr> for Selector<'a> {
    fn from(key_expr: &'a keyexpr) -> Self {
        KeyExpr::from(key_expr).into()
    }
}

impl<'a> From<&'a KeyExpr<'_>> for Selector<'a> {
    fn from(key_expr: &'a KeyExpr<'_>) -> Self {
        Selector::owned(key_expr.borrowed(), Parameters::empty())
    }
}

impl<'a> From<&'a Selector<'_>> for Selector<'a> {
    fn from(selector: &'a Selector<'_>) -> Self {
        Selector {
            key_expr: selector.key_expr.borrowed(),
            parameters: selector.parameters.borrowed(),
        }
    }
}

impl<'a> TryFrom<&'a str> for Selector<'a> {
    type Error = KeyExprError;

    fn try_from(text: &'a str) -> Result<Self, KeyExprError> {
        let (key, parameters) = text.split_once('?').unwrap_or((text, ""));
        Ok(Selector::owned(KeyExpr::new(key)?, parameters))
    }
}

impl<'a> TryFrom<&'a String> for Selector<'a> {
    type Error = KeyExprError;

    fn try_from(text: &'a String) -> Result<Self, KeyExprError> {
        Selector::try_from(text.as_str())
    }
}

impl TryFrom<String> for Selector<'_> {
    type Error = KeyExprError;

    fn try_from(text: String) -> Result<Self, KeyExprError> {
        Selector::try_from(text.as_str()).map(Selector::into_owned)
    }
}

impl FromStr for Selector<'static> {
    type Err = KeyExprError;

    fn from_str(text: &str) -> Result<Self, KeyExprError> {
        Selector::try_from(text).map(Selector::into_owned)
    }
}

impl fmt::Display for Selector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key_expr.as_str())?;
        if self.parameters.is_empty() {
            return Ok(());
        }
        write!(f, "?{}", self.parameters)
    }
}

impl fmt::Debug for Selector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Selector({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_made_of_everything() {
        for text in ["a/b", "a/*?x=1", "a/**?x=1;y=?z"] {
            assert_eq!(Selector::try_from(text).unwrap().to_string(), text);
            assert_eq!(text.parse::<Selector>().unwrap().to_string(), text);
        }
        let key = KeyExpr::new("a").unwrap();
        let parameters = Parameters::from("b=1");
        let whole = Selector::from((key.clone(), "b=1;"));
        assert_eq!(whole, Selector::borrowed(&key, &parameters));
        assert_eq!(Selector::from(&key).to_string(), "a");
        assert_eq!(whole.clone().split(), (key, parameters));
        assert_eq!(format!("{:?}", Selector::from(&whole)), "Selector(a?b=1)");
        assert!(Selector::try_from("a//b?x").is_err());
        assert!(Selector::try_from(String::from("?x")).is_err());
    }
}
