// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines that every connection has and hardly any reaches. A timer of the runtime for each would cost a connection that
//! lasts for one request more than the request: it may have to wake the thread that waits for the next timer. So they are
//! kept in one place that is looked at now and then, by the task that accepts.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use zonda_runtime::Runtime;
use zonda_runtime::timers::{Key, Timers};

/// How late a deadline may be.
const TICK: Duration = Duration::from_millis(100);

/// The deadlines of a server's connections.
#[derive(Default)]
pub(super) struct Ticks {
    timers: Timers,
    /// Woken when there is something to look at.
    resting: Mutex<Option<Waker>>,
}

impl Ticks {
    fn resting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks after the deadlines, for ever. Nothing is woken while there are none.
    pub(super) async fn run<R: Runtime>(&self, runtime: &R) {
        loop {
            poll_fn(|context| self.rest(context)).await;
            runtime.sleep_until(zonda_runtime::after(TICK)).await;
            self.timers.fire(Instant::now);
        }
    }

    fn rest(&self, context: &mut Context<'_>) -> Poll<()> {
        // before the look: what is noted after it wakes this one
        *self.resting() = Some(context.waker().clone());
        match self.timers.left() {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }

    /// Ends all waits, also those to come: nobody looks after them any more.
    pub(super) fn close(&self) {
        self.timers.close();
    }

    /// `None` when nobody looks after it.
    fn insert(&self, deadline: Instant, waker: &Waker) -> Option<Key> {
        let (key, _) = self.timers.insert(deadline, waker)?;
        let resting = self.resting().take();
        resting.into_iter().for_each(Waker::wake);
        Some(key)
    }
}

/// A deadline that moves with every request, and is noted only when nothing else is ready. A later one is noted when the
/// earlier has come, not whenever it moves: that would cost something for each request.
pub(super) struct Alarm {
    ticks: Arc<Ticks>,
    deadline: Instant,
    noted: Option<Key>,
}

impl Alarm {
    pub(super) fn new(ticks: Arc<Ticks>, wait: Duration) -> Alarm {
        Alarm {
            ticks,
            deadline: zonda_runtime::after(wait),
            noted: None,
        }
    }

    pub(super) fn set(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker();
        if let Some(key) = self.noted
            && key.0 <= self.deadline
            && self.ticks.timers.update(key, waker)
        {
            return Poll::Pending;
        }
        self.forget();
        if Instant::now() < self.deadline {
            self.noted = self.ticks.insert(self.deadline, waker);
        }
        match self.noted {
            Some(_) => Poll::Pending,
            None => Poll::Ready(()),
        }
    }

    fn forget(&mut self) {
        if let Some(key) = self.noted.take() {
            self.ticks.timers.remove(key);
        }
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
    use std::sync::atomic::{AtomicUsize, Ordering};
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
            // an answer has less time, and is written before anybody waits for that
            alarm.set(zonda_runtime::after(HOUR / 2));
            alarm.set(zonda_runtime::after(HOUR * 2 + HOUR * number));
            assert!(alarm.poll(&mut context).is_pending());
        }
        let (first, number) = alarm.noted.expect("a note");
        assert_eq!(number, 1);
        ticks.timers.fire(|| first);
        assert_eq!(woken.count(), 1);
        assert!(alarm.poll(&mut context).is_pending(), "it has moved");
        assert_eq!(alarm.noted.map(|(_, number)| number), Some(2));
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
        soon.set(Instant::now());
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
