// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gates: decisions of the node about declarations and interests that the table sends to a face.

use std::fmt::Debug;

use crate::kind::Kind;

/// Kind of a message that a gate decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatedKind {
    /// A declaration of an entity, or its end if that names the key.
    Entity(Kind),
    /// An interest in tokens that come and go.
    TokenInterest,
    /// A query for the tokens that exist.
    TokenQuery,
}

/// Filter of the declarations and interests to one face.
pub trait Gate: Debug + Send {
    /// Returns true if a message on `key` may be sent. Called once for each message.
    fn permits(&mut self, kind: GatedKind, key: &str) -> bool;
}
