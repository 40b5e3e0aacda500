// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket of senders in the tests of this crate: the system's, or one of the simulation.

use std::{fmt::Debug, io, sync::Arc, time::Duration};

use zonda_runtime::Segments;

use crate::outbox::transmit::Transmit;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "none.rs"]
mod system;

/// Socket of a simulation, in place of the system's.
pub trait SimulatedSocket: Debug + Send + Sync {
    /// Takes some of the bytes; returns how many.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Advances the time until the socket takes bytes; false if `left` has passed before.
    fn wait_writable(&self, left: Duration) -> bool;

    /// Returns true if the peer's system has all that was sent.
    fn is_confirmed(&self) -> Option<bool>;

    /// Ends both directions.
    fn shutdown(&self);
}

/// A link's socket, for senders.
#[derive(Debug, Clone)]
pub enum DirectSocket {
    /// Socket of the system.
    System(system::DirectSocket),
    /// Socket of a simulation.
    Simulated(Arc<dyn SimulatedSocket>),
}

impl DirectSocket {
    /// Duplicates the descriptor of `stream`.
    #[cfg(target_os = "linux")]
    pub fn beside(stream: &impl std::os::fd::AsFd) -> io::Result<Option<Self>> {
        Ok(system::DirectSocket::beside(stream)?.map(DirectSocket::System))
    }

    /// Duplicates the descriptor of `stream`, where the system can.
    #[cfg(not(target_os = "linux"))]
    pub fn beside<T>(stream: &T) -> io::Result<Option<Self>> {
        Ok(system::DirectSocket::beside(stream)?.map(DirectSocket::System))
    }

    pub(in crate::outbox) fn batch_size(&self, max: u16) -> u16 {
        match self {
            DirectSocket::System(socket) => socket.batch_size(max),
            DirectSocket::Simulated(_) => max,
        }
    }

    pub(in crate::outbox) fn held(&self) -> usize {
        match self {
            DirectSocket::System(socket) => socket.held(),
            DirectSocket::Simulated(_) => 0,
        }
    }

    pub(in crate::outbox) fn gauge(&self) -> Option<crate::link::BacklogGauge> {
        match self {
            DirectSocket::System(socket) => socket.gauge(),
            DirectSocket::Simulated(_) => None,
        }
    }

    pub(in crate::outbox) fn send(&self, transmit: &Transmit) -> io::Result<usize> {
        match self {
            DirectSocket::System(socket) => socket.send(transmit),
            DirectSocket::Simulated(socket) => {
                let segments = (0..transmit.count()).map(|index| transmit.segment(index));
                socket.send(&segments.collect::<Vec<_>>().concat())
            }
        }
    }

    pub(crate) fn shutdown(&self) {
        match self {
            DirectSocket::System(socket) => socket.shutdown(),
            DirectSocket::Simulated(socket) => socket.shutdown(),
        }
    }

    pub(in crate::outbox) fn wait_writable(&self, left: Duration) -> bool {
        match self {
            DirectSocket::System(socket) => socket.wait_writable(left),
            DirectSocket::Simulated(socket) => socket.wait_writable(left),
        }
    }

    pub(in crate::outbox) fn is_confirmed(&self) -> Option<bool> {
        match self {
            DirectSocket::System(socket) => socket.is_confirmed(),
            DirectSocket::Simulated(socket) => socket.is_confirmed(),
        }
    }
}
