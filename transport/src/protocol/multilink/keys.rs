// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ephemeral key of a node.

use std::fmt;
use std::sync::Arc;

use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::traits::PublicKeyParts;
use rsa::{BigUint, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};

use super::PeerKey;

/// Bits of a key, as in the reference.
const KEY_BITS: usize = 512;

/// Maximum bits of a peer's key that this node computes with.
const PEER_BITS_MAX: usize = 4096;

/// Key pair of a node. Cloning shares it.
#[derive(Clone)]
pub struct NodeKey(Arc<Pair>);

struct Pair {
    private: RsaPrivateKey,
    public: PeerKey,
    seed: [u8; 32],
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeKey")
    }
}

/// Compares keys; two handles of one key are equal.
impl PartialEq for NodeKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.public == other.0.public
    }
}

impl NodeKey {
    /// Creates a key from 32 random bytes, which takes some milliseconds. `None` in a build without
    /// several links.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Option<NodeKey> {
        let private = RsaPrivateKey::new(&mut Stream::of(&[&seed, b"key"]), KEY_BITS).ok()?;
        let public = PeerKey {
            n: private.n().to_bytes_le().into(),
            e: private.e().to_bytes_le().into(),
        };
        Some(NodeKey(Arc::new(Pair {
            private,
            public,
            seed,
        })))
    }

    /// Returns the public part.
    #[must_use]
    pub fn public(&self) -> &PeerKey {
        &self.0.public
    }

    /// Encrypts a challenge for `peer`; `None` if that is no valid key.
    pub(crate) fn encrypt(&self, peer: &PeerKey, challenge: u64) -> Option<Vec<u8>> {
        let (n, e) = (
            BigUint::from_bytes_le(&peer.n),
            BigUint::from_bytes_le(&peer.e),
        );
        let key = RsaPublicKey::new_with_max_size(n, e, PEER_BITS_MAX).ok()?;
        let challenge = challenge.to_le_bytes();
        let mut padding = Stream::of(&[&self.0.seed, b"padding", &peer.n, &challenge]);
        key.encrypt(&mut padding, Pkcs1v15Encrypt, &challenge).ok()
    }

    /// Decrypts a challenge that was encrypted for this node; `None` if it was not.
    pub(crate) fn decrypt(&self, encrypted: &[u8]) -> Option<u64> {
        let plain = self.0.private.decrypt(Pkcs1v15Encrypt, encrypted).ok()?;
        plain.try_into().ok().map(u64::from_le_bytes)
    }
}

/// Endless stream of bytes derived from a secret.
struct Stream(<Shake128 as ExtendableOutput>::Reader);

impl Stream {
    fn of(parts: &[&[u8]]) -> Stream {
        let mut hasher = Shake128::default();
        for part in parts {
            hasher.update(part);
        }
        Stream(hasher.finalize_xof())
    }
}

impl RngCore for Stream {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, room: &mut [u8]) {
        self.0.read(room);
    }

    fn try_fill_bytes(&mut self, room: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(room);
        Ok(())
    }
}

impl CryptoRng for Stream {}
