// SPDX-License-Identifier: MIT OR Apache-2.0

//! Options of a storage for its volume, as the configuration has them.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::{Durability, OpenError};

/// Environment variable of the folder that relative folders are in.
const ROOT: &str = "ZONDA_STORAGE_ROOT";

/// Option with what no error, log or answer shows.
const PRIVATE: &str = "private";

/// Options of a storage for its volume, and the key of the configuration that has them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options {
    at: String,
    values: Map<String, Value>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.values.iter().filter(|(name, _)| *name != PRIVATE);
        f.debug_struct("Options")
            .field("at", &self.at)
            .field("values", &shown.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Creates the options that are found at this key.
    pub fn new(at: impl Into<String>, values: Map<String, Value>) -> Options {
        let at = at.into();
        Options { at, values }
    }

    /// Sets an option, for tests and programs.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Options {
        self.values.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the error of an option: its key, its value and what was expected.
    pub fn refusal(&self, name: &str, expected: &str) -> OpenError {
        let key = format!("`{}/{name}`", self.at);
        OpenError::Option(match self.values.get(name) {
            Some(_) if name == PRIVATE => format!("{key} is wrong, expected {expected}"),
            Some(found) => format!("{key} is {found}, expected {expected}"),
            None => format!("{key} is not set, expected {expected}"),
        })
    }

    /// Returns the error of an option that is wrong for another reason than its value, which the error does not have.
    pub fn fault(&self, name: &str, reason: &str) -> OpenError {
        OpenError::Option(format!("`{}/{name}` {reason}", self.at))
    }

    /// Returns a text that is a member of an option, such as `private/access_key`.
    ///
    /// # Errors
    /// The option is no object, or its member no text. The error has no value.
    pub fn member(&self, name: &str, member: &str) -> Result<Option<String>, OpenError> {
        let members = match self.values.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(self.fault(name, "is no object")),
        };
        match members.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.fault(&format!("{name}/{member}"), "is no text")),
        }
    }

    /// Checks that there are no options besides these.
    ///
    /// # Errors
    /// The first one that there is.
    pub fn allow(&self, names: &[&str]) -> Result<(), OpenError> {
        let is_unknown = |name: &&String| !names.contains(&name.as_str());
        match self.values.keys().find(is_unknown) {
            None => Ok(()),
            Some(name) => Err(OpenError::Option(format!(
                "`{}/{name}` is no option of this volume, which has {}",
                self.at,
                match names {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                }
            ))),
        }
    }

    /// Returns a text.
    ///
    /// # Errors
    /// The option is something else.
    pub fn text(&self, name: &str) -> Result<Option<&str>, OpenError> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.refusal(name, "a text")),
        }
    }

    /// Returns true or false; `default` if it is not set.
    ///
    /// # Errors
    /// The option is something else.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, OpenError> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.refusal(name, "true or false")),
        }
    }

    /// Returns a whole number; `default` if it is not set.
    ///
    /// # Errors
    /// The option is something else, or not in the range.
    pub fn number(
        &self,
        name: &str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, OpenError> {
        let number = match self.values.get(name) {
            None | Some(Value::Null) => return Ok(default),
            Some(value) => value.as_u64().filter(|number| range.contains(number)),
        };
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            self.refusal(name, &format!("a whole number from {least} to {most}"))
        })
    }

    /// Returns the meaning of one of several words; `default` if it is not set.
    ///
    /// # Errors
    /// The option is none of the words.
    pub fn choice<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        default: T,
    ) -> Result<T, OpenError> {
        let Some(text) = self.text(name)? else {
            return Ok(default);
        };
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.refusal(name, &format!("one of {}", words.join(", ")))
        })
    }

    /// Returns the option `dir`, which must be set; a relative folder is below the one that the
    /// environment variable `ZONDA_STORAGE_ROOT` names.
    ///
    /// # Errors
    /// The option is no text, or empty; the error has `expected`.
    pub fn folder(&self, expected: &str) -> Result<PathBuf, OpenError> {
        let folder = self.text("dir")?.filter(|dir| !dir.is_empty());
        let folder = folder.ok_or_else(|| self.refusal("dir", expected))?;
        let root = std::env::var_os(ROOT).map_or_else(PathBuf::new, PathBuf::from);
        Ok(root.join(folder))
    }

    /// Returns true if the option `on_closure` is `word`, which destroys the data, and not
    /// `do_nothing`.
    ///
    /// # Errors
    /// The option is neither, or `word` for data that is only read.
    pub fn destroys(&self, word: &str, is_read_only: bool) -> Result<bool, OpenError> {
        let words = [("do_nothing", false), (word, true)];
        match self.choice("on_closure", &words, false)? {
            true if is_read_only => {
                let expected = "\"do_nothing\", as the storage is read-only";
                Err(self.refusal("on_closure", expected))
            }
            destroys => Ok(destroys),
        }
    }

    /// Returns the option `durability`.
    ///
    /// # Errors
    /// The option is none of its words.
    pub fn durability(&self) -> Result<Durability, OpenError> {
        let words = [
            ("none", Durability::None),
            ("batch", Durability::Batch),
            ("each", Durability::Each),
        ];
        self.choice("durability", &words, Durability::default())
    }
}
