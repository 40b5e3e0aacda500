// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runtime on one thread whose tasks run in an order that a seed decides, and whose clock the test
//! sets.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zonda_runtime::{PreciseTimer, Runtime, Socket};

use crate::clock;

use super::link::{Reader, Writer};
use super::rng::Rng;

/// Upper bound of the polls within one moment of the virtual time.
const POLLS_MAX: u64 = 100_000;

/// Maximum depth of tasks that run within a write of another one.
const DEPTH_MAX: usize = 3;

/// Name of the writing task of a connection.
pub const WRITING_TASK: &str = "zonda-tx";

/// Name of a task, and the side it belongs to.
type Label = (&'static str, usize);

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    label: Label,
    /// `None` while the task runs.
    future: Option<Running>,
}

struct Tasks {
    rng: Rng,
    tasks: BTreeMap<u64, Task>,
    /// Running tasks, the innermost last.
    running: Vec<u64>,
    timers: BTreeMap<(Instant, u64), (Waker, Option<Label>)>,
    count: u64,
    polls: u64,
}

struct Shared {
    tasks: Mutex<Tasks>,
    ready: Arc<Mutex<BTreeSet<u64>>>,
}

/// Runtime of one side. Both sides share tasks and time.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
    side: usize,
    /// Simulated link that the next adopted socket is replaced by.
    link: Arc<Mutex<Option<(Reader, Writer)>>>,
}

struct Wakes {
    id: u64,
    ready: Arc<Mutex<BTreeSet<u64>>>,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.ready.lock().insert(self.id);
    }
}

impl Executor {
    pub fn new(rng: Rng) -> Self {
        let tasks = Tasks {
            rng,
            tasks: BTreeMap::new(),
            running: Vec::new(),
            timers: BTreeMap::new(),
            count: 0,
            polls: 0,
        };
        Executor {
            shared: Arc::new(Shared {
                tasks: Mutex::new(tasks),
                ready: Arc::default(),
            }),
            side: 0,
            link: Arc::default(),
        }
    }

    /// Returns the runtime for a side that opens a link.
    pub fn on(&self, side: usize, link: (Reader, Writer)) -> Self {
        Executor {
            side,
            link: Arc::new(Mutex::new(Some(link))),
            ..self.clone()
        }
    }

    /// Runs tasks until none is ready.
    pub fn run_ready(&self) {
        let first = self.shared.tasks.lock().polls;
        while self.run_one() {
            let polls = self.shared.tasks.lock().polls;
            assert!(polls - first < POLLS_MAX, "tasks wake each other for ever");
        }
    }

    /// Runs up to `most` tasks within the running one, like threads in parallel to its thread.
    pub fn run_beside(&self, most: u64) {
        for _ in 0..most.min(POLLS_MAX) {
            if self.depth() >= DEPTH_MAX || !self.run_one() {
                return;
            }
        }
    }

    /// Ends all tasks, which refer to this, and the virtual time.
    pub fn end(&self) {
        clock::tests::set(None);
        let tasks = std::mem::take(&mut self.shared.tasks.lock().tasks);
        drop(tasks);
    }

    /// Returns the number of tasks that run within each other.
    pub fn depth(&self) -> usize {
        self.shared.tasks.lock().running.len()
    }

    /// Returns the number of polls so far.
    pub fn polls(&self) -> u64 {
        self.shared.tasks.lock().polls
    }

    fn run_one(&self) -> bool {
        let Some((id, mut future)) = self.pick() else {
            return false;
        };
        let ready = Arc::clone(&self.shared.ready);
        let waker = Waker::from(Arc::new(Wakes { id, ready }));
        let done = future.as_mut().poll(&mut Context::from_waker(&waker));
        let mut tasks = self.shared.tasks.lock();
        tasks.running.pop();
        match done {
            Poll::Ready(()) => {
                tasks.tasks.remove(&id);
                // The task's state may lock the tasks when it is dropped.
                drop(tasks);
            }
            Poll::Pending => {
                if let Some(task) = tasks.tasks.get_mut(&id) {
                    task.future = Some(future);
                }
            }
        }
        true
    }

    /// Takes one of the ready tasks that do not run.
    fn pick(&self) -> Option<(u64, Running)> {
        let mut tasks = self.shared.tasks.lock();
        let mut ready = self.shared.ready.lock();
        ready.retain(|id| tasks.tasks.contains_key(id));
        let rests = |id: &&u64| tasks.tasks[id].future.is_some();
        let count = ready.iter().filter(rests).count();
        if count == 0 {
            return None;
        }
        let chosen = tasks.rng.below(count as u64) as usize;
        let rests = |id: &&u64| tasks.tasks[id].future.is_some();
        let id = *ready.iter().filter(rests).nth(chosen)?;
        ready.remove(&id);
        tasks.running.push(id);
        tasks.polls += 1;
        let future = tasks.tasks.get_mut(&id)?.future.take()?;
        Some((id, future))
    }

    /// Returns the time of the next timer.
    pub fn next_timer(&self) -> Option<Instant> {
        let tasks = self.shared.tasks.lock();
        tasks.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns the time of the next timer of one task of a side.
    pub fn next_timer_of(&self, task: &'static str, side: usize) -> Option<Instant> {
        let tasks = self.shared.tasks.lock();
        let mut timers = tasks.timers.iter();
        let found = timers.find(|(_, (_, label))| *label == Some((task, side)));
        found.map(|((at, _), _)| *at)
    }

    /// Sets the clock, and wakes the tasks that waited for the time.
    pub fn turn(&self, now: Instant) {
        clock::tests::set(Some(now));
        let mut tasks = self.shared.tasks.lock();
        while let Some(entry) = tasks
            .timers
            .first_entry()
            .filter(|entry| entry.key().0 <= now)
        {
            entry.remove().0.wake();
        }
    }
}

/// Sleep until a time of the virtual clock.
pub struct Sleep {
    executor: Executor,
    until: Instant,
    key: Option<(Instant, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut tasks = self.executor.shared.tasks.lock();
        if let Some(key) = self.key {
            tasks.timers.remove(&key);
        }
        if clock::now() >= self.until {
            return Poll::Ready(());
        }
        tasks.count += 1;
        let label = tasks.running.last().map(|id| tasks.tasks[id].label);
        let key = (self.until, tasks.count);
        tasks.timers.insert(key, (context.waker().clone(), label));
        drop(tasks);
        self.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.executor.shared.tasks.lock().timers.remove(&key);
        }
    }
}

impl PreciseTimer for Executor {
    fn wait(&mut self, delay: Duration) -> impl Future<Output = ()> + Send {
        self.sleep_until(clock::now() + delay)
    }
}

impl Runtime for Executor {
    type Read = Reader;
    type Write = Writer;
    type Listener = ();
    type Timer = Executor;

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let future: Running = Box::pin(make());
        let mut tasks = self.shared.tasks.lock();
        tasks.count += 1;
        let id = tasks.count;
        let task = Task {
            label: (task, self.side),
            future: Some(future),
        };
        tasks.tasks.insert(id, task);
        self.shared.ready.lock().insert(id);
    }

    fn block_on<F: Future>(&self, _future: F) -> F::Output {
        unreachable!("a simulation has no thread to block")
    }

    fn adopt_shared(&self, _stream: Arc<Socket>) -> io::Result<(Reader, Writer)> {
        Ok(self.link.lock().take().expect("one link for each side"))
    }

    fn release(&self, _read: Reader, _write: Writer) -> io::Result<Arc<Socket>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn connect(
        &self,
        _socket: Socket,
        _to: SocketAddr,
    ) -> impl Future<Output = io::Result<Socket>> + Send {
        ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn listen(&self, _listener: Socket) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn accept(
        &self,
        _listener: &mut (),
    ) -> impl Future<Output = io::Result<(Socket, Option<SocketAddr>)>> + Send {
        pending()
    }

    fn take_from<T, F>(
        &self,
        _listener: &mut (),
        _take: F,
    ) -> impl Future<Output = io::Result<T>> + Send
    where
        T: Send,
        F: FnMut() -> io::Result<T> + Send,
    {
        pending()
    }

    fn resolve(
        &self,
        _host: String,
        _port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send {
        ready(Err(io::ErrorKind::Unsupported.into()))
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send {
        Sleep {
            executor: self.clone(),
            until: deadline,
            key: None,
        }
    }

    fn precise_timer(&self) -> Executor {
        self.clone()
    }
}
