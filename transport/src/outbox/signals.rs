// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of senders to the driver of their link: a few flags and the driver's waker.

use std::{
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
    task::{Context, Poll},
};

use atomic_waker::AtomicWaker;

/// Signals to the driver. Flags, because several may be raised before it looks.
pub(crate) mod signal {
    /// Write what is queued.
    pub(crate) const FLUSH: u8 = 1;
    /// The socket took only a part; the rest waits for the socket writer.
    pub(crate) const HANDOVER: u8 = 2;
    /// A dense stream began: write the open batches every tick until it ends.
    pub(crate) const HOT: u8 = 4;
    /// Write what is queued, send Close and end.
    pub(crate) const CLOSE: u8 = 8;
    /// End at once.
    pub(crate) const ABORT: u8 = 16;
    /// The link is lost; another one may take over.
    pub(crate) const LOST: u8 = 32;
    /// The lanes are divided among several links.
    pub(crate) const DIVIDED: u8 = 64;
}

/// Flags that wait for the driver. Any number of senders, one driver.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    raised: AtomicU8,
    close_reason: AtomicU8,
    driver: AtomicWaker,
}

impl Signals {
    pub(crate) fn raise(&self, flag: u8) {
        if self.raised.fetch_or(flag, Ordering::SeqCst) & flag == 0 {
            self.driver.wake();
        }
    }

    /// Clears raised flags.
    pub(crate) fn lower(&self, flags: u8) {
        self.raised.fetch_and(!flags, Ordering::SeqCst);
    }

    pub(crate) fn has(&self, flags: u8) -> bool {
        self.raised.load(Ordering::SeqCst) & flags != 0
    }

    pub(crate) fn set_close_reason(&self, reason: u8) {
        self.close_reason.store(reason, Ordering::SeqCst);
    }

    pub(crate) fn close_reason(&self) -> u8 {
        self.close_reason.load(Ordering::SeqCst)
    }

    /// Takes all raised flags, or registers the driver to be woken by the next one.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<u8> {
        let taken = self.raised.swap(0, Ordering::SeqCst);
        if taken != 0 {
            return Poll::Ready(taken);
        }
        self.driver.register(context.waker());
        match self.raised.swap(0, Ordering::SeqCst) {
            0 => Poll::Pending,
            taken => Poll::Ready(taken),
        }
    }
}

/// State of one link that its task and the writer share.
#[derive(Debug, Default)]
pub(crate) struct LinkShare {
    signals: Signals,
    /// Set once bytes were written.
    wrote: AtomicBool,
}

impl LinkShare {
    pub(super) fn raise(&self, flag: u8) {
        self.signals.raise(flag);
    }

    /// Notes that bytes were written on the link.
    pub(super) fn note_written(&self) {
        self.wrote.store(true, Ordering::Relaxed);
    }

    /// Takes the signals for the link's task, or registers the task for the next one.
    pub(crate) fn poll_signals(&self, context: &mut Context<'_>) -> Poll<u8> {
        self.signals.poll(context)
    }

    /// Returns true if bytes were written on the link since the last call.
    pub(crate) fn take_wrote(&self) -> bool {
        self.wrote.swap(false, Ordering::Relaxed)
    }
}
