// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driver of a connection on any runtime of the project: reads, passes bytes to the conversation,
//! writes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf, Segments, Socket};

use super::accept::Place;
use super::conversation::Conversation;
use super::counts::count;
use super::service::Service;
use super::ticks::{Alarm, Ticks};

/// Limits for the bytes read from a client after the last answer, and for the time: a socket that
/// is closed with unread bytes resets the connection, and the client loses the answer.
const LINGER_BYTES: usize = 256 * 1024;
const LINGER: Duration = Duration::from_secs(1);

/// True if a connection inherits the options of its listening socket. On other systems this is
/// unknown, so each connection sets them.
const INHERITS: bool = cfg!(target_os = "linux");

/// Disables Nagle's algorithm, so that small answers do not wait for the acknowledgement of earlier
/// ones. A failure makes answers late, not wrong.
pub(super) fn set_no_delay(socket: &Socket) {
    let _ = socket.set_tcp_nodelay(true);
}

/// Answers on their way to the socket.
struct Answers(Vec<u8>);

impl Segments for Answers {
    fn count(&self) -> usize {
        1
    }
    fn segment(&self, _index: usize) -> &[u8] {
        &self.0
    }
}

impl Alarm {
    /// Returns the future's output, or `None` at the deadline.
    async fn before<F: Future>(&mut self, future: &mut Pin<&mut F>) -> Option<F::Output> {
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            self.poll(context).map(|()| None)
        })
        .await
    }
}

/// Serves one connection to its end.
pub(super) async fn carry<R: Runtime>(runtime: R, socket: Socket, place: Place, ticks: Arc<Ticks>) {
    let service = Arc::clone(place.service());
    if !INHERITS {
        set_no_delay(&socket);
    }
    match runtime.adopt(socket) {
        Ok((read, write)) => {
            let conversation = Conversation::new(&service, place.group());
            let line = Line::<R> {
                read,
                write,
                alarm: Alarm::new(ticks, service.patience.idle),
                within: false,
                service,
            };
            line.carry(conversation).await;
        }
        Err(error) => {
            tracing::debug!("a connection cannot be served: {error}");
            count(&service.counts.broken);
        }
    }
}

/// A connection with its socket.
struct Line<R: Runtime> {
    read: R::Read,
    write: R::Write,
    alarm: Alarm,
    /// True while a request has begun, and the alarm is for its end.
    within: bool,
    service: Arc<Service>,
}

/// The end of a connection: its client is gone, or has used up its time.
struct Over;

impl<R: Runtime> Line<R> {
    async fn carry(mut self, mut conversation: Conversation) {
        let mut buf = RxBuf::new(self.service.limits.head_bytes);
        while !conversation.is_ended() {
            buf = match self.hear(&mut conversation, buf).await {
                Ok(buf) => buf,
                Err(Over) => return,
            };
            let used = conversation.take(buf.filled());
            buf.discard_front(used);
            conversation.settle().await;
            if self.say(&mut conversation).await.is_err() {
                return;
            }
        }
        match conversation.is_agreed() {
            // closing the socket sends the end as well
            true => {}
            false => self.linger(buf).await,
        }
    }

    /// Reads once. A client that takes too long within a request is answered that, while the read
    /// is pending: a read cannot be cancelled.
    async fn hear(&mut self, conversation: &mut Conversation, buf: RxBuf) -> Result<RxBuf, Over> {
        let patience = self.service.patience;
        let was_within = std::mem::replace(&mut self.within, conversation.is_within());
        match (was_within, self.within) {
            // the time for a request runs from its first byte on
            (true, true) => {}
            (false, true) => self.alarm.set(patience.request),
            (_, false) => self.alarm.set(patience.idle),
        }
        let Line {
            read, write, alarm, ..
        } = self;
        let mut reading = pin!(read.read(buf));
        match alarm.before(&mut reading).await {
            Some((Ok(1..), buf)) => return Ok(buf),
            Some(_) if self.within => count(&self.service.counts.broken),
            Some(_) => {}
            None if self.within => {
                conversation.time_out();
                if let Some(out) = conversation.output() {
                    alarm.set(patience.request);
                    let mut writing = pin!(write.write_all(Answers(out)));
                    let _ = alarm.before(&mut writing).await;
                }
            }
            None => count(&self.service.counts.idle),
        }
        Err(Over)
    }

    /// Writes the pending answers.
    async fn say(&mut self, conversation: &mut Conversation) -> Result<(), Over> {
        let Some(out) = conversation.output() else {
            return Ok(());
        };
        self.within = false;
        // a client that does not read its answers within the time for a request is closed
        self.alarm.set(self.service.patience.request);
        let (write, is_last) = (&mut self.write, conversation.is_ended());
        let mut writing = pin!(async move {
            match is_last {
                true => write.write_last(Answers(out)).await,
                false => write.write_all(Answers(out)).await,
            }
        });
        // the outcome: written, a broken connection, or no progress in time
        match self.alarm.before(&mut writing).await {
            Some((Ok(()), Answers(out))) => {
                conversation.written(out);
                Ok(())
            }
            Some((Err(_), _)) => {
                count(&self.service.counts.broken);
                Err(Over)
            }
            None => {
                count(&self.service.counts.stuck);
                Err(Over)
            }
        }
    }

    /// Reads on for a while, so that the client can read the last answer before the socket is
    /// closed.
    async fn linger(mut self, mut buf: RxBuf) {
        if self.write.shutdown().await.is_err() {
            return;
        }
        self.alarm.set(LINGER);
        let mut heard = 0;
        while heard < LINGER_BYTES {
            buf.clear();
            let mut reading = pin!(self.read.read(buf));
            match self.alarm.before(&mut reading).await {
                Some((Ok(bytes @ 1..), read)) => {
                    heard += bytes;
                    buf = read;
                }
                _ => return,
            }
        }
    }
}
