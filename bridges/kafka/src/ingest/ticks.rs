// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines that every connection has and hardly any reaches. A timer of the runtime for each
//! would cost a connection with a single request more than the request: it may have to wake the
//! thread that waits for the next timer. So the deadlines are kept in one set that the accepting
//! task checks now and then.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use zonda_runtime::Runtime;
use zonda_runtime::timers::{Key, Timers};

/// Maximum delay of a deadline.
const TICK: Duration = Duration::from_millis(100);

/// Deadlines of a server's connections.
#[derive(Default)]
pub(super) struct Ticks {
    timers: Timers,
    /// Waker of the task that drives the deadlines, while there are none.
    resting: Mutex<Option<Waker>>,
    /// True once the timers are no longer driven. Written before all waits end.
    is_closed: AtomicBool,
}

impl Ticks {
    fn resting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Drives the deadlines, for ever. The task sleeps while there are none.
    pub(super) async fn run<R: Runtime>(&self, runtime: &R) {
        loop {
            poll_fn(|context| self.rest(context)).await;
            runtime.sleep_until(zonda_runtime::after(TICK)).await;
            self.timers.fire(Instant::now);
        }
    }

    fn rest(&self, context: &mut Context<'_>) -> Poll<()> {
        // registered before the check, so that a deadline that is inserted after it wakes this task
        *self.resting() = Some(context.waker().clone());
        match self.timers.left() {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }

    /// Ends all waits, also future ones: the timers are no longer driven.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.timers.close();
    }

    /// Inserts a timer; returns `None` if the timers are no longer driven.
    fn insert(&self, deadline: Instant, waker: &Waker) -> Option<Key> {
        let (key, _) = self.timers.insert(deadline, waker)?;
        let resting = self.resting().take();
        resting.into_iter().for_each(Waker::wake);
        Some(key)
    }
}

/// A deadline that moves with every request. It is inserted only when the future is pending: a
/// future that is ready at once does not even read the clock. A later deadline is inserted when the
/// earlier one has passed, not whenever it moves: that would cost something for each request.
pub(super) struct Alarm {
    ticks: Arc<Ticks>,
    wait: Duration,
    /// Deadline, set when the future is first pending.
    deadline: Option<Instant>,
    noted: Option<Note>,
}

/// An inserted alarm.
struct Note {
    key: Key,
    waker: Waker,
}

impl Alarm {
    pub(super) fn new(ticks: Arc<Ticks>, wait: Duration) -> Alarm {
        Alarm {
            ticks,
            wait,
            deadline: None,
            noted: None,
        }
    }

    /// Sets the wait, which starts when the future is next pending.
    pub(super) fn set(&mut self, wait: Duration) {
        self.wait = wait;
        self.deadline = None;
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_at(Instant::now(), context.waker())
    }

    fn poll_at(&mut self, now: Instant, waker: &Waker) -> Poll<()> {
        // the deadline begins with the first poll that is pending
        let wait = self.wait;
        let later = || now.checked_add(wait);
        let deadline = *self
            .deadline
            .get_or_insert_with(|| later().unwrap_or_else(|| zonda_runtime::after(wait)));
        // a timer that fires early enough is kept: the deadline moves with each read, the timer seldom
        if let Some(note) = &mut self.noted
            && note.key.0 <= deadline
            && note.stands(&self.ticks, now, waker)
        {
            return Poll::Pending;
        }
        // otherwise a new timer replaces it
        self.forget();
        if now < deadline {
            let key = self.ticks.insert(deadline, waker);
            self.noted = key.map(|key| Note {
                key,
                waker: waker.clone(),
            });
        }
        match self.noted {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }

    fn forget(&mut self) {
        if let Some(note) = self.noted.take() {
            self.ticks.timers.remove(note.key);
        }
    }
}

impl Note {
    /// Returns true if this timer will still wake `waker`. A timer that is not due is only removed
    /// when all waits end.
    fn stands(&mut self, ticks: &Ticks, now: Instant, waker: &Waker) -> bool {
        if now < self.key.0 && self.waker.will_wake(waker) && !ticks.is_closed() {
            return true;
        }
        self.waker.clone_from(waker);
        ticks.timers.update(self.key, waker)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn an_alarm_is_noted_once_while_its_deadline_moves_on() {
        let ticks = Arc::new(Ticks::default());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut alarm = Alarm::new(Arc::clone(&ticks), HOUR);
        for number in 0..3 {
            // an answer has less time, and is written before the connection waits for the next
            // request
            alarm.set(HOUR / 2);
            alarm.set(HOUR * 2 + HOUR * number);
            assert!(alarm.poll(&mut context).is_pending());
        }
        let number = |alarm: &Alarm| alarm.noted.as_ref().map(|note| note.key.1);
        assert_eq!(number(&alarm), Some(1));
        let first = alarm.noted.as_ref().expect("a note").key.0;
        ticks.timers.fire(|| first);
        assert_eq!(woken.count(), 1);
        assert!(alarm.poll_at(first, &waker).is_pending(), "it has moved");
        assert_eq!(number(&alarm), Some(2));
        drop(alarm);
        assert_eq!(ticks.timers.left(), None);
    }

    #[test]
    fn an_alarm_ends_at_its_deadline_or_with_those_who_look_after_it() {
        let ticks = Arc::new(Ticks::default());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut soon = Alarm::new(Arc::clone(&ticks), HOUR);
        assert!(soon.poll(&mut context).is_pending());
        soon.set(Duration::ZERO);
        assert!(soon.poll(&mut context).is_ready(), "an earlier one counts");
        let mut late = Alarm::new(Arc::clone(&ticks), HOUR);
        assert!(late.poll(&mut context).is_pending());
        ticks.close();
        assert_eq!(woken.count(), 1);
        assert!(late.poll(&mut context).is_ready());
        let mut new = Alarm::new(Arc::clone(&ticks), HOUR);
        assert!(new.poll(&mut context).is_ready());
    }

    #[test]
    fn nobody_is_woken_by_ticks_while_there_are_none() {
        let ticks = Arc::new(Ticks::default());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        assert!(ticks.rest(&mut context).is_pending());
        let mut alarm = Alarm::new(Arc::clone(&ticks), HOUR);
        assert!(
            alarm
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        assert_eq!(woken.count(), 1);
        assert!(ticks.rest(&mut context).is_ready());
    }
}
