// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stub for systems on which a sender cannot write without waiting whatever the descriptor's mode:
//! the driver makes every write.

use std::{io, time::Duration};

use crate::outbox::transmit::Transmit;

/// A link's socket, for senders. On this system there is none.
#[derive(Debug, Clone)]
pub enum DirectSocket {}

impl DirectSocket {
    /// Returns `None`.
    ///
    /// # Errors
    /// Never.
    pub fn beside<T>(_stream: &T) -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Returns `None`.
    #[must_use]
    pub fn of(_link: &crate::link::LinkStream) -> Option<Self> {
        None
    }

    pub(in crate::outbox) fn held(&self) -> usize {
        match *self {}
    }

    pub(in crate::outbox) fn batch_size(&self, _max: u16) -> u16 {
        match *self {}
    }

    pub(in crate::outbox) fn gauge(&self) -> Option<crate::link::BacklogGauge> {
        match *self {}
    }

    pub(in crate::outbox) fn send(&self, _transmit: &Transmit) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn shutdown(&self) {
        match *self {}
    }

    pub(in crate::outbox) fn wait_writable(&self, _left: Duration) -> bool {
        match *self {}
    }

    pub(in crate::outbox) fn is_confirmed(&self) -> Option<bool> {
        match *self {}
    }
}
