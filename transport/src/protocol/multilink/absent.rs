// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands for a node's key in a build that has one link to each node: there is none, so nothing is offered.

use super::PeerKey;

/// A node's own key pair, of which there is none here.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKey {}

impl NodeKey {
    /// None.
    #[must_use]
    pub fn from_seed(_seed: [u8; 32]) -> Option<NodeKey> {
        None
    }

    /// See the other build.
    #[must_use]
    pub fn public(&self) -> &PeerKey {
        match *self {}
    }

    /// See the other build.
    pub(crate) fn encrypt(&self, _peer: &PeerKey, _challenge: u64) -> Option<Vec<u8>> {
        match *self {}
    }

    /// See the other build.
    pub(crate) fn decrypt(&self, _encrypted: &[u8]) -> Option<u64> {
        match *self {}
    }
}
