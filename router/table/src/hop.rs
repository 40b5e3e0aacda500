// SPDX-License-Identifier: MIT OR Apache-2.0

//! One neighbour on a route, with the shortest spelling of the key for it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use zonda_codec::{Mapping, NodeId, WireExpr};

use crate::face_id::FaceId;

/// One neighbour that a message goes to, and the spelling of the key for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The neighbour.
    pub face: FaceId,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// Side that declared the id.
    pub mapping: Mapping,
    /// Text behind the scope.
    pub suffix: Suffix,
    /// The routing context of the message, towards another router.
    pub node_id: NodeId,
}

/// End of a key. All hops of a route share its text.
#[derive(Clone, Default)]
pub struct Suffix {
    pub(super) key: Arc<str>,
    pub(super) skip: usize,
}

impl Deref for Suffix {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.key.get(self.skip..).unwrap_or("")
    }
}

impl PartialEq for Suffix {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Suffix {}

impl fmt::Debug for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl Hop {
    /// Returns the neighbour's id that the key is spelled with, if there is one.
    pub(super) fn their_id(&self) -> Option<u16> {
        (self.scope != 0 && self.mapping == Mapping::Receiver).then_some(self.scope)
    }

    /// Returns the key as it is written to this neighbour.
    #[inline]
    pub fn wire_expr(&self) -> WireExpr<'_> {
        WireExpr {
            scope: self.scope,
            suffix: &self.suffix,
            mapping: self.mapping,
        }
    }
}
