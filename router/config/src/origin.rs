// SPDX-License-Identifier: MIT OR Apache-2.0

//! Origins of the configuration's values, kept with each value, so that a node can explain its
//! configuration.

use std::fmt;
use std::sync::Arc;

/// Origin of a value in a [`Config`](crate::Config).
///
/// ```
/// use zonda_config::{Config, Origin};
///
/// let mut config = Config::default();
/// assert_eq!(config.origin("mode"), Origin::Default);
/// config.attribute_to(Origin::Flag("--mode".into()));
/// config.insert_json5("mode", "'client'")?;
/// assert_eq!(config.origin("mode").to_string(), "--mode");
/// # Ok::<(), zonda_config::AnyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Origin {
    /// No source set the value.
    Default,
    /// A call of the program.
    #[default]
    Program,
    /// A file of this name.
    File(Arc<str>),
    /// The environment variable of this name.
    Environment(Arc<str>),
    /// A `--cfg` argument.
    Argument,
    /// The flag of this name.
    Flag(Arc<str>),
}

impl Origin {
    /// Kind of the origin, in one word: `default`, `program`, `file`, `environment`, `cfg` or
    /// `flag`.
    pub fn kind(&self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::Program => "program",
            Origin::File(_) => "file",
            Origin::Environment(_) => "environment",
            Origin::Argument => "cfg",
            Origin::Flag(_) => "flag",
        }
    }
}

/// Formats the file, the variable or the flag; without one, the kind of the origin.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(name) | Origin::Environment(name) | Origin::Flag(name) => {
                f.write_str(name)
            }
            Origin::Argument => f.write_str("--cfg"),
            Origin::Default | Origin::Program => f.write_str(self.kind()),
        }
    }
}
