// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing task of a link that sends some of a connection's lanes. The writer sends the batches by
//! itself; the task waits for a full socket, sends keep-alives, and ends its link in good order. The
//! task of the oldest link also does what concerns the whole connection: the ticks of a dense
//! stream, and the close.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use event_listener::EventListener;
use zonda_codec::{Close, TransportMessage};
use zonda_runtime::{LinkWrite, PreciseTimer, Runtime};

use crate::{
    clock,
    driver::{Ended, Handler},
    outbox::{TICK, signal},
    protocol::timers::TimerEvent,
};

use super::standby::StandbyWriter;

/// Interval in which the task of a closing connection looks if everything is sent.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Event that ended a wait of the task.
enum Event {
    /// Signals to the task of this link.
    Own(u8),
    /// Signals to the task of the oldest link.
    Common(u8),
    /// A change of the links or of the connection.
    Changed,
    /// The socket takes bytes again, or is lost.
    Writable(io::Result<()>),
    Due,
}

/// State of the task between two events.
#[derive(Default)]
struct Progress {
    /// True if this link is the oldest one.
    is_oldest: bool,
    /// True while the socket is full.
    is_full: bool,
    /// Number of idle ticks of a dense stream; `None` if there is none.
    idle_ticks: Option<u32>,
}

impl<R: Runtime, H: Handler> StandbyWriter<R, H> {
    /// Runs until the link ends. Returns the cause.
    pub(super) async fn send_share<W: LinkWrite>(&mut self, link: &mut W) -> Ended {
        let outbox = self.outbox();
        let mut progress = Progress::default();
        let mut timer = self.writing.runtime.precise_timer();
        loop {
            // Listen before the checks, so that no change is missed.
            let listeners = [self.bundle.listen(), outbox.listen_over()];
            progress.is_oldest = self.bundle.is_first(&self.member);
            if let Some(ended) = self.end_of_share(&progress) {
                let is_orderly = outbox.is_closing() || outbox.is_closed();
                if is_orderly && !progress.is_full {
                    let (reason, session) = (outbox.close_reason(), false);
                    self.say(link, &TransportMessage::Close(Close { reason, session }))
                        .await;
                }
                return ended;
            }
            let event = self
                .next_event(link, listeners, &progress, &mut timer)
                .await;
            let ended = match self.handle_event(event, &mut progress) {
                None => self.look_at_timers(link, progress.is_full).await,
                ended => ended,
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Waits for a signal, a change, the socket if it is full, or the next look.
    async fn next_event<W: LinkWrite>(
        &self,
        link: &mut W,
        mut listeners: [EventListener; 2],
        progress: &Progress,
        timer: &mut impl PreciseTimer,
    ) -> Event {
        let outbox = self.bundle.outbox();
        let until = self.next_look();
        let mut due = pin!(async {
            match progress.idle_ticks {
                Some(_) if progress.is_oldest => timer.wait(TICK).await,
                _ => self.writing.runtime.sleep_until(until).await,
            }
        });
        let mut writable = pin!(link.writable());
        poll_fn(|context| {
            // signals to this link, and those to the oldest one
            if let Poll::Ready(signals) = self.member.share().poll_signals(context) {
                return Poll::Ready(Event::Own(signals));
            }
            if progress.is_oldest
                && let Poll::Ready(signals) = outbox.poll_signals(context)
            {
                return Poll::Ready(Event::Common(signals));
            }
            // changes, the socket and the time
            let mut each = listeners.iter_mut();
            if each.any(|listener| pin!(listener).poll(context).is_ready()) {
                return Poll::Ready(Event::Changed);
            }
            if progress.is_full
                && let Poll::Ready(result) = writable.as_mut().poll(context)
            {
                return Poll::Ready(Event::Writable(result));
            }
            due.as_mut().poll(context).map(|()| Event::Due)
        })
        .await
    }

    /// Returns the cause if the link or the connection has ended, or if the close is done, which
    /// the task of the oldest link finds out.
    fn end_of_share(&self, progress: &Progress) -> Option<Ended> {
        let outbox = self.bundle.outbox();
        if outbox.is_closed() {
            return Some(outbox.ended().cloned().unwrap_or(Ended::Local));
        }
        if let Some(ended) = self.member.ended() {
            return Some(ended);
        }
        let is_done = progress.is_oldest
            && outbox.is_closing()
            && (!outbox.has_unsent() || clock::now() >= outbox.close_by());
        is_done.then_some(Ended::Local)
    }

    /// Returns the time of the next look without an event.
    fn next_look(&self) -> Instant {
        let now = clock::now();
        let timeout = self.writing.timers.poll_timeout();
        match self.bundle.outbox().is_closing() {
            true => timeout.min(now + LOOK_EVERY),
            false => timeout,
        }
    }

    /// Does what an event demands. Returns the cause if it ends the link.
    fn handle_event(&self, event: Event, progress: &mut Progress) -> Option<Ended> {
        let outbox = self.outbox();
        match event {
            Event::Own(signals) if signals & signal::LOST != 0 => return Some(Ended::HungUp),
            Event::Own(signals) => progress.is_full |= signals & signal::HANDOVER != 0,
            Event::Common(signals) if signals & signal::ABORT != 0 => return Some(Ended::Local),
            Event::Common(signals) => {
                if signals & signal::HOT != 0 {
                    progress.idle_ticks = Some(0);
                }
                outbox.flush();
            }
            Event::Changed => {}
            Event::Writable(Ok(())) => {
                progress.is_full = false;
                outbox.resume_link(self.member.share());
            }
            Event::Writable(Err(error)) => return Some(Ended::Io(error.kind())),
            Event::Due => {
                if let Some(ticks) = &mut progress.idle_ticks
                    && !outbox.tick(ticks)
                {
                    progress.idle_ticks = None;
                }
            }
        }
        None
    }

    /// Sends a keep-alive if one is due, and checks the lease of the link.
    async fn look_at_timers<W: LinkWrite>(&mut self, link: &mut W, is_full: bool) -> Option<Ended> {
        if self.writing.is_outdated() {
            return Some(Ended::Outdated);
        }
        let (outbox, now) = (self.outbox(), clock::now());
        let timers = &mut self.writing.timers;
        if self.member.share().take_wrote() {
            timers.on_sent(now);
        }
        outbox.settle_lanes(now);
        if timers.poll_timeout() > now {
            return None;
        }
        timers.on_received(self.member.last_received());
        if outbox.excuses_silence() {
            timers.on_received(now);
        }
        match timers.handle_timeout(now)? {
            TimerEvent::Expired => return Some(Ended::Expired),
            TimerEvent::SendKeepAlive if is_full => {}
            TimerEvent::SendKeepAlive => {
                let is_said = outbox.keep_link_alive(self.member.share())
                    || self.say(link, &TransportMessage::KeepAlive).await;
                if !is_said {
                    return Some(Ended::Io(io::ErrorKind::BrokenPipe));
                }
            }
        }
        None
    }
}
