// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of a connection: the ones that this node offers ([`LocalParameters`]), and the ones
//! that both sides agreed on ([`Established`]). The handshake turns the former into the latter; the
//! code of an open link reads only the latter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha3::Shake128;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use zonda_codec::{QosLink, Resolution, WhatAmI, ZenohId};

use super::certificate::CertificateNames;
use super::options::{LinkOptions, LocalOptions};
use super::shared::SharedMemory;

/// Minimum batch size, in bytes with its length prefix, that any link may agree on.
///
/// A fragment costs up to 11 bytes of prefix, header, sequence number and extensions; below this
/// size a link would carry more headers than data. A node's own minimum is
/// [`LocalParameters::batch_size_min`].
pub const BATCH_SIZE_MIN: u16 = 32;

/// Longest lease that a node may be configured to accept from a peer.
///
/// The bound keeps deadline arithmetic far from the end of the clock's range.
pub const LEASE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// Protocol patch level of this implementation (1: fragments carry First and Drop flags).
pub const PATCH: u8 = 1;

/// Parameters that this node offers in a handshake, and its own limits.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalParameters {
    /// Id of this node.
    pub zid: ZenohId,
    /// Role of this node.
    pub whatami: WhatAmI,
    /// Largest batch, in bytes with its length prefix, offered to peers. Default 65535.
    pub batch_size: u16,
    /// Smallest batch size that a peer may ask for: the sender of a message has a cost for each
    /// batch, for which the other receivers wait. A peer that asks for less is refused.
    /// A node that offers less itself accepts its own offer. Default 1024.
    pub batch_size_min: u16,
    /// Longest lease that this node accepts from a peer; a longer one is cut to it. Default 60 s.
    pub remote_lease_max: Duration,
    /// Width of sequence numbers and request ids offered. Default `0x0a` (32 bits both).
    pub resolution: Resolution,
    /// True if the eight priorities are offered. Default true.
    pub qos: bool,
    /// Highest protocol patch level offered. Default [`PATCH`].
    pub patch: u8,
    /// Lease of this node: the silence after which a peer gives it up. Default 10 s.
    pub lease: Duration,
    /// Divisor of the lease: a keep-alive is sent after `lease / keep_alive_divisor` of silence.
    /// Default 4.
    pub keep_alive_divisor: u32,
    /// Largest message, in bytes, that is reassembled from fragments. Default 1 GiB.
    pub message_size_max: usize,
    /// Options of its links beyond the plain protocol. Default: none.
    pub options: Arc<LocalOptions>,
    /// Priorities and reliability that this node offers for a link that it opens. Default: none.
    pub qos_link: Option<QosLink>,
    /// Set if both ends of the link are on this host: only then [shared memory](LocalOptions::shared) is offered. Default
    /// false.
    pub is_one_host: bool,
}

impl LocalParameters {
    /// Creates the default parameters of node `zid` in role `whatami`.
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
            qos_link: None,
            is_one_host: false,
        }
    }

    /// Returns the memory that this node shares with the peer of a link, if any. A connection of several links has none:
    /// its descriptors would be counted on another link than the one that they came on.
    pub(crate) fn shared(&self) -> Option<&SharedMemory> {
        self.options.shared.as_ref().filter(|_| self.is_one_host)
    }

    /// Returns the smallest batch size that this node agrees to.
    pub(crate) fn batch_size_floor(&self) -> u16 {
        self.batch_size_min.min(self.batch_size).max(BATCH_SIZE_MIN)
    }

    /// Returns the silence allowed to a peer that announces `lease`.
    pub(crate) fn accepted_lease(&self, lease: Duration) -> Duration {
        lease.min(self.remote_lease_max).min(LEASE_MAX)
    }
}

/// Lease of a node that may change while it listens. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedLease(Arc<AtomicU64>);

impl SharedLease {
    /// Creates it with the lease that is announced first.
    #[must_use]
    pub fn new(lease: Duration) -> Self {
        SharedLease(Arc::new(AtomicU64::new(millis(lease))))
    }

    /// Returns the lease that is announced now.
    #[must_use]
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Sets the lease for handshakes that begin from now on; open links keep theirs.
    pub fn set(&self, lease: Duration) {
        self.0.store(millis(lease), Ordering::Relaxed);
    }
}

impl PartialEq for SharedLease {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for SharedLease {}

fn millis(lease: Duration) -> u64 {
    u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)
}

/// Parameters that two nodes agreed on when their link opened.
#[derive(Clone, Debug, PartialEq)]
pub struct Established {
    /// Id of the peer.
    pub zid: ZenohId,
    /// Role of the peer.
    pub whatami: WhatAmI,
    /// Largest batch that either side may send, in bytes with its length prefix.
    pub batch_size: u16,
    /// Mask of the bits in use of a sequence number.
    pub sn_mask: u32,
    /// True if the eight priorities are in use; without them only `Data` exists.
    pub qos: bool,
    /// The agreed protocol patch level.
    pub patch: u8,
    /// Silence that this node has announced: the peer gives it up after that.
    pub lease: Duration,
    /// Silence after which this node gives the peer up.
    pub remote_lease: Duration,
    /// Sequence number of this node's first frame on every channel.
    pub initial_sn_tx: u32,
    /// Sequence number of the peer's first frame on every channel.
    pub initial_sn_rx: u32,
    /// Options of the link beyond the plain protocol.
    pub options: LinkOptions,
}

impl Established {
    /// Returns the agreement of two nodes without options that both announce the maximum of every
    /// parameter: a base for tests and probes.
    pub fn plain(zid: ZenohId, whatami: WhatAmI) -> Self {
        Self {
            zid,
            whatami,
            batch_size: u16::MAX,
            sn_mask: (1 << 28) - 1,
            qos: true,
            patch: 1,
            lease: Duration::from_secs(10),
            remote_lease: Duration::from_secs(10),
            initial_sn_tx: 0,
            initial_sn_rx: 0,
            options: LinkOptions::default(),
        }
    }

    /// Adds the names in the peer's certificate, if it has shown one.
    #[must_use]
    pub(crate) fn certified(mut self, names: Option<Box<CertificateNames>>) -> Self {
        self.options.certify(names);
        self
    }
}

/// Returns the first sequence number that node `own` uses towards node `peer`.
///
/// All links between the two nodes have the same number, which a connection of several links needs.
pub fn initial_sn(own: &ZenohId, peer: &ZenohId, mask: u32) -> u32 {
    let mut hasher = Shake128::default();
    hasher.update(own.as_le_bytes());
    hasher.update(peer.as_le_bytes());
    let mut first = [0; 4];
    hasher.finalize_xof().read(&mut first);
    u32::from_le_bytes(first) & mask
}

/// Returns true if each field of `answered` is at most the same field of `offered`.
pub(crate) fn is_within(answered: Resolution, offered: Resolution) -> bool {
    answered.min(offered) == answered
}

#[cfg(test)]
mod tests;
