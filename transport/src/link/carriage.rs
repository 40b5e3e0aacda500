// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link and the task that carries its bytes both know.

use std::sync::atomic::{AtomicU8, Ordering};
use std::task::Waker;
use std::time::SystemTime;

use atomic_waker::AtomicWaker;

use crate::protocol::options::Framing;
use crate::protocol::parameters::Established;

/// How what follows the introductions is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framed {
    /// The two ends introduce themselves still, or have batches whose priority does not show.
    Batches = 0,
    /// Batches, each of one priority.
    Lanes = 1,
    /// Single messages.
    Bare = 2,
}

/// What a link and the task that carries its bytes both know.
#[derive(Debug, Default)]
pub struct Carriage {
    /// When what the peer has shown of itself expires.
    valid_until: Option<SystemTime>,
    framed: AtomicU8,
    carrier: AtomicWaker,
}

#[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
impl Carriage {
    pub(super) fn new(valid_until: Option<SystemTime>) -> Carriage {
        Carriage {
            valid_until,
            ..Carriage::default()
        }
    }

    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// The two ends have introduced themselves.
    pub(super) fn agree(&self, established: &Established) {
        let framed = match established.options.framing() {
            Framing::Bare => Framed::Bare,
            Framing::Plain if established.qos => Framed::Lanes,
            Framing::Plain | Framing::Compressed => Framed::Batches,
        };
        self.framed.store(framed as u8, Ordering::SeqCst);
        self.carrier.wake();
    }

    /// How what follows is framed. A change wakes the one that has called this last.
    pub(super) fn watch(&self, carrier: &Waker) -> Framed {
        self.carrier.register(carrier);
        self.framed()
    }

    pub(super) fn framed(&self) -> Framed {
        match self.framed.load(Ordering::SeqCst) {
            0 => Framed::Batches,
            1 => Framed::Lanes,
            _ => Framed::Bare,
        }
    }
}
