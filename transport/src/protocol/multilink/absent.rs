// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stub for a node's key in a build that has one link to each node: there is no key, so several
//! links are not offered.

use super::PeerKey;

/// Key pair of a node, which this build does not have.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKey {}

impl NodeKey {
    /// Returns `None`.
    #[must_use]
    pub fn from_seed(_seed: [u8; 32]) -> Option<NodeKey> {
        None
    }

    /// Never called; see the other build.
    #[must_use]
    pub fn public(&self) -> &PeerKey {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn encrypt(&self, _peer: &PeerKey, _challenge: u64) -> Option<Vec<u8>> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn decrypt(&self, _encrypted: &[u8]) -> Option<u64> {
        match *self {}
    }
}
