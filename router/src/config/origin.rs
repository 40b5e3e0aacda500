// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a value of the configuration comes from: kept beside each value, so that a node can be asked why it does what
//! it does.

use std::fmt;
use std::sync::Arc;

/// Where a value of a [`Config`](crate::config::Config) comes from.
///
/// ```
/// use zonda_router::config::{Config, Origin};
///
/// let mut config = Config::default();
/// assert_eq!(config.origin("mode"), Origin::Default);
/// config.attribute_to(Origin::Flag("--mode".into()));
/// config.insert_json5("mode", "'client'")?;
/// assert_eq!(config.origin("mode").to_string(), "--mode");
/// # Ok::<(), zonda_router::config::AnyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The program, by a call.
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
    /// What kind of origin it is, in one word: `default`, `program`, `file`, `environment`, `cfg` or `flag`.
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

/// The file, the variable or the flag; without one, what kind of origin it is.
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
