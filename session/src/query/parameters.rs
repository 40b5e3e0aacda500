// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Parameters`], the text behind the `?` of a selector, as names with values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use super::time_range::{TimeRange, TimeRangeError};

/// Separator of entries.
const ENTRY: char = ';';
/// Separator of a name and its value.
const VALUE: char = '=';
/// Separator of several values of one name.
const CHOICE: char = '|';

/// Name of the parameter with which a selector restricts the time of values.
pub(crate) const TIME: &str = "_time";
/// Name of the parameter that allows replies on any key.
pub(crate) const ANY_KEY: &str = "_anyke";

/// Names with values, as in `unit=celsius;sensor=3|4`. Names that begin with `_` are the protocol's.
///
/// The text is kept as it is: nothing is decoded, an entry without `=` has an empty value, and of entries with the same
/// name the first one counts. Separators at the end are cut off.
///
/// ```
/// use zonda::query::Parameters;
///
/// let mut parameters = Parameters::from("unit=celsius;sensor=3|4");
/// assert_eq!(parameters.get("unit"), Some("celsius"));
/// assert_eq!(parameters.values("sensor").collect::<Vec<_>>(), ["3", "4"]);
/// assert_eq!(parameters.insert("unit", "kelvin").as_deref(), Some("celsius"));
/// assert_eq!(parameters.as_str(), "sensor=3|4;unit=kelvin");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Parameters<'s>(Cow<'s, str>);

impl Parameters<'_> {
    /// Creates parameters without entries.
    pub const fn empty() -> Parameters<'static> {
        Parameters(Cow::Borrowed(""))
    }

    /// Returns true if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if there is an entry of this name.
    pub fn contains_key(&self, name: impl AsRef<str>) -> bool {
        self.get(name).is_some()
    }

    /// Returns the value of this name.
    pub fn get(&self, name: impl AsRef<str>) -> Option<&str> {
        let name = name.as_ref();
        self.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// Returns the values of this name, which `|` separates; none if there is no entry of this
    /// name.
    pub fn values(&self, name: impl AsRef<str>) -> impl DoubleEndedIterator<Item = &str> {
        self.get(name)
            .into_iter()
            .flat_map(|values| values.split(CHOICE))
    }

    /// Returns all names with their values, in the order of the text.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> + Clone {
        let entries = self.0.split(ENTRY).filter(|entry| !entry.is_empty());
        entries.map(|entry| entry.split_once(VALUE).unwrap_or((entry, "")))
    }

    /// Sets the value of this name, as the last entry, and returns the previous value.
    pub fn insert(&mut self, name: impl AsRef<str>, value: impl AsRef<str>) -> Option<String> {
        let before = self.remove(name.as_ref());
        let mut text = std::mem::take(&mut self.0).into_owned();
        append(&mut text, name.as_ref(), value.as_ref());
        self.0 = Cow::Owned(text);
        before
    }

    /// Removes all entries of this name and returns its value.
    pub fn remove(&mut self, name: impl AsRef<str>) -> Option<String> {
        let name = name.as_ref();
        let value = self.get(name)?.to_owned();
        let mut text = String::with_capacity(self.0.len());
        for (name, value) in self.iter().filter(|(n, _)| *n != name) {
            append(&mut text, name, value);
        }
        self.0 = Cow::Owned(text);
        Some(value)
    }

    /// Inserts all entries of `other`, which replace those of the same name.
    pub fn extend(&mut self, other: &Parameters<'_>) {
        self.extend_from_iter(other.iter());
    }

    /// Inserts these entries, which replace those of the same name.
    pub fn extend_from_iter<K, V>(&mut self, entries: impl IntoIterator<Item = (K, V)>)
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        for (name, value) in entries {
            self.insert(name, value);
        }
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Parameters<'static> {
        Parameters(Cow::Owned(self.0.into_owned()))
    }

    /// Returns parameters that borrow from these.
    pub fn borrowed(&self) -> Parameters<'_> {
        Parameters(Cow::Borrowed(&self.0))
    }
}

fn append(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() {
        text.push(ENTRY);
    }
    text.push_str(name);
    if !value.is_empty() {
        text.push(VALUE);
        text.push_str(value);
    }
}

/// The entries that the protocol itself knows.
///
/// ```
/// use zonda::query::{Parameters, ZenohParameters};
///
/// let mut parameters = Parameters::from("_time=[now(-1h)..]");
/// assert!(parameters.time_range().unwrap()?.contains(std::time::SystemTime::now()));
/// parameters.set_reply_key_expr_any();
/// assert!(parameters.reply_key_expr_any());
/// # Ok::<(), zonda::Error>(())
/// ```
pub trait ZenohParameters {
    /// Restricts the time of values to this range, or lifts the restriction.
    fn set_time_range<T: Into<Option<TimeRange>>>(&mut self, time_range: T);
    /// Allows replies on keys that do not match the query.
    fn set_reply_key_expr_any(&mut self);
    /// Returns the requested time range (`_time`), if there is one.
    fn time_range(&self) -> Option<Result<TimeRange, TimeRangeError>>;
    /// Returns true if replies on keys that do not match the query are allowed (`_anyke`).
    fn reply_key_expr_any(&self) -> bool;
}

impl ZenohParameters for Parameters<'_> {
    fn set_time_range<T: Into<Option<TimeRange>>>(&mut self, time_range: T) {
        match time_range.into() {
            Some(range) => self.insert(TIME, range.to_string()),
            None => self.remove(TIME),
        };
    }

    fn set_reply_key_expr_any(&mut self) {
        if !self.reply_key_expr_any() {
            self.insert(ANY_KEY, "");
        }
    }

    fn time_range(&self) -> Option<Result<TimeRange, TimeRangeError>> {
        self.get(TIME).map(str::parse)
    }

    fn reply_key_expr_any(&self) -> bool {
        self.contains_key(ANY_KEY)
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches([ENTRY, VALUE, CHOICE])
}

impl<'s> From<&'s str> for Parameters<'s> {
    fn from(text: &'s str) -> Self {
        Parameters(Cow::Borrowed(trimmed(text)))
    }
}

impl<'s> From<&'s String> for Parameters<'s> {
    fn from(text: &'s String) -> Self {
        Parameters::from(text.as_str())
    }
}

impl From<String> for Parameters<'_> {
    fn from(mut text: String) -> Self {
        text.truncate(trimmed(&text).len());
        Parameters(Cow::Owned(text))
    }
}

impl<'s> From<Cow<'s, str>> for Parameters<'s> {
    fn from(text: Cow<'s, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Parameters::from(text),
            Cow::Owned(text) => Parameters::from(text),
        }
    }
}

impl<'s> From<&'s Parameters<'_>> for Parameters<'s> {
    fn from(parameters: &'s Parameters<'_>) -> Self {
        parameters.borrowed()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> From<HashMap<K, V>> for Parameters<'_> {
    fn from(entries: HashMap<K, V>) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> From<&[(K, V)]> for Parameters<'_> {
    fn from(entries: &[(K, V)]) -> Self {
        let texts = entries
            .iter()
            .map(|(name, value)| (name.as_ref(), value.as_ref()));
        texts.collect()
    }
}

impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Parameters<'_> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut text = String::new();
        for (name, value) in entries {
            append(&mut text, name.as_ref(), value.as_ref());
        }
        Parameters(Cow::Owned(text))
    }
}

impl<'s> From<&'s Parameters<'_>> for HashMap<&'s str, &'s str> {
    fn from(parameters: &'s Parameters<'_>) -> Self {
        parameters.iter().collect()
    }
}

impl From<Parameters<'_>> for HashMap<String, String> {
    fn from(parameters: Parameters<'_>) -> Self {
        HashMap::from(&parameters)
    }
}

impl From<&Parameters<'_>> for HashMap<String, String> {
    fn from(parameters: &Parameters<'_>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        parameters.iter().map(owned).collect()
    }
}

impl fmt::Display for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_the_protocol_writes_them() {
        let p = Parameters::from("a=1;b;;c=2=3;a=9;d=x|y;");
        let all: Vec<_> = p.iter().collect();
        let expected = [
            ("a", "1"),
            ("b", ""),
            ("c", "2=3"),
            ("a", "9"),
            ("d", "x|y"),
        ];
        assert_eq!(all, expected);
        assert_eq!(
            (p.get("a"), p.get("b"), p.get("z")),
            (Some("1"), Some(""), None)
        );
        assert_eq!(p.values("d").rev().collect::<Vec<_>>(), ["y", "x"]);
        assert_eq!((p.values("b").count(), p.values("z").count()), (1, 0));
        assert_eq!(Parameters::from("a=1;;=|").as_str(), "a=1");
        assert!(Parameters::from(";").is_empty());
    }

    #[test]
    fn entries_are_changed_in_place() {
        let mut p = Parameters::from("a=1;b=2;a=3");
        assert_eq!(p.remove("a").as_deref(), Some("1"));
        assert_eq!(p.remove("z"), None);
        assert_eq!(p.as_str(), "b=2");
        assert_eq!(p.insert("c", ""), None);
        p.extend(&Parameters::from("b=5;d"));
        assert_eq!(p.as_str(), "c;b=5;d");
        let map: HashMap<&str, &str> = (&p).into();
        assert_eq!((map.len(), map.get("b")), (3, Some(&"5")));
        let back: Parameters<'_> = [("x", "1"), ("y", "")].into_iter().collect();
        assert_eq!(back.to_string(), "x=1;y");
    }

    #[test]
    fn the_protocol_s_own_entries_are_set_and_read() {
        let mut p = Parameters::from("a=1");
        assert!(p.time_range().is_none() && !p.reply_key_expr_any());
        let range: TimeRange = "[now(-2s)..now()]".parse().unwrap();
        p.set_time_range(range);
        p.set_reply_key_expr_any();
        p.set_reply_key_expr_any();
        assert_eq!(p.as_str(), "a=1;_time=[now(-2s)..now()];_anyke");
        assert_eq!(p.time_range(), Some(Ok(range)));
        p.set_time_range(None);
        assert_eq!(p.as_str(), "a=1;_anyke");
        assert!(
            Parameters::from("_time=soon")
                .time_range()
                .unwrap()
                .is_err()
        );
    }
}
