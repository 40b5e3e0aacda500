// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timer of a waiting read: bounds the silence of a peer in the middle of a message, and the doubt
//! about a Close that may be forged.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use zonda_runtime::Runtime;

use crate::{clock, driver::Handler};

use super::{Ended, ReadTask};

/// Interval of probes to a peer that may have closed its link: the system of a peer that has closed
/// answers that its port is closed.
const PROBE_EVERY: Duration = Duration::from_millis(200);

/// Time behind a Close in which datagrams may arrive that were sent before it.
const REORDERED: Duration = Duration::from_millis(50);

/// Tolerance of a keep-alive's interval.
const LATE: Duration = Duration::from_millis(500);

/// The longest doubt about a Close.
const DOUBT_MAX: Duration = Duration::from_secs(4);

/// Timer that a reading task keeps from one read to the next. A link that never waits pays for a
/// pointer only.
#[derive(Default)]
pub(super) struct Alarm(Option<Box<Set>>);

struct Set {
    at: Instant,
    sleep: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Alarm {
    /// Returns ready from `at` on. A timer that was set for an earlier time is kept: the task looks
    /// again then.
    fn poll<R: Runtime>(
        &mut self,
        runtime: &R,
        at: Instant,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            if self.0.as_ref().is_none_or(|set| set.at > at) {
                let runtime = runtime.clone();
                let sleep = Box::pin(async move { runtime.sleep_until(at).await });
                self.0 = Some(Box::new(Set { at, sleep }));
            }
            if let Some(set) = &mut self.0 {
                ready!(set.sleep.as_mut().poll(context));
            }
            self.0 = None;
            if clock::now() >= at {
                return Poll::Ready(());
            }
        }
    }
}

/// Close on a link on which any machine can send one in the name of the peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnverifiedClose {
    reason: u8,
    since: Instant,
    probed: Instant,
    until: Instant,
}

/// Bounds of a wait for the socket.
pub(super) struct WaitLimits {
    /// Start of the wait.
    since: Option<Instant>,
    /// Set if the peer has begun a message.
    is_unfinished: bool,
}

impl<R: Runtime, H: Handler> ReadTask<R, H> {
    /// Bounds the read that begins now.
    pub(super) fn bound(&self) -> WaitLimits {
        WaitLimits {
            since: None,
            is_unfinished: self.receiver.is_unfinished(),
        }
    }

    /// Returns ready with the cause if the link ends while a read waits.
    #[inline]
    pub(super) fn poll_silence(
        &mut self,
        bound: &mut WaitLimits,
        context: &mut Context<'_>,
    ) -> Poll<Ended> {
        match bound.is_unfinished || self.doubt.is_some() {
            true => self.look_at_clock(bound, context),
            false => Poll::Pending,
        }
    }

    #[cold]
    fn look_at_clock(&mut self, bound: &mut WaitLimits, context: &mut Context<'_>) -> Poll<Ended> {
        let since = *bound.since.get_or_insert_with(clock::now);
        let silent = bound.is_unfinished.then(|| self.receiver.silent_by(since));
        loop {
            // Wait until the next deadline: of the silence or of the doubt.
            let doubted = self.doubt.map(|doubt| doubt.next());
            let Some(next) = silent.into_iter().chain(doubted).min() else {
                return Poll::Pending;
            };
            ready!(self.alarm.poll(&self.runtime, next, context));
            // The peer was silent for too long.
            let now = clock::now();
            if silent.is_some_and(|by| by <= now) {
                return Poll::Ready(self.receiver.give_up_silent().into());
            }
            // The doubt is over, or the peer is probed again.
            match &mut self.doubt {
                Some(doubt) if doubt.until <= now => {
                    return Poll::Ready(Ended::Remote(doubt.reason));
                }
                Some(doubt) => {
                    doubt.probed = now;
                    self.outbox.probe();
                }
                None => {}
            }
        }
    }

    /// Returns true if the link continues until it is known whether the peer itself sent this
    /// Close.
    pub(super) fn doubts(&mut self, ended: &Ended) -> bool {
        let Ended::Remote(reason) = *ended else {
            return false;
        };
        if !self.is_forgeable || self.outbox.is_closing() || self.outbox.is_closed() {
            return false;
        }
        if self.doubt.is_none() {
            let now = clock::now();
            let interval = self.keep_alive.saturating_add(LATE).min(DOUBT_MAX);
            self.doubt = Some(UnverifiedClose {
                reason,
                since: now,
                probed: now,
                until: now + interval,
            });
            self.outbox.note_farewell(Some(reason));
            self.outbox.probe();
        }
        true
    }

    /// Notes a message other than Close: if the peer sent it after the Close, the Close was forged.
    #[inline]
    pub(super) fn note_alive(&mut self) {
        if let Some(doubt) = self.doubt
            && clock::now().saturating_duration_since(doubt.since) >= REORDERED
        {
            tracing::debug!("a Close is ignored: the peer continues to send");
            self.doubt = None;
            self.outbox.note_farewell(None);
        }
    }
}

impl UnverifiedClose {
    fn next(&self) -> Instant {
        self.until.min(self.probed + PROBE_EVERY)
    }
}
