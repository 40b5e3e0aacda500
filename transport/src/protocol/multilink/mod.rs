// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proof that a further link comes from the node that has the first one: each side returns the
//! other's challenge, which arrived encrypted with its own key.
//!
//! ```text
//! InitSyn   bytes n, bytes e                    the opener's public key
//! InitAck   bytes n, bytes e, bytes encrypted   the acceptor's, and a challenge for the opener's
//! OpenSyn   bytes encrypted                     the challenge for the acceptor's
//! OpenAck   nothing
//! ```
//! Numbers are little-endian, `bytes` is a length and as many bytes, encryption is RSA with PKCS#1
//! v1.5. Keys have 512 bits, are created when a node opens and dropped when it ends: they protect
//! no secret, and are far too short to.

#[cfg(not(feature = "multilink"))]
mod absent;
#[cfg(feature = "multilink")]
mod keys;
#[cfg(all(test, feature = "multilink"))]
mod tests;

#[cfg(not(feature = "multilink"))]
pub use absent::NodeKey;
#[cfg(feature = "multilink")]
pub use keys::NodeKey;

use std::sync::Arc;

use zonda_codec::{Reader, Writer};

/// True if this build can have several links to one node.
pub const AVAILABLE: bool = cfg!(feature = "multilink");

/// Maximum length of a number in a public key, in bytes.
const NUMBER_BYTES_MAX: usize = 512;

/// Public key of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerKey {
    /// The modulus, little-endian.
    pub(crate) n: Arc<[u8]>,
    /// The exponent, little-endian.
    pub(crate) e: Arc<[u8]>,
}

impl PeerKey {
    /// Reads a key; `None` if it is invalid.
    pub(crate) fn read(r: &mut Reader<'_>) -> Option<PeerKey> {
        let mut number = || {
            let bytes = r.bytes_z32().ok()?;
            (1..=NUMBER_BYTES_MAX)
                .contains(&bytes.len())
                .then(|| Arc::from(bytes))
        };
        Some(PeerKey {
            n: number()?,
            e: number()?,
        })
    }

    /// Appends the encoded key.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_bytes(&self.n, out);
        put_bytes(&self.e, out);
    }
}

/// Reads the content of InitAck: the acceptor's key and the opener's challenge, encrypted.
pub(crate) fn read_init_ack(body: &[u8]) -> Option<(PeerKey, &[u8])> {
    let mut r = Reader::new(body);
    let key = PeerKey::read(&mut r)?;
    let encrypted = r.bytes_z32().ok()?;
    r.is_empty().then_some((key, encrypted))
}

/// Reads the content of InitSyn: the opener's key.
pub(crate) fn read_init_syn(body: &[u8]) -> Option<PeerKey> {
    let mut r = Reader::new(body);
    let key = PeerKey::read(&mut r)?;
    r.is_empty().then_some(key)
}

/// Reads the content of OpenSyn: the challenge, encrypted.
pub(crate) fn read_open_syn(body: &[u8]) -> Option<&[u8]> {
    let mut r = Reader::new(body);
    let encrypted = r.bytes_z32().ok()?;
    r.is_empty().then_some(encrypted)
}

/// Appends bytes behind their length.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut room = [0; 9];
    let mut writer = Writer::new(&mut room);
    writer
        .vle(bytes.len() as u64)
        .expect("no number needs more");
    out.extend_from_slice(writer.written());
    out.extend_from_slice(bytes);
}
