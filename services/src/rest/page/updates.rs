// SPDX-License-Identifier: MIT OR Apache-2.0

//! Updates about the node: one task describes it each second while a page is open.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::log::{LogReader, denied};
use crate::http::Line;

/// Time between two updates.
const PERIOD: Duration = Duration::from_secs(1);

/// Updates that a page may miss one after the other before its connection is cut.
const MISSED_MAX: u32 = 30;

/// Function that describes the node as one line of JSON.
pub(super) type Sampler = Box<dyn Fn() -> String + Send + Sync>;

/// The pages that are open.
pub(in crate::rest) struct Pages {
    sampler: Sampler,
    period: Duration,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    pages: Vec<Page>,
    /// True while the task runs.
    is_sampled: bool,
}

struct Page {
    /// Has room for one update; a page that has not read it misses the next.
    queue: Sender<Bytes>,
    missed: u32,
    line: Arc<Line>,
    /// Place in the log; `None` for a client that may not read it.
    log: Option<LogReader>,
}

impl Page {
    /// Sends an update, and the lines of the log that the page does not have. Returns false if it
    /// has gone or reads too slowly.
    fn send(&mut self, update: &Bytes) -> bool {
        let lines = self.log.as_ref().and_then(LogReader::next);
        let text = match &lines {
            Some((lines, _)) => Bytes::from([update, lines.as_bytes()].concat()),
            None => update.clone(),
        };
        match self.queue.try_send(text) {
            Ok(()) => {
                self.missed = 0;
                if let (Some(reader), Some((_, last))) = (&mut self.log, lines) {
                    reader.advance(last);
                }
            }
            Err(TrySendError::Closed(_)) => return false,
            Err(TrySendError::Full(_)) => self.missed += 1,
        }
        let is_in_time = self.missed <= MISSED_MAX;
        if !is_in_time {
            self.line.cut();
        }
        is_in_time
    }
}

impl Pages {
    /// Creates the set of no page.
    pub fn new(sampler: Sampler) -> Arc<Pages> {
        Pages::with_period(sampler, PERIOD)
    }

    fn with_period(sampler: Sampler, period: Duration) -> Arc<Pages> {
        Arc::new(Pages {
            sampler,
            period,
            open: Mutex::default(),
        })
    }

    /// Adds a page, and starts the task if it is the first one. A page that may not read the log
    /// gets the reason.
    pub fn join(self: &Arc<Self>, line: Arc<Line>, log: Result<LogReader, String>) -> Updates {
        let (queue, rest) = mpsc::channel(1);
        let (log, first) = match log {
            Ok(reader) => (Some(reader), None),
            Err(reason) => (None, Some(denied(&reason))),
        };
        let mut open = self.open();
        open.pages.push(Page {
            queue,
            missed: 0,
            line,
            log,
        });
        if !open.is_sampled {
            open.is_sampled = true;
            tokio::spawn(Arc::clone(self).sample());
        }
        Updates { first, rest }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sample(self: Arc<Self>) {
        while self.has_pages() {
            let text = Bytes::from(format!("data: {}\n\n", (self.sampler)()));
            self.open().pages.retain_mut(|page| page.send(&text));
            tokio::time::sleep(self.period).await;
        }
    }

    /// Removes pages that have gone. Returns false if none is left: the task has to end.
    fn has_pages(&self) -> bool {
        let mut open = self.open();
        open.pages.retain(|page| !page.queue.is_closed());
        open.is_sampled = !open.pages.is_empty();
        open.is_sampled
    }
}

/// The updates of one page.
pub(in crate::rest) struct Updates {
    /// Text that comes before the updates.
    first: Option<Bytes>,
    rest: Receiver<Bytes>,
}

impl Stream for Updates {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        match this.first.take() {
            Some(text) => Poll::Ready(Some(Ok(text))),
            None => this.rest.poll_recv(cx).map(|text| text.map(Ok)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn nothing_is_computed_without_an_open_page() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let calls = Arc::new(AtomicUsize::new(0));
            let of_sampler = Arc::clone(&calls);
            let count = move || of_sampler.fetch_add(1, Ordering::Relaxed).to_string();
            let pages = Pages::with_period(Box::new(count), SHORT);
            let denied = || Err("no log".to_owned());
            let line = || {
                let room = Arc::new(Semaphore::new(1));
                Arc::new(Line::new(&room, &room).expect("room"))
            };
            let join = || pages.join(line(), denied());
            tokio::time::sleep(SHORT * 5).await;
            assert_eq!(calls.load(Ordering::Relaxed), 0);
            // Two pages share one task.
            let (mut first, mut second) = (join(), join());
            assert_eq!(
                first.rest.recv().await,
                Some(Bytes::from_static(b"data: 0\n\n"))
            );
            assert_eq!(
                second.rest.recv().await,
                Some(Bytes::from_static(b"data: 0\n\n"))
            );
            assert_eq!(
                first.rest.recv().await,
                Some(Bytes::from_static(b"data: 1\n\n"))
            );
            drop((first, second));
            while pages.open().is_sampled {
                tokio::time::sleep(SHORT).await;
            }
            let before = calls.load(Ordering::Relaxed);
            tokio::time::sleep(SHORT * 5).await;
            assert_eq!(calls.load(Ordering::Relaxed), before);
        });
    }
}
