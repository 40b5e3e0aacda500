// SPDX-License-Identifier: MIT OR Apache-2.0

//! A query to the admin space, and a reply to it. Data only.

use std::sync::Arc;

use zonda_codec::{Encoding, KeyExpr, encoding};

use crate::table::LocalBranch;

/// A query to the admin space.
#[derive(Debug, Clone)]
pub(crate) struct AdminQuestion {
    pub(crate) branch: LocalBranch,
    pub(crate) key: KeyExpr<'static>,
    /// True if metrics are sent without their descriptions.
    pub(crate) omits_descriptors: bool,
    /// True if metrics are sent without those of single neighbours.
    pub(crate) omits_neighbours: bool,
    /// True if the root is sent with the counts of what was sent and received.
    pub(crate) wants_stats: bool,
    /// Value to be written to the configuration.
    pub(crate) written: Option<Box<[u8]>>,
    /// Parameters of a query for an explanation or a trace.
    pub(crate) about: Option<Box<str>>,
}

impl AdminQuestion {
    /// Returns its bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        let written = self.written.as_ref().map_or(0, |written| written.len());
        let about = self.about.as_ref().map_or(0, |about| about.len());
        self.key.as_str().len() + written + about
    }
}

/// Returns true if the parameters of a query set one of them to this value.
pub(crate) fn sets(parameters: &str, name: &str, value: bool) -> bool {
    let value = if value { "true" } else { "false" };
    let mut parameters = parameters.split(';');
    parameters.any(|one| one.split_once('=') == Some((name, value)))
}

/// A value of the admin space.
#[derive(Debug, Clone)]
pub(crate) struct AdminReply {
    pub(crate) key: KeyExpr<'static>,
    pub(crate) text: Arc<str>,
    /// The name of its encoding, perhaps with a schema behind `;`.
    pub(crate) encoding: &'static str,
}

/// Encoding of JSON.
pub(crate) const JSON: &str = "application/json";

impl AdminReply {
    /// Returns the encoding as it is sent.
    pub(crate) fn encoding(&self) -> Encoding<'static> {
        let (name, schema) = match self.encoding.split_once(';') {
            Some((name, schema)) => (name, Some(schema.as_bytes())),
            None => (self.encoding, None),
        };
        Encoding {
            id: encoding::id(name).unwrap_or_default(),
            schema,
        }
    }
}
