// SPDX-License-Identifier: MIT OR Apache-2.0

//! The answer to an interest that is under way.

use std::sync::Arc;

use crate::table::{
    kept::Asking,
    kind::Kind,
    search::{Listing, Search},
};

/// An answer under way.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) asking: Asking,
    /// What is left of [`Kind::ALL`], the kind under way first.
    pub(super) kinds: &'static [Kind],
    /// What is left of that kind; `None` before it is begun.
    pub(super) rest: Option<Rest>,
}

#[derive(Debug)]
pub(super) enum Rest {
    /// Each that matches.
    Each(Listing),
    /// One declaration for all that match this key.
    Group(Arc<str>, Search),
}
