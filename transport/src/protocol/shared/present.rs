// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory over the crate `zonda-shm`.

use std::{fmt, io, sync::Arc};

use zonda_codec::{
    Priority, Reader, Writer, ZSlice,
    shared::{Descriptor, Kind, SharedMessage, Slice},
};
use zonda_shm::{Candidate, Lease, Neighbour, Node, Refusal, Settings, SharedBuffer};

use super::{SharedCounts, SharedSettings, Unresolved, WrongProof};

/// Most bytes of an extension of the handshake: a challenge, a mark and eight counters.
const BODY_BYTES_MAX: usize = 9 + 1 + 8 * 3;

/// Number of priorities.
const PRIORITIES: usize = Priority::ALL.len();

/// Shared memory of a node. Clones are the same.
#[derive(Clone)]
pub struct SharedMemory(Arc<Node>);

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the challenge.
        write!(f, "SharedMemory({})", self.0.segment())
    }
}

impl PartialEq for SharedMemory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedMemory {}

/// Link whose ends share memory. Clones are the same.
#[derive(Clone)]
pub struct SharedLink(Arc<Neighbour>);

impl fmt::Debug for SharedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedLink")
    }
}

impl PartialEq for SharedLink {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedLink {}

/// State of an offer between two messages: the neighbour's segment, and the opener's counters.
#[derive(Clone, Debug)]
pub(crate) struct Offered(Arc<(Candidate, Option<Lease>)>);

impl Offered {
    /// Returns the state, unless the handshake was cloned.
    fn take(self) -> Option<(Candidate, Option<Lease>)> {
        Arc::into_inner(self.0)
    }
}

/// Writes the body of an extension.
fn body(write: impl FnOnce(&mut Writer<'_>) -> Result<(), zonda_codec::EncodeError>) -> Vec<u8> {
    let mut bytes = vec![0; BODY_BYTES_MAX];
    let mut writer = Writer::new(&mut bytes);
    // The longest body fits.
    let _ = write(&mut writer);
    let written = writer.position();
    bytes.truncate(written);
    bytes
}

fn write_counters(
    writer: &mut Writer<'_>,
    counters: [u16; PRIORITIES],
) -> Result<(), zonda_codec::EncodeError> {
    writer.u8(1)?;
    counters
        .iter()
        .try_for_each(|counter| writer.vle(u64::from(*counter)))
}

/// Reads counters; `None` if the peer counts nothing on this link, or the bytes are no counters.
fn read_counters(reader: &mut Reader<'_>) -> Option<[u16; PRIORITIES]> {
    if reader.u8().ok()? == 0 {
        return None;
    }
    let mut counters = [0; PRIORITIES];
    for counter in &mut counters {
        *counter = reader.z16().ok()?;
    }
    Some(counters)
}

impl SharedMemory {
    /// Sets up shared memory: one file, and with [`SharedSettings::at_open`] the pool.
    ///
    /// # Errors
    /// The system has no shared memory, or refuses this process a part of it.
    pub fn open(settings: &SharedSettings) -> io::Result<SharedMemory> {
        let node = Node::open(Settings {
            pool_bytes: settings.pool_bytes,
            size_min: settings.size_min,
            copied: settings.copied,
            copies_out: settings.copies_out,
        })?;
        if settings.at_open {
            let _ = node.pool();
        }
        Ok(SharedMemory(node))
    }

    /// Returns the counts.
    #[must_use]
    pub fn counts(&self) -> SharedCounts {
        let counted = self.0.counted();
        let refused = Refusal::LABELS.iter().copied().zip(counted.refused);
        SharedCounts {
            taken: counted.taken,
            sent: counted.sent,
            copied_in: counted.copied_in,
            pool_full: counted.pool_full,
            reclaimed: counted.reclaimed,
            held: counted.held,
            segments: counted.segments,
            pools: counted.pools,
            links: counted.links,
            refused: refused.collect(),
        }
    }

    /// Returns the node's shared memory.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.0
    }

    /// Returns the body of InitSyn.
    pub(crate) fn offer(&self) -> Vec<u8> {
        body(|writer| writer.vle(u64::from(self.0.segment())))
    }

    /// Returns the answer to a peer's InitSyn; `None` if this node cannot open its segment.
    pub(crate) fn acknowledge(&self, init_syn: &[u8]) -> Option<(Offered, Vec<u8>)> {
        let candidate = self.0.knock(Reader::new(init_syn).z32().ok()?).ok()?;
        let answer = body(|writer| {
            writer.vle(candidate.challenge())?;
            writer.vle(u64::from(self.0.segment()))
        });
        Some((Offered(Arc::new((candidate, None))), answer))
    }

    /// Returns the answer to a peer's InitAck; `None` if either node cannot open the other's segment.
    pub(crate) fn prove(&self, init_ack: &[u8]) -> Option<(Offered, Vec<u8>)> {
        let mut reader = Reader::new(init_ack);
        if reader.z64().ok()? != self.0.challenge() {
            return None;
        }
        let candidate = self.0.knock(reader.z32().ok()?).ok()?;
        let lease = self.0.lease()?;
        let answer = body(|writer| {
            writer.vle(candidate.challenge())?;
            write_counters(writer, lease.numbers())
        });
        Some((Offered(Arc::new((candidate, Some(lease)))), answer))
    }

    /// Returns the link of a peer whose OpenSyn proves that it can open this node's segment, and the answer to it; `None`
    /// if the peer wants none after all.
    pub(crate) fn admit(
        &self,
        offered: Offered,
        open_syn: &[u8],
    ) -> Result<Option<(SharedLink, Vec<u8>)>, WrongProof> {
        let mut reader = Reader::new(open_syn);
        if reader.z64().ok() != Some(self.0.challenge()) {
            return Err(WrongProof);
        }
        let counters = read_counters(&mut reader);
        let Some((((candidate, _), counters), lease)) =
            offered.take().zip(counters).zip(self.0.lease())
        else {
            return Ok(None);
        };
        let answer = body(|writer| write_counters(writer, lease.numbers()));
        let link = Neighbour::new(&self.0, candidate, lease, counters);
        match link {
            Ok(link) => Ok(Some((SharedLink(Arc::new(link)), answer))),
            Err(_) => Err(WrongProof),
        }
    }

    /// Returns the link to a peer whose OpenAck names its counters.
    pub(crate) fn complete(&self, offered: Offered, open_ack: &[u8]) -> Option<SharedLink> {
        let counters = read_counters(&mut Reader::new(open_ack))?;
        let (candidate, lease) = offered.take()?;
        let link = Neighbour::new(&self.0, candidate, lease?, counters);
        link.ok().map(|link| SharedLink(Arc::new(link)))
    }
}

impl SharedLink {
    /// Returns the payload of a message that arrived in the batch of this number: without a copy if it lies in one piece.
    /// Counts each descriptor down.
    ///
    /// # Errors
    /// A piece of it is refused, or it is longer than `bytes_max`.
    pub(crate) fn resolve(
        &self,
        message: &SharedMessage<'_>,
        batch: u64,
        bytes_max: usize,
    ) -> Result<ZSlice, Unresolved> {
        let priority = message.priority() as usize;
        let mut pieces = Vec::new();
        let (mut is_whole, mut length) = (true, 0_usize);
        for slice in message.slices() {
            let piece = match slice {
                Slice::Bytes(bytes) => Some(Piece::Bytes(bytes)),
                Slice::Shared(Some(descriptor)) => {
                    let taken = self.0.take(&descriptor, priority, batch);
                    taken.ok().map(Piece::Shared)
                }
                Slice::Shared(None) => {
                    self.0.pass_over(priority);
                    None
                }
            };
            is_whole &= piece.is_some();
            length = length.saturating_add(piece.as_ref().map_or(0, Piece::len));
            pieces.extend(piece);
        }
        if !is_whole {
            return Err(Unresolved::Refused);
        }
        if length > bytes_max {
            return Err(Unresolved::TooLarge);
        }
        match pieces.pop() {
            Some(Piece::Shared(only)) if pieces.is_empty() => Ok(only),
            last => {
                let mut bytes = Vec::with_capacity(length);
                let is_copied = pieces.iter().chain(&last).all(|piece| match piece {
                    Piece::Bytes(part) => {
                        bytes.extend_from_slice(part);
                        true
                    }
                    Piece::Shared(part) => append(part, &mut bytes),
                });
                let whole = is_copied.then(|| ZSlice::from(bytes));
                whole.ok_or(Unresolved::Refused)
            }
        }
    }

    /// Returns the smallest payload that may leave in shared memory.
    pub(crate) fn size_min(&self) -> usize {
        self.0.node().settings().size_min.max(1)
    }

    /// Returns the description of a payload for the peer: of one in shared memory as it is, of another one after a copy
    /// into the node's pool. `None` if it is to go as bytes.
    pub(crate) fn describe(
        &self,
        payload: &ZSlice,
        priority: Priority,
        kind: Kind,
    ) -> Option<Descriptor> {
        let copy;
        let shared = match SharedBuffer::of(payload) {
            Some(_) => payload,
            None => {
                copy = self.0.node().copy_in(payload.as_slice(), kind)?;
                &copy
            }
        };
        self.0.describe(shared, priority as usize)
    }
}

/// Part of a payload.
enum Piece<'a> {
    Bytes(&'a [u8]),
    Shared(ZSlice),
}

impl Piece<'_> {
    fn len(&self) -> usize {
        match self {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Shared(slice) => slice.len(),
        }
    }
}

/// Appends a copy of a payload; false, with nothing appended, if another process has truncated the memory that it lies in.
pub(crate) fn append(payload: &ZSlice, bytes: &mut Vec<u8>) -> bool {
    match SharedBuffer::of(payload).filter(|buffer| buffer.is_foreign()) {
        None => bytes.extend_from_slice(payload.as_slice()),
        Some(buffer) => match buffer.copied_part(0, payload.len()) {
            Some(copy) => bytes.extend_from_slice(&copy),
            None => return false,
        },
    }
    true
}

/// Returns a copy of a part of a payload that lies in the memory of another process, for a peer that does not share it:
/// the process might truncate it before the socket has it. Bytes that are lost already are zeros. `None` for a payload
/// in this process's memory, which needs no copy.
#[inline]
pub(crate) fn own_copy(payload: &ZSlice, start: usize, end: usize) -> Option<ZSlice> {
    let buffer = SharedBuffer::of(payload)?;
    if !buffer.is_foreign() {
        return None;
    }
    let copied = buffer.copied_part(start, end - start);
    Some(ZSlice::from(copied.unwrap_or_else(|| vec![0; end - start])))
}
