// SPDX-License-Identifier: MIT OR Apache-2.0

//! The fields of a configuration key: the kind of its values, its default, its support by this
//! node. Data only.

/// One configuration key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Path from the root, parts joined by `/`.
    pub path: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Its default, as JSON5.
    pub default: &'static str,
    /// Support of the key by this node.
    pub support: Support,
    /// Description, in one line with its unit.
    pub meaning: &'static str,
}

/// Support of a key by this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The node honours every value.
    Full,
    /// The node honours only this value (JSON), and warns about any other with this text.
    Only(&'static str, &'static str),
    /// The node does not honour the key yet, and warns about any value but the default with this
    /// text.
    Not(&'static str),
    /// The reference has removed the key; the node warns whenever it is set.
    Gone,
}

/// Kind of a key's values.
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
    /// A list of key expressions.
    KeyExprs,
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
    /// The name of a region.
    RegionName,
    /// The name of a runtime.
    Runtime,
    /// A list of cpus by number.
    Cpus,
    /// A scheduling class of threads.
    Scheduling,
    /// The items of downsampling.
    Downsampling,
    /// The rules of the low-pass filter.
    LowPass,
    /// The rules of access control.
    AccessRules,
    /// The subjects of access control.
    AccessSubjects,
    /// The policies of access control.
    AccessPolicies,
    /// The rules for publications of a session.
    Publications,
    /// The rules for messages that pass links.
    Network,
    /// The weights of links to other routers.
    Weights,
    /// The routers that a router accepts as routers.
    Trusted,
    /// The ids of users.
    UserIds,
    /// Any value; keys below the path exist, too.
    Tree,
    /// A value of this kind for all roles, or one for each as `{ router: a, peer: b, client: c }`.
    PerRole(&'static Kind),
}

impl Kind {
    /// Returns the kind of the value for one role.
    pub fn of_one_role(self) -> Kind {
        match self {
            Kind::PerRole(kind) => *kind,
            kind => kind,
        }
    }
}
