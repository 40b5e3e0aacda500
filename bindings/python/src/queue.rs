// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues between the library's threads, which put values in, and Python's, which take all that wait at once.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pyo3::prelude::*;
use zonda::RecvError;
use zonda::handlers::Taken;

use crate::error::{OrRaise, zerror};
use crate::gate;
use crate::handlers::Value;

/// Interval in which a waiting thread looks for signals, such as that of Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(100);
/// Values of one batch for a callback.
const BATCH: usize = 256;

/// Function that is called once when a value or the end is there.
pub type Ready = Box<dyn FnOnce() + Send>;

/// A bounded queue.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
    room: Condvar,
    capacity: usize,
    /// Set if a full queue drops its oldest value instead of waiting.
    ring: bool,
    process: u32,
}

struct State<T> {
    values: VecDeque<T>,
    closed: bool,
    /// Set once the reader is gone.
    unread: bool,
    /// Threads that wait for a value.
    readers: usize,
    /// Threads that wait for room.
    writers: usize,
    /// Tasks that wait for room.
    wakers: Vec<Waker>,
    ready: Vec<Ready>,
}

impl<T> State<T> {
    fn is_full(&self, capacity: usize) -> bool {
        self.values.len() >= capacity && !self.unread
    }
}

/// Creates a queue: its two ends.
pub fn queue<T>(capacity: usize, ring: bool) -> (Writer<T>, Reader<T>) {
    let queue = Arc::new(Queue {
        state: Mutex::new(State {
            values: VecDeque::new(),
            closed: false,
            unread: false,
            readers: 0,
            writers: 0,
            wakers: Vec::new(),
            ready: Vec::new(),
        }),
        arrived: Condvar::new(),
        room: Condvar::new(),
        capacity: capacity.max(1),
        ring,
        process: std::process::id(),
    });
    let reader = Reader {
        queue: queue.clone(),
        ahead: Mutex::default(),
    };
    (Writer(queue), reader)
}

/// The end that values are put in; the queue is closed with it.
pub struct Writer<T>(Arc<Queue<T>>);

impl<T: Send> Writer<T> {
    /// Puts a value in. A full queue makes the caller wait for its reader.
    pub fn push(&self, value: T) {
        let mut value = Some(value);
        loop {
            if self.offer(&mut value) {
                return;
            }
            gate::waiting(|| {
                let queue = &*self.0;
                let mut state = queue.state.lock();
                while state.is_full(queue.capacity) {
                    state.writers += 1;
                    queue.room.wait(&mut state);
                    state.writers -= 1;
                }
            });
        }
    }

    /// Puts a value in, or returns a future that does as soon as there is room.
    pub fn push_patiently(&self, value: T) -> Option<Taken>
    where
        T: 'static,
    {
        let mut value = Some(value);
        if self.offer(&mut value) {
            return None;
        }
        let queue = Arc::downgrade(&self.0);
        Some(Box::pin(poll_fn(move |context| {
            let Some(queue) = queue.upgrade() else {
                return Poll::Ready(());
            };
            let mut state = queue.state.lock();
            if state.is_full(queue.capacity) {
                state.wakers.push(context.waker().clone());
                return Poll::Pending;
            }
            queue.enter(state, &mut value);
            Poll::Ready(())
        })))
    }

    fn offer(&self, value: &mut Option<T>) -> bool {
        let queue = &*self.0;
        let mut state = queue.state.lock();
        if state.is_full(queue.capacity) {
            if !queue.ring {
                return false;
            }
            let oldest = state.values.pop_front();
            queue.enter(state, value);
            drop(oldest);
            return true;
        }
        queue.enter(state, value);
        true
    }
}

impl<T> Queue<T> {
    fn enter(&self, mut state: parking_lot::MutexGuard<'_, State<T>>, value: &mut Option<T>) {
        if state.unread {
            drop(state);
            drop(value.take());
            return;
        }
        state.values.extend(value.take());
        let wakes = state.readers > 0;
        let ready = mem::take(&mut state.ready);
        drop(state);
        if wakes {
            self.arrived.notify_one();
        }
        ready.into_iter().for_each(|tell| tell());
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.closed = true;
        let ready = mem::take(&mut state.ready);
        drop(state);
        self.0.arrived.notify_all();
        ready.into_iter().for_each(|tell| tell());
    }
}

/// The end that values are taken from.
pub struct Reader<T> {
    queue: Arc<Queue<T>>,
    /// Values that were taken in one step, for the next calls.
    ahead: Mutex<VecDeque<T>>,
}

/// State of a queue that gives no value.
enum Nothing {
    Yet,
    AnyMore,
}

impl<T> Reader<T> {
    fn take(&self) -> Result<T, Nothing> {
        let mut ahead = self.ahead.lock();
        if let Some(value) = ahead.pop_front() {
            return Ok(value);
        }
        let mut state = self.queue.state.lock();
        if self.queue.ring {
            return state.values.pop_front().ok_or(match state.closed {
                true => Nothing::AnyMore,
                false => Nothing::Yet,
            });
        }
        mem::swap(&mut state.values, &mut ahead);
        let Some(value) = ahead.pop_front() else {
            return Err(match state.closed {
                true => Nothing::AnyMore,
                false => Nothing::Yet,
            });
        };
        self.make_room(state);
        Ok(value)
    }

    fn make_room(&self, mut state: parking_lot::MutexGuard<'_, State<T>>) {
        let waits = state.writers > 0;
        let wakers = mem::take(&mut state.wakers);
        drop(state);
        if waits {
            self.queue.room.notify_all();
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits for a value or the end, at most until `limit`.
    fn wait(&self, limit: Option<Instant>) {
        let mut state = self.queue.state.lock();
        while state.values.is_empty() && !state.closed {
            state.readers += 1;
            let is_late = match limit {
                None => {
                    self.queue.arrived.wait(&mut state);
                    false
                }
                Some(limit) => self.queue.arrived.wait_until(&mut state, limit).timed_out(),
            };
            state.readers -= 1;
            if is_late {
                return;
            }
        }
    }

    fn check_process(&self) -> PyResult<()> {
        match self.queue.process == std::process::id() {
            true => Ok(()),
            false => Err(zerror(RecvError::Forked)),
        }
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.unread = true;
        let left = mem::take(&mut state.values);
        self.make_room(state);
        drop(left);
    }
}

/// A reader of whatever values.
pub trait Source: Send + Sync {
    /// Returns the name of the values' class.
    fn name(&self) -> &'static str;

    /// Takes the next value if there is one.
    fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>>;

    /// Takes the next value; waits until `limit`.
    fn recv(&self, py: Python<'_>, limit: Option<Instant>) -> PyResult<Option<Py<PyAny>>>;

    /// Takes what there is, as many as a batch has, in reverse order; waits for the first. Returns `None` at the end.
    fn batch(&self, py: Python<'_>) -> PyResult<Option<Vec<Py<PyAny>>>>;

    /// Has `ready` called once when there is a value or the end; returns false if that is so now.
    fn on_ready(&self, ready: Ready) -> bool;
}

impl<T: Value> Source for Reader<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.take() {
            Ok(value) => value.into_python(py).map(Some),
            Err(Nothing::Yet) => Ok(None),
            Err(Nothing::AnyMore) => Err(RecvError::Closed).or_raise(),
        }
    }

    fn recv(&self, py: Python<'_>, limit: Option<Instant>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            if let Some(value) = self.try_recv(py)? {
                return Ok(Some(value));
            }
            let now = Instant::now();
            if limit.is_some_and(|limit| limit <= now) {
                return Ok(None);
            }
            self.check_process()?;
            let step = now + SIGNALS;
            gate::detached(py, || {
                self.wait(Some(limit.map_or(step, |limit| limit.min(step))));
            });
            py.check_signals()?;
        }
    }

    fn batch(&self, py: Python<'_>) -> PyResult<Option<Vec<Py<PyAny>>>> {
        loop {
            let mut taken = Vec::new();
            while taken.len() < BATCH {
                match self.take() {
                    Ok(value) => taken.push(value.into_python(py)?),
                    Err(Nothing::AnyMore) if taken.is_empty() => return Ok(None),
                    Err(_) => break,
                }
            }
            if !taken.is_empty() {
                taken.reverse();
                return Ok(Some(taken));
            }
            self.check_process()?;
            gate::detached(py, || self.wait(None));
        }
    }

    fn on_ready(&self, ready: Ready) -> bool {
        if !self.ahead.lock().is_empty() {
            return false;
        }
        let mut state = self.queue.state.lock();
        if !state.values.is_empty() || state.closed {
            return false;
        }
        state.ready.push(ready);
        true
    }
}
