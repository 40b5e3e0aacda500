// SPDX-License-Identifier: MIT OR Apache-2.0
//! What this node brings to a connection ([`LocalParameters`]), and what both sides agreed on
//! ([`Established`]). The handshake turns the first into the second; everything that runs on an
//! open link reads only the second.

use std::sync::Arc;
use std::time::Duration;

use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use zonda_codec::{Resolution, WhatAmI, ZenohId};

use super::certificate::CertificateNames;
use super::options::{LinkOptions, LocalOptions};

/// The smallest batch size, in bytes with its length prefix, that any link may agree on.
///
/// A fragment costs up to 11 bytes of prefix, header, sequence number and extensions; below this
/// size a link would carry more headers than data. What a node accepts is
/// [`LocalParameters::batch_size_min`].
pub const BATCH_SIZE_MIN: u16 = 32;

/// The longest lease that a node may be configured to take over from a peer.
///
/// It keeps deadline arithmetic far from the end of the clock's range.
pub const LEASE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// The protocol patch level this implementation speaks (1: fragments carry First and Drop marks).
pub const PATCH: u8 = 1;

/// What this node offers in a handshake, and the limits it keeps for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalParameters {
    /// This node's id.
    pub zid: ZenohId,
    /// This node's role.
    pub whatami: WhatAmI,
    /// The largest batch, in bytes with its length prefix, offered to peers. Default 65535.
    pub batch_size: u16,
    /// The smallest batch size that a peer may ask for: each batch costs the sender of a message time, and the other
    /// receivers of that message wait for it. A peer that asks for less is refused. Default 1024. A node that offers less
    /// itself accepts what it offers.
    pub batch_size_min: u16,
    /// The longest lease that this node takes over from a peer; a longer one is cut to it. Default 60 s.
    pub remote_lease_max: Duration,
    /// Width of sequence numbers and request ids offered. Default `0x0a` (32 bits both).
    pub resolution: Resolution,
    /// Whether the eight priorities are offered. Default true.
    pub qos: bool,
    /// The highest protocol patch level offered. Default [`PATCH`].
    pub patch: u8,
    /// How long a peer may hear nothing from this node before it gives up. Default 10 s.
    pub lease: Duration,
    /// A keep-alive is sent after `lease / keep_alive_divisor` of silence. Default 4.
    pub keep_alive_divisor: u32,
    /// The largest message, in bytes, put together from fragments. Default 1 GiB.
    pub message_size_max: usize,
    /// What its links may have beyond the plain protocol. Default: nothing.
    pub options: Arc<LocalOptions>,
}

impl LocalParameters {
    /// The default parameters of node `zid` in role `whatami`.
    pub fn new(zid: ZenohId, whatami: WhatAmI) -> Self {
        LocalParameters {
            zid,
            whatami,
            batch_size: u16::MAX,
            batch_size_min: 1024,
            remote_lease_max: Duration::from_secs(60),
            resolution: Resolution::default(),
            qos: true,
            patch: PATCH,
            lease: Duration::from_secs(10),
            keep_alive_divisor: 4,
            message_size_max: 1 << 30,
            options: Arc::default(),
        }
    }

    /// The smallest batch size that this node agrees to.
    pub(crate) fn batch_size_floor(&self) -> u16 {
        self.batch_size_min.min(self.batch_size).max(BATCH_SIZE_MIN)
    }

    /// How long a peer that announces `lease` may stay silent.
    pub(crate) fn accepted_lease(&self, lease: Duration) -> Duration {
        lease.min(self.remote_lease_max).min(LEASE_MAX)
    }
}

/// What two nodes agreed on when their link opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Established {
    /// The peer's id.
    pub zid: ZenohId,
    /// The peer's role.
    pub whatami: WhatAmI,
    /// The largest batch either side may send, in bytes with its length prefix.
    pub batch_size: u16,
    /// The bits in use of a sequence number.
    pub sn_mask: u32,
    /// Whether the eight priorities are in use; without them only `Data` exists.
    pub qos: bool,
    /// The agreed protocol patch level.
    pub patch: u8,
    /// How long the peer may stay silent before this node gives it up.
    pub remote_lease: Duration,
    /// The sequence number of this node's first frame on every channel.
    pub initial_sn_tx: u32,
    /// The sequence number of the peer's first frame on every channel.
    pub initial_sn_rx: u32,
    /// What the link has beyond the plain protocol.
    pub options: LinkOptions,
}

impl Established {
    /// What two nodes agree on where neither has an option set and both announce the largest of everything: the start of
    /// what a test or a probe varies.
    pub fn plain(zid: ZenohId, whatami: WhatAmI) -> Self {
        Self {
            zid,
            whatami,
            batch_size: u16::MAX,
            sn_mask: (1 << 28) - 1,
            qos: true,
            patch: 1,
            remote_lease: Duration::from_secs(10),
            initial_sn_tx: 0,
            initial_sn_rx: 0,
            options: LinkOptions::default(),
        }
    }

    /// Adds the names in the certificate that the peer has shown, if it has.
    #[must_use]
    pub(crate) fn certified(mut self, names: Option<Box<CertificateNames>>) -> Self {
        self.options.certify(names);
        self
    }
}

/// The first sequence number that node `own` uses towards node `peer`.
///
/// It is the same for every link between the two, which a connection of several links needs.
pub fn initial_sn(own: &ZenohId, peer: &ZenohId, mask: u32) -> u32 {
    let mut hasher = Shake128::default();
    hasher.update(own.as_le_bytes());
    hasher.update(peer.as_le_bytes());
    let mut first = [0; 4];
    hasher.finalize_xof().read(&mut first);
    u32::from_le_bytes(first) & mask
}

/// Whether each field of `answered` is at most the same field of `offered`.
pub(crate) fn is_within(answered: Resolution, offered: Resolution) -> bool {
    answered.min(offered) == answered
}

#[cfg(test)]
mod tests;
