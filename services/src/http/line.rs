// SPDX-License-Identifier: MIT OR Apache-2.0

//! The connection of a client, as the code that answers it sees it: it can become one that lasts,
//! and it can be cut.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Handle of a connection, an extension of its requests.
#[derive(Debug)]
pub struct Line {
    place: Mutex<Option<OwnedSemaphorePermit>>,
    /// The places for connections that last.
    lasting: Arc<Semaphore>,
    lasts: AtomicBool,
    cut: Notify,
}

impl Line {
    pub(crate) fn new(place: OwnedSemaphorePermit, lasting: Arc<Semaphore>) -> Self {
        Line {
            place: Mutex::new(Some(place)),
            lasting,
            lasts: AtomicBool::new(false),
            cut: Notify::new(),
        }
    }

    /// Exempts the connection from the limit of time, and moves it to a place for connections that
    /// last. Returns false if there is none.
    pub fn make_last(&self) -> bool {
        let Ok(place) = Arc::clone(&self.lasting).try_acquire_owned() else {
            return false;
        };
        let mut held = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(place);
        self.lasts.store(true, Ordering::Release);
        true
    }

    /// Ends the connection, also while it writes.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Waits until the connection has to end: it was cut, or `limit` has passed and it does not last.
    pub(super) async fn ended(&self, limit: Duration) {
        let cut = self.cut.notified();
        if tokio::time::timeout(limit, cut).await.is_err() && self.lasts.load(Ordering::Acquire) {
            self.cut.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    fn line(lasting: usize) -> Line {
        let room = |size| Arc::new(Semaphore::new(size));
        let place = room(1).try_acquire_owned().expect("room");
        Line::new(place, room(lasting))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().expect("a runtime");
        runtime.block_on(future)
    }

    #[test]
    fn a_connection_ends_at_its_limit_unless_it_lasts() {
        let (short, lasting) = (line(0), line(1));
        assert!(!short.make_last() && lasting.make_last() && !lasting.make_last());
        let begin = Instant::now();
        run(short.ended(SHORT));
        assert!(begin.elapsed() >= SHORT);
        let waits = run(async { tokio::time::timeout(SHORT * 5, lasting.ended(SHORT)).await });
        assert!(waits.is_err(), "it ended at the limit");
    }

    #[test]
    fn a_connection_that_is_cut_ends_at_once() {
        for (lasts, limit) in [(false, LONG), (true, LONG), (true, SHORT)] {
            let line = line(1);
            assert!(!lasts || line.make_last());
            let begin = Instant::now();
            run(async { tokio::join!(line.ended(limit), cut_later(&line)) });
            assert!(begin.elapsed() < LONG);
        }
    }

    async fn cut_later(line: &Line) {
        tokio::time::sleep(SHORT * 3).await;
        line.cut();
    }
}
