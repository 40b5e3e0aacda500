// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stub of shared memory in a build without it: no node has any, so none is offered.

use std::io;

use zonda_codec::{
    Priority, ZSlice,
    shared::{Descriptor, Kind, SharedMessage},
};

use super::{SharedCounts, SharedSettings, Unresolved, WrongProof};

/// Shared memory of a node, which this build does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedMemory {}

/// Link whose ends share memory, which this build does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedLink {}

/// State of an offer, which this build does not make.
#[derive(Clone, Debug)]
pub(crate) enum Offered {}

impl SharedMemory {
    /// Fails.
    ///
    /// # Errors
    /// This build has no shared memory.
    pub fn open(_settings: &SharedSettings) -> io::Result<SharedMemory> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called; see the other build.
    #[must_use]
    pub fn counts(&self) -> SharedCounts {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn offer(&self) -> Vec<u8> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn acknowledge(&self, _init_syn: &[u8]) -> Option<(Offered, Vec<u8>)> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn prove(&self, _init_ack: &[u8]) -> Option<(Offered, Vec<u8>)> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn admit(
        &self,
        _offered: Offered,
        _open_syn: &[u8],
    ) -> Result<Option<(SharedLink, Vec<u8>)>, WrongProof> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn complete(&self, _offered: Offered, _open_ack: &[u8]) -> Option<SharedLink> {
        match *self {}
    }
}

impl SharedLink {
    /// Never called; see the other build.
    pub(crate) fn resolve(
        &self,
        _message: &SharedMessage<'_>,
        _batch: u64,
        _bytes_max: usize,
    ) -> Result<ZSlice, Unresolved> {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn size_min(&self) -> usize {
        match *self {}
    }

    /// Never called; see the other build.
    pub(crate) fn describe(
        &self,
        _payload: &ZSlice,
        _priority: Priority,
        _kind: Kind,
    ) -> Option<Descriptor> {
        match *self {}
    }
}

/// Returns `None`: no payload lies in the memory of another process.
#[inline]
pub(crate) fn own_copy(_payload: &ZSlice, _start: usize, _end: usize) -> Option<ZSlice> {
    None
}

/// Appends a copy of a payload.
pub(crate) fn append(payload: &ZSlice, bytes: &mut Vec<u8>) -> bool {
    bytes.extend_from_slice(payload.as_slice());
    true
}
