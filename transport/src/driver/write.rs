// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing task: does all sending of a link that has to wait.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use zonda_codec::Priority;
use zonda_runtime::{LinkWrite, PreciseTimer, Runtime};

use crate::{
    clock,
    link::Expiry,
    outbox::{CLOSE_GRACE, Outbox, TICK, signal},
    protocol::timers::{TimerEvent, Timers},
};

mod share;
pub(super) mod standby;

use super::Ended;

/// Interval in which a closing link asks whether the peer's system has confirmed the bytes of the
/// socket.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// State of the writing task.
pub(super) struct WriteTask<R> {
    pub(super) runtime: R,
    outbox: Arc<Outbox>,
    pub(super) timers: Timers,
    /// Expiry of the peer's credentials.
    valid_until: Option<Expiry>,
}

/// Event that ended a wait of the writing task.
enum Event {
    Signals(u8),
    Due,
}

/// State of the batches that wait for the socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Socket {
    Takes,
    Full,
}

/// Event that ended a wait for the socket.
enum Step {
    Drained(io::Result<()>),
    Signals(u8),
    Due,
}

impl<R: Runtime> WriteTask<R> {
    pub(super) fn new(runtime: R, outbox: Arc<Outbox>, timers: Timers) -> Self {
        Self {
            runtime,
            outbox,
            timers,
            valid_until: None,
        }
    }

    /// Returns the task with a time of day at which the link ends. The task checks it with every
    /// keep-alive, and at least once in a lease.
    pub(super) fn valid_until(self, valid_until: Option<Expiry>) -> Self {
        Self {
            valid_until,
            ..self
        }
    }

    /// Returns true if the link's time is over by the wall clock, which may be set.
    pub(super) fn is_outdated(&self) -> bool {
        self.valid_until.is_some_and(Expiry::is_over)
    }

    /// Runs until the connection ends.
    pub(super) async fn run<W: LinkWrite>(mut self, mut link: W) {
        // a connection of one link is never divided
        let ended = self.serve(&mut link).await.unwrap_or(Ended::Local);
        let orderly = ended == Ended::Local && !self.outbox.is_closed();
        self.outbox.end(ended);
        // The peer may be gone already; the socket closes with its halves in any case.
        let _ = link.shutdown().await;
        if orderly {
            self.wait_for_reader().await;
        }
        self.outbox.shutdown();
        self.outbox.release();
    }

    /// Gives the peer a moment to hang up in turn, so that no bytes that it still sends reset the
    /// socket. The peer has all the time of the close if this system cannot wait for the
    /// confirmation of the peer's system.
    pub(super) async fn wait_for_reader(&self) {
        let mut until = clock::now() + CLOSE_GRACE;
        if !self.outbox.tells_confirmed() {
            until = until.max(self.outbox.close_by());
        }
        let mut grace = pin!(self.runtime.sleep_until(until));
        poll_fn(|context| match self.outbox.poll_signals(context) {
            Poll::Ready(signals) if signals & signal::ABORT != 0 => Poll::Ready(()),
            Poll::Ready(_) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => grace.as_mut().poll(context),
        })
        .await;
    }

    /// Does the sending of all lanes until the link ends; returns `None` once the lanes are divided
    /// among several links.
    pub(super) async fn serve<W: LinkWrite>(&mut self, link: &mut W) -> Option<Ended> {
        loop {
            let event = self.next_event().await;
            let mut signals = match event {
                Event::Signals(signals) => signals,
                Event::Due => match self.handle_timeout(Socket::Takes) {
                    Some(ended) => return Some(ended),
                    None => continue,
                },
            };
            if signals & signal::ABORT == 0 && signals & (signal::FLUSH | signal::HANDOVER) != 0 {
                match self.drain(link).await {
                    Ok(meanwhile) => signals |= meanwhile,
                    Err(ended) => return Some(ended),
                }
                self.note_written(clock::now());
            }
            if signals & signal::ABORT != 0 {
                return Some(Ended::Local);
            }
            if signals & signal::LOST != 0 {
                return Some(Ended::HungUp);
            }
            if signals & signal::DIVIDED != 0 {
                self.outbox
                    .raise_again(signals & (signal::CLOSE | signal::HOT));
                return None;
            }
            if signals & signal::CLOSE != 0 {
                // Boxed: a link is closed once, and every task would be larger for all its life.
                return Some(Box::pin(self.say_close(link)).await);
            }
            if signals & signal::HOT != 0
                && let Err(ended) = self.look_after_stream(link).await
            {
                return Some(ended);
            }
        }
    }

    /// Waits for a signal or the next deadline.
    async fn next_event(&mut self) -> Event {
        let mut due = pin!(self.runtime.sleep_until(self.timers.poll_timeout()));
        poll_fn(|context| {
            if let Poll::Ready(signals) = self.outbox.poll_signals(context) {
                return Poll::Ready(Event::Signals(signals));
            }
            due.as_mut().poll(context).map(|()| Event::Due)
        })
        .await
    }

    /// Sends keep-alives and checks the lease. Returns the cause if the connection has ended.
    ///
    /// A full socket gets no keep-alive: the batches that wait for it show as much once they are
    /// sent, and keep-alives would pile up behind them, a batch each.
    fn handle_timeout(&mut self, socket: Socket) -> Option<Ended> {
        if self.is_outdated() {
            return Some(Ended::Outdated);
        }
        let now = clock::now();
        self.timers.on_received(self.outbox.last_received());
        if self.outbox.excuses_silence() {
            self.timers.on_received(now);
        }
        self.note_written(now);
        match self.timers.handle_timeout(now) {
            Some(TimerEvent::Expired) => return Some(Ended::Expired),
            Some(TimerEvent::SendKeepAlive) if socket == Socket::Full => {}
            Some(TimerEvent::SendKeepAlive) => {
                self.outbox.push_keep_alive();
                self.outbox.flush();
                self.outbox.take_wrote();
                self.timers.on_sent(now);
            }
            None => {}
        }
        None
    }

    /// Postpones the next keep-alive by an interval after a write, at most by two after a write of
    /// a sender.
    fn note_written(&mut self, now: Instant) {
        if self.outbox.take_wrote() {
            self.timers.on_sent(now);
        }
    }

    /// Waits for the socket to take what is queued, while it checks the lease and the end. Returns
    /// the signals that were raised during the wait.
    async fn drain<W: LinkWrite>(&mut self, link: &mut W) -> Result<u8, Ended> {
        let (outbox, runtime) = (Arc::clone(&self.outbox), self.runtime.clone());
        let mut draining = pin!(outbox.drain(&runtime, link));
        let mut meanwhile = 0;
        loop {
            // The lease ends with the close: the reading task reads no more.
            let deadline = match outbox.is_closing() {
                true => outbox.close_by(),
                false => self.timers.poll_timeout(),
            };
            let mut due = pin!(runtime.sleep_until(deadline));
            let step = poll_fn(|context| {
                if let Poll::Ready(result) = draining.as_mut().poll(context) {
                    return Poll::Ready(Step::Drained(result));
                }
                if let Poll::Ready(signals) = outbox.poll_signals(context) {
                    return Poll::Ready(Step::Signals(signals));
                }
                due.as_mut().poll(context).map(|()| Step::Due)
            })
            .await;
            match step {
                Step::Drained(Ok(())) => return Ok(meanwhile),
                Step::Drained(Err(error)) => return Err(Ended::Io(error.kind())),
                Step::Signals(signals) if signals & signal::ABORT != 0 => return Err(Ended::Local),
                Step::Signals(signals) if signals & signal::LOST != 0 => return Err(Ended::HungUp),
                Step::Signals(signals) => {
                    meanwhile |= signals & (signal::CLOSE | signal::HOT | signal::DIVIDED);
                    // another writer has the batches: senders write by themselves there
                    if meanwhile & signal::DIVIDED != 0 {
                        return Ok(meanwhile);
                    }
                }
                Step::Due if outbox.is_closing() => {
                    if clock::now() >= outbox.close_by() {
                        return Err(Ended::Local);
                    }
                }
                Step::Due => {
                    if let Some(ended) = self.handle_timeout(Socket::Full) {
                        return Err(ended);
                    }
                }
            }
        }
    }

    /// Writes the open batches of a dense stream every tick, until the stream ends.
    async fn look_after_stream<W: LinkWrite>(&mut self, link: &mut W) -> Result<(), Ended> {
        let outbox = Arc::clone(&self.outbox);
        let mut timer = self.runtime.precise_timer();
        outbox.flush();
        let mut idle_ticks = 0;
        while !outbox.wants_end() && outbox.tick(&mut idle_ticks) {
            if outbox.needs_driver() {
                let ends = signal::CLOSE | signal::DIVIDED;
                let meanwhile = self.drain(link).await? & ends;
                if meanwhile != 0 {
                    outbox.raise_again(meanwhile);
                    break;
                }
            }
            timer.wait(TICK).await;
            if self.timers.poll_timeout() <= clock::now()
                && let Some(ended) = self.handle_timeout(Socket::Takes)
            {
                return Err(ended);
            }
        }
        Ok(())
    }

    /// Writes what is queued and a Close behind it, as far as the peer takes it in time; then waits
    /// the rest of the time for the confirmation of the peer's system. Returns the cause of the
    /// link's end.
    async fn say_close<W: LinkWrite>(&mut self, link: &mut W) -> Ended {
        let outbox = Arc::clone(&self.outbox);
        outbox.push_close(Priority::Background);
        let drained = self.while_closing(self.drain_all(link)).await;
        if drained == Closed::Done(true) {
            self.while_closing(self.confirmation()).await;
        }
        match drained {
            Closed::Lost => Ended::HungUp,
            Closed::Done(_) | Closed::Late => Ended::Local,
        }
    }

    /// Writes until the queues are empty (true), or the socket takes no more.
    async fn drain_all<W: LinkWrite>(&self, link: &mut W) -> bool {
        while !self.outbox.is_closed() {
            self.outbox.flush();
            if self.outbox.drain(&self.runtime, link).await.is_err() {
                return false;
            }
            if !self.outbox.has_unsent() {
                return true;
            }
            // A sender is writing at this moment.
            self.runtime.yield_now().await;
        }
        false
    }

    /// Waits until the peer's system has confirmed nearly all that the socket has.
    async fn confirmation(&self) -> bool {
        while self.outbox.is_confirmed() == Some(false) {
            self.runtime.sleep_until(clock::now() + LOOK_EVERY).await;
        }
        true
    }

    /// Waits for a part of the close, within the time of the close.
    async fn while_closing(&self, part: impl Future<Output = bool>) -> Closed {
        let mut part = pin!(part);
        loop {
            // Wait for the part, a signal or the deadline, whichever is first.
            let close_by = self.outbox.close_by();
            let mut due = pin!(self.runtime.sleep_until(close_by));
            let step = poll_fn(|context| {
                if let Poll::Ready(done) = part.as_mut().poll(context) {
                    return Poll::Ready(Ok(done));
                }
                if let Poll::Ready(signals) = self.outbox.poll_signals(context) {
                    return Poll::Ready(Err(Event::Signals(signals)));
                }
                due.as_mut().poll(context).map(|()| Err(Event::Due))
            });
            // The deadline may have been extended during the wait.
            match step.await {
                Ok(done) => return Closed::Done(done),
                Err(Event::Signals(signals)) if signals & signal::ABORT != 0 => {
                    return Closed::Late;
                }
                Err(Event::Signals(signals)) if signals & signal::LOST != 0 => {
                    return Closed::Lost;
                }
                Err(Event::Due) if close_by == self.outbox.close_by() => return Closed::Late,
                Err(_) => {}
            }
        }
    }
}

/// Outcome of a part of a close.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closed {
    Done(bool),
    /// The time is over, or the connection was cut.
    Late,
    /// The link is lost; another one may take over.
    Lost,
}

#[cfg(test)]
mod tests;
