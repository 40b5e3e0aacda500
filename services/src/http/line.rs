// SPDX-License-Identifier: MIT OR Apache-2.0

//! The connection of a client, as the code that answers it sees it: it can become one that lasts,
//! and it can be cut.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Handle of a connection, an extension of its requests.
#[derive(Debug)]
pub struct Line {
    /// The places for connections that do not last.
    room: Arc<Semaphore>,
    /// The places for answers that last.
    lasting: Arc<Semaphore>,
    state: Mutex<State>,
    cut: Notify,
}

#[derive(Debug)]
struct State {
    /// `None` while an answer lasts.
    place: Option<OwnedSemaphorePermit>,
    /// Answers that last; over HTTP/2 there may be several.
    answers: usize,
}

/// Reason why a connection has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its client is too slow.
    Cut,
    /// Its time is over.
    Time,
}

/// Place of an answer that lasts, such as events. Dropping it frees the place.
#[derive(Debug)]
pub struct Lasting {
    line: Arc<Line>,
    _place: OwnedSemaphorePermit,
}

impl Lasting {
    /// The connection of the answer.
    pub fn line(&self) -> &Arc<Line> {
        &self.line
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        let mut state = self.line.state();
        state.answers = state.answers.saturating_sub(1);
        if state.answers > 0 {
            return;
        }
        // The connection may have other requests: it needs a place again.
        match Arc::clone(&self.line.room).try_acquire_owned() {
            Ok(place) => state.place = Some(place),
            Err(_) => self.line.cut(),
        }
    }
}

impl Line {
    /// Creates the handle of a connection; `None` if `room` has no place for it.
    pub(crate) fn new(room: &Arc<Semaphore>, lasting: &Arc<Semaphore>) -> Option<Line> {
        let place = Arc::clone(room).try_acquire_owned().ok()?;
        Some(Line {
            room: Arc::clone(room),
            lasting: Arc::clone(lasting),
            state: Mutex::new(State {
                place: Some(place),
                answers: 0,
            }),
            cut: Notify::new(),
        })
    }

    /// Returns a place for an answer that lasts; until it is dropped, the connection has no limit of
    /// time, and takes no place of other connections. `None` if there is none.
    pub fn make_last(self: &Arc<Self>) -> Option<Lasting> {
        let place = Arc::clone(&self.lasting).try_acquire_owned().ok()?;
        let mut state = self.state();
        state.answers += 1;
        state.place = None;
        drop(state);
        Some(Lasting {
            line: Arc::clone(self),
            _place: place,
        })
    }

    /// Ends the connection, also while it writes.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Waits until the connection has to end: it was cut, or no answer lasts after a multiple of
    /// `limit`.
    pub(super) async fn ended(&self, limit: Duration) -> End {
        loop {
            let cut = self.cut.notified();
            match tokio::time::timeout(limit, cut).await {
                Ok(()) => return End::Cut,
                Err(_) if self.state().answers == 0 => return End::Time,
                Err(_) => {}
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    fn line(lasting: usize) -> Arc<Line> {
        let room = |size| Arc::new(Semaphore::new(size));
        Arc::new(Line::new(&room(1), &room(lasting)).expect("room"))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().expect("a runtime");
        runtime.block_on(future)
    }

    #[test]
    fn a_connection_ends_at_its_limit_unless_it_lasts() {
        let (short, lasting) = (line(0), line(1));
        assert!(short.make_last().is_none());
        let answer = lasting.make_last().expect("a place");
        assert!(lasting.make_last().is_none());
        let begin = Instant::now();
        run(short.ended(SHORT));
        assert!(begin.elapsed() >= SHORT);
        let waits = run(async { tokio::time::timeout(SHORT * 5, lasting.ended(SHORT)).await });
        assert!(waits.is_err(), "it ended at the limit");
        drop(answer);
        assert_eq!(run(lasting.ended(SHORT)), End::Time);
        assert!(lasting.make_last().is_some(), "the place is free again");
    }

    #[test]
    fn a_connection_whose_answer_ends_needs_a_place_again() {
        let (room, lasting) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(2)));
        let first = Arc::new(Line::new(&room, &lasting).expect("room"));
        assert!(Line::new(&room, &lasting).is_none());
        let answers = [first.make_last(), first.make_last()];
        let second = Line::new(&room, &lasting).expect("the place of the first one");
        drop(answers);
        assert_eq!(run(first.ended(LONG)), End::Cut);
        drop((first, second));
        assert_eq!(room.available_permits(), 1);
    }

    #[test]
    fn a_connection_that_is_cut_ends_at_once() {
        for (lasts, limit) in [(false, LONG), (true, LONG), (true, SHORT)] {
            let line = line(1);
            let _answer = lasts.then(|| line.make_last().expect("a place"));
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
