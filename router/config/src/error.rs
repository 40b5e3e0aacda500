// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of a configuration, in one line each: place, fault, remedy.

use std::fmt;

use crate::{Origin, json5::SyntaxError, masked};

/// Reason why a configuration was refused, in one line: place, fault, remedy.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not JSON5.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// Line, from 1.
        line: u32,
        /// Column, from 1.
        column: u32,
        /// The fault.
        reason: String,
    },
    /// The key does not exist.
    #[error("{}unknown key `{key}`{}", Line(*line), Hint(nearest))]
    UnknownKey {
        /// The key as written, with its path.
        key: String,
        /// Its line, when it came from a text of several lines.
        line: Option<u32>,
        /// The valid key most similar to it.
        nearest: Option<String>,
    },
    /// The key exists, but its value is of the wrong kind or out of range.
    #[error("{}`{key}` is {found}, expected {expected}", Line(*line))]
    Value {
        /// The key with its path.
        key: String,
        /// Its line, when it came from a text of several lines.
        line: Option<u32>,
        /// The value found.
        found: String,
        /// The form that would be valid.
        expected: String,
    },
    /// The value of a key is not JSON5.
    #[error("`{key}`: {error}")]
    Key {
        /// The key, without parts that may be a secret.
        key: String,
        /// The fault of the value.
        error: Box<ConfigError>,
    },
    /// The file cannot be read.
    #[error("cannot read {file}: {reason}")]
    Read {
        /// The file's path.
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The file was read, and something in it is wrong.
    #[error("{file}: {error}")]
    File {
        /// The file's path.
        file: String,
        /// The fault in it.
        error: Box<ConfigError>,
    },
    /// Keys that are valid by themselves contradict each other, or a file that a key names cannot
    /// be used.
    #[error("{reason}")]
    Combination {
        /// The keys, the fault, and the remedy.
        reason: String,
    },
    /// A `--cfg` argument is not of the form `key/path:value`.
    #[error("{argument:?} is not of the form key/path:value, for example connect/timeout_ms:1000")]
    Argument {
        /// The argument, without parts that may be a secret.
        argument: String,
    },
}

zonda_codec::debug_as_text!(ConfigError);
impl ConfigError {
    /// Returns the key whose value is wrong.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            ConfigError::Value { key, .. } => Some(key),
            ConfigError::File { error, .. } => error.key(),
            _ => None,
        }
    }

    /// Builds the error of a `key` whose value is not JSON5.
    pub(super) fn of_key(key: &str, error: SyntaxError) -> ConfigError {
        match masked::key(key) {
            key if key.is_empty() => error.into(),
            key => ConfigError::Key {
                key,
                error: Box::new(error.into()),
            },
        }
    }
}

impl From<SyntaxError> for ConfigError {
    fn from(e: SyntaxError) -> Self {
        ConfigError::Syntax {
            line: e.line,
            column: e.column,
            reason: e.reason,
        }
    }
}

/// A warning about a key of the reference that this node knows but does not (fully) honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The key with its path.
    pub key: String,
    /// Source that set the key.
    pub origin: Origin,
    /// Its line, when it came from a file.
    pub line: Option<u32>,
    /// The value that was set, and the behaviour instead.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Program {
            write!(f, "{}: ", self.origin)?;
        }
        write!(f, "{}`{}`: {}", Line(self.line), self.key, self.text)
    }
}

struct Line(Option<u32>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, "line {line}: "),
            None => Ok(()),
        }
    }
}

struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}
