// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thread of the process that confirms the buffers in use, takes back those of holders that ended, and notes which
//! descriptors have arrived. It runs while there is such work, and for a moment more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use crate::kept::Kept;

/// Pause between two confirmations.
const ROUND: Duration = Duration::from_millis(50);

/// Rounds after the end of a link until the descriptors that were never read are given back.
const ROUNDS_AFTER_END: u32 = 10;

/// Rounds without work after which a task is forgotten.
const IDLE_ROUNDS: u32 = 10;

/// Work of each round.
pub(crate) trait Task: Send + Sync + 'static {
    /// Returns the mark of the keeper's knowledge.
    fn kept(&self) -> &Kept;

    /// Works; `round` is the number of the round.
    fn work(&self, round: u64);

    /// Returns true if later rounds have work, too.
    fn has_work(&self) -> bool;

    /// Gives back what is left of a task that has [ended](end).
    fn give_back(&self) {}
}

/// A task that the keeper knows of, and the number of rounds that it had no work.
struct Known(Weak<dyn Task>, u32);

#[derive(Default)]
struct List {
    tasks: Vec<Known>,
    ended: Vec<(u32, Arc<dyn Task>)>,
    is_running: bool,
}

/// Tasks of the process.
static LIST: Mutex<List> = Mutex::new(List {
    tasks: Vec::new(),
    ended: Vec::new(),
    is_running: false,
});

fn list() -> MutexGuard<'static, List> {
    LIST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds work, and starts the thread if it does not run.
fn add(add: impl FnOnce(&mut List)) {
    let mut list = list();
    add(&mut list);
    if list.is_running {
        return;
    }
    let thread = std::thread::Builder::new().name("zonda-shm".to_owned());
    match thread.spawn(work) {
        Ok(_) => list.is_running = true,
        Err(error) => tracing::warn!(
            "no thread for shared memory: {error}; buffers of lost holders stay lost"
        ),
    }
}

/// Makes a task known, of which [`Kept::is_new`] is true.
pub(crate) fn keep<T: Task>(task: &Arc<T>) {
    let task: Weak<T> = Arc::downgrade(task);
    add(|list| list.tasks.push(Known(task, 0)));
}

/// Calls [`Task::give_back`] of a task after [`ROUNDS_AFTER_END`].
pub(crate) fn end(task: Arc<dyn Task>) {
    add(|list| list.ended.push((0, task)));
}

/// Works in a round; returns the task if later rounds have to, too.
fn again(Known(task, idle): Known, round: u64) -> Option<Known> {
    let known = task.upgrade()?;
    known.work(round);
    let idle = if known.has_work() { 0 } else { idle + 1 };
    let is_forgotten = idle > IDLE_ROUNDS && known.kept().is_forgotten(|| known.has_work());
    (!is_forgotten).then_some(Known(task, idle))
}

fn work() {
    for round in 0_u64.. {
        let mut now = list();
        if now.tasks.is_empty() && now.ended.is_empty() {
            now.is_running = false;
            return;
        }
        let tasks = std::mem::take(&mut now.tasks);
        now.ended.iter_mut().for_each(|(rounds, _)| *rounds += 1);
        let over = now
            .ended
            .extract_if(.., |(rounds, _)| *rounds > ROUNDS_AFTER_END);
        let over: Vec<_> = over.collect();
        drop(now);
        // Tasks are dropped without the lock: they may have work for the keeper.
        let kept: Vec<_> = tasks
            .into_iter()
            .filter_map(|known| again(known, round))
            .collect();
        over.iter().for_each(|(_, task)| task.give_back());
        drop(over);
        list().tasks.extend(kept);
        std::thread::sleep(ROUND);
    }
}
