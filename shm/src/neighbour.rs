// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Neighbour`]: a link whose two ends have proved that they share memory.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{
            AtomicU64,
            Ordering::{AcqRel, Acquire},
        },
    },
};

use zonda_codec::{ZSlice, shared::Descriptor};

use crate::{
    Candidate, Lease, Node, Refusal, SharedBuffer,
    auth::Auth,
    buffer::{Held, Use},
    counts::Counts,
    keeper,
    meta::{HEADERS, Meta},
    outgoing::{Outgoing, PRIORITIES},
    segment::{self, Segment},
};

/// Segments of a kind that are mapped for one neighbour.
const SEGMENTS_MAX: usize = 64;

/// Bytes of payloads that are mapped for one neighbour.
const MAPPED_MAX: u64 = 64 << 30;

/// Buffers that are held because of one neighbour.
const HELD_MAX: usize = 32768;

/// A link whose two ends have proved that they share memory.
#[derive(Debug)]
pub struct Neighbour {
    node: Arc<Node>,
    /// The neighbour's segment, in which its descriptors are counted down.
    auth: Auth,
    counters: [u16; PRIORITIES],
    mapped: Mutex<Mapped>,
    held: [Arc<AtomicU64>; 2],
    outgoing: Arc<Outgoing>,
}

/// Segments that the neighbour's descriptors have named.
#[derive(Debug, Default)]
struct Mapped {
    metas: HashMap<u16, Arc<Meta>>,
    data: HashMap<u32, Arc<Segment>>,
    /// Number of the batch for which the sizes of files were looked at.
    looked_at: u64,
}

impl Neighbour {
    /// Creates the link of a neighbour that has shown this node's challenge, with the counters that it has named.
    ///
    /// # Errors
    /// The neighbour's segment is no longer what it was, or has no such counters. Counted.
    pub fn new(
        node: &Arc<Node>,
        candidate: Candidate,
        lease: Lease,
        counters: [u16; PRIORITIES],
    ) -> Result<Neighbour, Refusal> {
        let proved = candidate.prove().and_then(|auth| {
            let wrong = counters.iter().find(|n| auth.counter(**n).is_none());
            wrong.map_or(Ok(auth), |wrong| Err(Refusal::Index(u32::from(*wrong))))
        });
        let auth = proved.inspect_err(|refusal| node.counts().refuse(refusal))?;
        let outgoing = Arc::new(Outgoing::new(lease));
        Counts::add(&node.counts().links);
        Ok(Neighbour {
            auth,
            counters,
            mapped: Mutex::default(),
            held: [Arc::default(), Arc::clone(&node.counts().held)],
            outgoing,
            node: Arc::clone(node),
        })
    }

    /// Returns the node's own shared memory.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Takes over the buffer that a received descriptor names, and counts the descriptor down in every case. `batch` is
    /// another number for each batch: the sizes of files are looked at once for each.
    ///
    /// # Errors
    /// The descriptor, the header that it names or the segment of that header is not valid. The reference that came
    /// with it is given back, where that is possible. Counted.
    pub fn take(
        &self,
        descriptor: &Descriptor,
        priority: usize,
        batch: u64,
    ) -> Result<ZSlice, Refusal> {
        let taken = self.look_up(descriptor, batch);
        self.count_down(priority);
        let counts = self.node.counts();
        match &taken {
            Ok(_) => Counts::add(&counts.taken),
            Err(refusal) => counts.refuse(refusal),
        }
        taken
    }

    /// Counts a descriptor down that cannot be read.
    pub fn pass_over(&self, priority: usize) {
        self.count_down(priority);
    }

    fn count_down(&self, priority: usize) {
        let counter = self.auth.counter(self.counters[priority % PRIORITIES]);
        if let Some(counter) = counter.filter(|_| self.auth.is_whole()) {
            counter.fetch_sub(1, AcqRel);
        }
    }

    fn look_up(&self, descriptor: &Descriptor, batch: u64) -> Result<ZSlice, Refusal> {
        let Descriptor {
            len,
            segment,
            index,
            generation,
        } = *descriptor;
        if index >= HEADERS {
            return Err(Refusal::Index(u32::from(index)));
        }
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.look_again(batch, self.node.counts());
        let counts = self.node.counts();
        let meta = mapped_segment(&mut mapped.metas, segment, counts, |_| {
            Meta::open(segment).map(Arc::new)
        })?;
        meta.reserve(index)?;
        // From here on the buffer is confirmed; the reference is the receiver's unless the buffer has another use by now.
        let used = Use::new(Arc::clone(&meta), index, generation);
        let found = meta.generation(index);
        if found != generation {
            return Err(Refusal::Generation(found));
        }
        let admitted = self.admit(&mut mapped, &meta, index, len);
        let (data, offset) = admitted.inspect_err(|_| used.give_back())?;
        let held = Held::new(self.held.clone());
        let range = offset..offset + len as usize;
        let buffer = SharedBuffer::new(used, data, range, Some(held));
        match self.node.settings().copies_out {
            false => Ok(ZSlice::from(buffer)),
            true => buffer.copied().map(ZSlice::from).ok_or(Refusal::Size(0)),
        }
    }

    /// Checks the place of a buffer; returns its segment and its offset.
    fn admit(
        &self,
        mapped: &mut Mapped,
        meta: &Meta,
        index: u16,
        len: u64,
    ) -> Result<(Arc<Segment>, usize), Refusal> {
        if meta.is_invalidated(index) {
            return Err(Refusal::Invalidated);
        }
        let place = meta.place(index);
        if place.protocol != 0 {
            return Err(Refusal::Protocol(place.protocol));
        }
        let outside = Refusal::Bounds {
            offset: u64::from(place.offset),
            len,
        };
        if len == 0 || len > place.capacity {
            return Err(outside);
        }
        if self.held[0].load(Acquire) >= HELD_MAX as u64 {
            return Err(Refusal::Limit(HELD_MAX));
        }
        let counts = self.node.counts();
        let data = mapped_segment(&mut mapped.data, place.segment, counts, |mapped| {
            let (file, size) = segment::open_file(place.segment, false)?;
            let lens = mapped.values().map(|data| data.map().len() as u64);
            if size <= segment::BYTES_MAX && size > MAPPED_MAX.saturating_sub(lens.sum()) {
                return Err(Refusal::Limit(mapped.len()));
            }
            Segment::adopt(place.segment, file, size, None).map(Arc::new)
        })?;
        let end = u64::from(place.offset).checked_add(len);
        match end {
            Some(end) if end <= data.map().len() as u64 => Ok((data, place.offset as usize)),
            _ => Err(outside),
        }
    }

    /// Returns the description, for the neighbour, of a payload that lies in shared memory. `None` if the payload is to go
    /// as bytes: it lies elsewhere, or too much is on its way.
    #[must_use]
    pub fn describe(&self, payload: &ZSlice, priority: usize) -> Option<Descriptor> {
        let buffer = SharedBuffer::of(payload)?;
        let describe = || buffer.describe(payload.len());
        let told = self.outgoing.send(priority, describe)?;
        Counts::add(&self.node.counts().sent);
        Some(told)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let counts = self.node.counts();
        Counts::subtract(&counts.links);
        let mapped = self
            .mapped
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let segments = mapped.metas.len() + mapped.data.len();
        (0..segments).for_each(|_| Counts::subtract(&counts.segments));
        if self.outgoing.has_any() {
            let outgoing = Arc::clone(&self.outgoing);
            keeper::end(outgoing);
        }
    }
}

impl Mapped {
    /// Forgets, once for each batch, the segments whose files have lost bytes.
    fn look_again(&mut self, batch: u64, counts: &Counts) {
        if self.looked_at == batch {
            return;
        }
        self.looked_at = batch;
        let before = self.metas.len() + self.data.len();
        self.metas.retain(|_, meta| meta.is_whole());
        self.data.retain(|_, data| data.is_whole());
        let gone = before - self.metas.len() - self.data.len();
        (0..gone).for_each(|_| Counts::subtract(&counts.segments));
    }
}

/// Returns the segment of that number, opened if it is a new one. Where there are too many, those without a use go.
fn mapped_segment<K: Hash + Eq + Copy, S>(
    all: &mut HashMap<K, Arc<S>>,
    id: K,
    counts: &Counts,
    open: impl Fn(&HashMap<K, Arc<S>>) -> Result<Arc<S>, Refusal>,
) -> Result<Arc<S>, Refusal> {
    if let Some(known) = all.get(&id) {
        return Ok(Arc::clone(known));
    }
    let open = |all: &HashMap<K, Arc<S>>| match all.len() >= SEGMENTS_MAX {
        true => Err(Refusal::Limit(SEGMENTS_MAX)),
        false => open(all),
    };
    let opened = open(all).or_else(|refusal| {
        if !matches!(refusal, Refusal::Limit(_)) {
            return Err(refusal);
        }
        let before = all.len();
        all.retain(|_, segment| Arc::strong_count(segment) > 1);
        (all.len()..before).for_each(|_| Counts::subtract(&counts.segments));
        open(all)
    })?;
    Counts::add(&counts.segments);
    all.insert(id, Arc::clone(&opened));
    Ok(opened)
}
