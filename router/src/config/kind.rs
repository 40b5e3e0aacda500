// SPDX-License-Identifier: MIT OR Apache-2.0

//! The parts of a configuration key: the kind of its values, its default, how far this node honours it. Data only.

/// One configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Path from the root, parts joined by `/`.
    pub path: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// Its default, as JSON5.
    pub default: &'static str,
    /// The degree to which this node honours it.
    pub support: Support,
    /// The meaning, in one line with its unit.
    pub meaning: &'static str,
}

/// The degree to which a key is honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Entirely.
    Full,
    /// Only with this value (JSON); another one is reported.
    Only(&'static str, &'static str),
    /// Not yet: any value but the default is reported, with what happens instead.
    Not(&'static str),
    /// The reference gave it up; reported whenever set.
    Gone,
}

/// The kind of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number in a range.
    Whole {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A number that is at least 1.
    Factor,
    /// Any text.
    Text,
    /// A list of texts.
    Texts,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A list of `router`, `peer`, `client`.
    Roles,
    /// A list of endpoints.
    Endpoints,
    /// A node id in hexadecimal.
    Id,
    /// A key expression without wildcards.
    KeyText,
    /// The name of a runtime.
    Runtime,
    /// A list of cpus by number.
    Cpus,
    /// A scheduling class of threads.
    Scheduling,
    /// The rules of the low-pass filter.
    LowPass,
    /// The rules for publications of a session.
    Publications,
    /// The rules for what passes links.
    Network,
    /// The weights of links to other routers.
    Weights,
    /// The routers that may be neighbours as such.
    Trusted,
    /// Anything; may be addressed below its own path.
    Tree,
    /// A value of this kind for all roles, or one for each as `{ router: a, peer: b, client: c }`.
    PerRole(&'static Kind),
}

impl Kind {
    /// The kind of the value of one role.
    pub fn of_one_role(self) -> Kind {
        match self {
            Kind::PerRole(kind) => *kind,
            kind => kind,
        }
    }
}
