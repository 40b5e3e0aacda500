// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing task of a link that is one of several: it stands by with keep-alives until all batches
//! are sent on its link, and continues as the plain task then.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use zonda_codec::{Close, Encode, TransportMessage};
use zonda_runtime::{LinkWrite, Runtime, Segments};

use crate::{
    clock,
    driver::{
        Ended, Handler,
        bundle::{Bundle, BundleLink},
    },
    link::Expiry,
    outbox::{CLOSE_GRACE, Outbox},
    protocol::{
        options::Framing,
        timers::{TimerEvent, Timers},
    },
};

use super::WriteTask;

/// State of the writing task.
pub(in crate::driver) struct StandbyWriter<R, H> {
    pub(super) bundle: Arc<Bundle<H>>,
    pub(super) member: Arc<BundleLink>,
    pub(super) writing: WriteTask<R>,
}

/// End of standing by.
enum StandbyEnd {
    /// All batches are sent on this link from now on.
    First,
    /// The lanes are divided among the links.
    Divided,
    Over(Ended),
}

/// Batch that is being written past the outbox.
struct DirectBatch(Vec<u8>);

impl Segments for DirectBatch {
    fn count(&self) -> usize {
        1
    }
    fn segment(&self, _index: usize) -> &[u8] {
        &self.0
    }
}

impl<R: Runtime, H: Handler> StandbyWriter<R, H> {
    pub(in crate::driver) fn new(
        runtime: R,
        bundle: Arc<Bundle<H>>,
        member: Arc<BundleLink>,
        timers: Timers,
    ) -> Self {
        let writing = WriteTask::new(runtime, Arc::clone(bundle.outbox()), timers);
        Self {
            bundle,
            member,
            writing,
        }
    }

    /// Returns the task with a time of day at which the link ends.
    pub(in crate::driver) fn valid_until(self, end: Option<Expiry>) -> Self {
        let writing = self.writing.valid_until(end);
        Self { writing, ..self }
    }

    /// Runs until the link ends.
    pub(in crate::driver) async fn run<W: LinkWrite>(mut self, mut link: W) {
        let ended = loop {
            match self.stand_by(&mut link).await {
                StandbyEnd::First => {
                    let outbox = self.outbox();
                    outbox.note_received(clock::now());
                    outbox.flush();
                    if let Some(ended) = self.writing.serve(&mut link).await {
                        break ended;
                    }
                }
                // boxed because it is rare and would make every writing task larger
                StandbyEnd::Divided => break Box::pin(self.send_share(&mut link)).await,
                StandbyEnd::Over(ended) => break ended,
            }
        };
        let outbox = self.outbox();
        let orderly = ended == Ended::Local && !outbox.is_closed();
        if orderly {
            outbox.end(Ended::Local);
        }
        self.bundle.lose(&self.member, ended);
        // The peer may be gone already; the socket closes with its halves in any case.
        let _ = link.shutdown().await;
        if orderly {
            self.writing.wait_for_reader().await;
        }
        self.member.shutdown();
        self.bundle.finish_task();
    }

    pub(super) fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(self.bundle.outbox())
    }

    async fn stand_by<W: LinkWrite>(&mut self, link: &mut W) -> StandbyEnd {
        let outbox = self.outbox();
        loop {
            // Listen before the checks, so that no change is missed.
            let mut changed = pin!(self.bundle.listen());
            let mut over = pin!(outbox.listen_over());
            if outbox.is_closed() {
                let reason = outbox.close_reason();
                let session = false;
                self.say(link, &TransportMessage::Close(Close { reason, session }))
                    .await;
                return StandbyEnd::Over(outbox.ended().cloned().unwrap_or(Ended::Local));
            }
            if let Some(ended) = self.member.ended() {
                return StandbyEnd::Over(ended);
            }
            if outbox.is_divided() {
                return StandbyEnd::Divided;
            }
            if self.bundle.is_first(&self.member) {
                return StandbyEnd::First;
            }
            // Wait for a change or the next deadline.
            let runtime = self.writing.runtime.clone();
            let mut due = pin!(runtime.sleep_until(self.writing.timers.poll_timeout()));
            let is_due = poll_fn(|context| {
                let told = changed.as_mut().poll(context).is_ready();
                if told || over.as_mut().poll(context).is_ready() {
                    return Poll::Ready(false);
                }
                due.as_mut().poll(context).map(|()| true)
            })
            .await;
            if is_due && let Some(ended) = self.handle_timeout(link).await {
                return StandbyEnd::Over(ended);
            }
        }
    }

    async fn handle_timeout<W: LinkWrite>(&mut self, link: &mut W) -> Option<Ended> {
        if self.writing.is_outdated() {
            return Some(Ended::Outdated);
        }
        let timers = &mut self.writing.timers;
        timers.on_received(self.member.last_received());
        if self.bundle.outbox().excuses_silence() {
            timers.on_received(clock::now());
        }
        match timers.handle_timeout(clock::now())? {
            TimerEvent::Expired => Some(Ended::Expired),
            TimerEvent::SendKeepAlive => match self.say(link, &TransportMessage::KeepAlive).await {
                true => None,
                false => Some(Ended::Io(std::io::ErrorKind::BrokenPipe)),
            },
        }
    }

    /// Writes one message past the outbox, whose batches are sent on another link; true if the
    /// socket took it in time.
    pub(super) async fn say<W: LinkWrite>(
        &self,
        link: &mut W,
        message: &TransportMessage<'_>,
    ) -> bool {
        let Ok(mut content) = message.to_vec() else {
            return false;
        };
        if self.outbox().framing() == Framing::Compressed {
            content.insert(0, 0);
        }
        let mut framed = Vec::new();
        crate::framing::frame(&content, &mut framed);
        let runtime = &self.writing.runtime;
        let written = runtime.timeout_at(clock::now() + CLOSE_GRACE, async {
            link.write_all(DirectBatch(framed)).await.0
        });
        matches!(written.await, Some(Ok(())))
    }
}
