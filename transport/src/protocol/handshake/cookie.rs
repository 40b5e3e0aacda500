// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cookie that replaces the state of a peer between InitAck and OpenSyn: the agreed parameters and
//! an epoch, authenticated with a key that never leaves the node.
//!
//! ```text
//! epoch u32le | zid length u8, zid | whatami u8 | resolution u8 | batch u16le | features u8 | patch u8
//!   | nonce u64le, if the features say so | priorities and reliability u64le, if they say so
//!   | key of the peer, if they say so | mac 16 bytes
//! ```
//! The code also covers the bearer, if there is one: the peer that returns the cookie has to be the
//! one that it was issued to. Of a node's listeners only those of datagrams have a bearer, and each
//! listener has a key of its own.
//!
//! The opener returns it verbatim. A changed byte, a foreign key or an old epoch invalidates it.

use std::fmt;

use sha3::{Digest, Sha3_256};
use zonda_codec::{QosLink, Reader, Resolution, WhatAmI, ZenohId};

use crate::protocol::multilink::PeerKey;

/// Bytes of the authentication code at the end of a cookie.
const MAC_BYTES: usize = 16;
/// Bits of the features.
const QOS: u8 = 1;
const NONCE: u8 = 2;
const LOW_LATENCY: u8 = 4;
const COMPRESSION: u8 = 8;
const MULTILINK: u8 = 16;
const QOS_LINK: u8 = 32;
/// Separates these codes from any other use of the same key.
const DOMAIN: &[u8] = b"zonda handshake cookie 1";

/// Secret that cookies are authenticated with; one per node, shared by its acceptors.
#[derive(Clone)]
pub struct CookieKey {
    secret: [u8; 32],
}

impl CookieKey {
    /// Creates a key from 32 bytes, which the caller takes from a secure random source.
    pub fn new(secret: [u8; 32]) -> Self {
        CookieKey { secret }
    }

    /// Returns the challenge for several links from a connection's nonce: a number that only this
    /// node can know.
    pub(super) fn challenge(&self, nonce: u64) -> u64 {
        let mac = self.mac(&[&b"multilink"[..], &nonce.to_le_bytes()].concat());
        let mut first = [0; 8];
        first.copy_from_slice(&mac[..8]);
        u64::from_le_bytes(first)
    }

    /// Returns the authentication code. SHA3 is not open to length extension, so hashing the key in
    /// front is sound.
    fn mac(&self, content: &[u8]) -> [u8; 32] {
        Sha3_256::new()
            .chain_update(self.secret)
            .chain_update(DOMAIN)
            .chain_update(content)
            .finalize()
            .into()
    }
}

impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey(secret)")
    }
}

/// State of a peer that the acceptor needs when OpenSyn arrives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Agreement {
    pub(super) zid: ZenohId,
    pub(super) whatami: WhatAmI,
    pub(super) resolution: Resolution,
    pub(super) batch_size: u16,
    pub(super) qos: bool,
    pub(super) low_latency: bool,
    pub(super) compression: bool,
    pub(super) patch: u8,
    /// Priorities and reliability of the link, if the opener has named any.
    pub(super) qos_link: Option<QosLink>,
    /// Nonce with which the peer has to prove its user, if it has to.
    pub(super) nonce: Option<u64>,
    /// Key of the peer, if several links were agreed on.
    pub(super) multilink: Option<PeerKey>,
}

/// Writes `agreement` as a cookie of `epoch`, for `bearer` only.
pub(super) fn seal(key: &CookieKey, epoch: u32, bearer: &[u8], agreement: &Agreement) -> Vec<u8> {
    // Epoch, id and role.
    let zid = agreement.zid.as_le_bytes();
    let mut cookie = Vec::with_capacity(27 + zid.len() + MAC_BYTES);
    cookie.extend_from_slice(&epoch.to_le_bytes());
    cookie.push(zid.len() as u8);
    cookie.extend_from_slice(zid);
    cookie.push(agreement.whatami.code());
    cookie.push(agreement.resolution.bits());
    cookie.extend_from_slice(&agreement.batch_size.to_le_bytes());
    // Features, as bits.
    let features = [
        (agreement.qos, QOS),
        (agreement.nonce.is_some(), NONCE),
        (agreement.low_latency, LOW_LATENCY),
        (agreement.compression, COMPRESSION),
        (agreement.multilink.is_some(), MULTILINK),
        (agreement.qos_link.is_some(), QOS_LINK),
    ];
    let set = features.iter().filter(|(is_set, _)| *is_set);
    cookie.push(set.fold(0, |all, (_, bit)| all | bit));
    cookie.push(agreement.patch);
    // Optional fields.
    if let Some(nonce) = agreement.nonce {
        cookie.extend_from_slice(&nonce.to_le_bytes());
    }
    if let Some(qos_link) = agreement.qos_link {
        cookie.extend_from_slice(&qos_link.bits().to_le_bytes());
    }
    if let Some(peer) = &agreement.multilink {
        peer.write(&mut cookie);
    }
    // Authentication code over all of it, and over the bearer.
    let mac = key.mac(&[bearer, &cookie].concat());
    cookie.extend_from_slice(&mac[..MAC_BYTES]);
    cookie
}

/// Reads a cookie back; `None` unless `key` sealed it in `epoch` or the one before, for this `bearer`.
pub(super) fn unseal(
    key: &CookieKey,
    epoch: u32,
    bearer: &[u8],
    cookie: &[u8],
) -> Option<Agreement> {
    // Check the authentication code and the age.
    let split = cookie.len().checked_sub(MAC_BYTES)?;
    let (content, mac) = cookie.split_at(split);
    let expected = key.mac(&[bearer, content].concat());
    if !equal_in_constant_time(&expected[..MAC_BYTES], mac) {
        return None;
    }
    let mut r = Reader::new(content);
    let sealed = u32::from_le_bytes(r.take(4).ok()?.try_into().ok()?);
    if epoch.wrapping_sub(sealed) > 1 {
        return None;
    }
    // Read the fields in the order in which they were written.
    let length = r.u8().ok()?;
    let zid = ZenohId::from_le_bytes(r.take(length.into()).ok()?).ok()?;
    let whatami = WhatAmI::from_code(r.u8().ok()?)?;
    let resolution = Resolution::from_bits(r.u8().ok()?);
    let batch_size = r.u16_le().ok()?;
    let features = r.u8().ok()?;
    let patch = r.u8().ok()?;
    let nonce = match features & NONCE {
        0 => None,
        _ => Some(u64::from_le_bytes(r.take(8).ok()?.try_into().ok()?)),
    };
    let qos_link = match features & QOS_LINK {
        0 => None,
        _ => Some(QosLink::from_bits(u64::from_le_bytes(
            r.take(8).ok()?.try_into().ok()?,
        ))),
    };
    let multilink = match features & MULTILINK {
        0 => None,
        _ => Some(PeerKey::read(&mut r)?),
    };
    r.is_empty().then_some(Agreement {
        zid,
        whatami,
        resolution,
        batch_size,
        qos: features & QOS != 0,
        low_latency: features & LOW_LATENCY != 0,
        compression: features & COMPRESSION != 0,
        patch,
        qos_link,
        nonce,
        multilink,
    })
}

/// Compares in constant time, so that a code cannot be guessed bytewise.
fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(a.len() ^ b.len(), |all, (x, y)| {
        std::hint::black_box(all | usize::from(x ^ y))
    });
    difference == 0
}

#[cfg(test)]
mod tests;
