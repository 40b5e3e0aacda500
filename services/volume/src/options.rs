// SPDX-License-Identifier: MIT OR Apache-2.0

//! Options of a storage for its volume, as the configuration has them.

use serde_json::{Map, Value};

use crate::{Durability, OpenError};

/// Options of a storage for its volume, and the key of the configuration that has them.
#[derive(Debug, Clone, Default)]
pub struct Options {
    at: String,
    values: Map<String, Value>,
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
            Some(found) => format!("{key} is {found}, expected {expected}"),
            None => format!("{key} is not set, expected {expected}"),
        })
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
