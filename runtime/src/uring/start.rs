// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start of a runtime's threads, and explanation of the system's refusals.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use super::ring::Ring;
use super::self_test;
use super::shard::Shard;
use super::worker::{self, Plan};
use crate::RuntimeOptions;
use crate::placement::Placement;

/// The threads of a runtime; dropping this signals them to end and does not wait.
pub(super) struct Shards(Vec<Arc<Shard>>);

impl Drop for Shards {
    fn drop(&mut self) {
        self.0.iter().for_each(|shard| shard.stop());
    }
}

impl Shards {
    /// Starts the threads; each has tested its ring before this function returns.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] with the reason why io_uring cannot be used and advice, or
    /// the placement's error.
    pub(super) fn start(options: &RuntimeOptions) -> io::Result<Self> {
        static POOLS: AtomicUsize = AtomicUsize::new(0);
        let plan = Plan {
            pool: POOLS.fetch_add(1, Ordering::Relaxed),
            placement: Placement::check(options)?,
        };
        let threads = match options.threads {
            Some(threads) => threads.max(1),
            None => thread::available_parallelism().map_or(1, usize::from),
        };
        // all threads must start, or none stays
        let (mut shards, mut handles) = (Shards(Vec::with_capacity(threads)), Vec::new());
        for index in 0..threads {
            let name = format!("{}-{index}", options.thread_name);
            match start_one(&plan, name) {
                Ok((shard, handle)) => {
                    shards.0.push(shard);
                    handles.push(handle);
                }
                Err(error) => {
                    drop(shards);
                    // join them, so that a substitute runtime finds their descriptors free
                    handles.into_iter().for_each(|handle| drop(handle.join()));
                    return Err(error);
                }
            }
        }
        Ok(shards)
    }

    pub(super) fn all(&self) -> &[Arc<Shard>] {
        &self.0
    }
}

/// Starts one thread and waits until it has tested its ring.
fn start_one(plan: &Plan, name: String) -> io::Result<(Arc<Shard>, JoinHandle<()>)> {
    let (plan, (started, outcome)) = (plan.clone(), mpsc::channel());
    let thread = thread::Builder::new().name(name);
    let handle = thread.spawn(move || worker::run(&plan, started))?;
    let shard = outcome
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
    Ok((shard.map_err(explain)?, handle))
}

/// Creates and tests a ring, then drops it.
///
/// # Errors
/// Fails like [`Shards::start`].
pub(super) fn probe() -> io::Result<()> {
    Ring::new()
        .and_then(|mut ring| self_test::run(&mut ring))
        .map_err(explain)
}

/// Returns an error that adds the cause and advice.
fn explain(error: io::Error) -> io::Error {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    // known errors of io_uring_setup, with advice
    let text = match errno {
        Some(Errno::NOSYS) => {
            "the kernel has no io_uring, or a sandbox hides it (it came with Linux 5.1, and 5.13 is needed)"
                .to_owned()
        }
        Some(Errno::PERM | Errno::ACCESS) => match disabled() {
            Some(value) => format!(
                "forbidden by sysctl kernel.io_uring_disabled = {value} (set it to 0)"
            ),
            None => "a security policy forbids it, as those of containers do (allow io_uring_setup, io_uring_enter and io_uring_register)"
                .to_owned(),
        },
        Some(Errno::NOMEM) => "too little memory may be locked (raise `ulimit -l`)".to_owned(),
        Some(Errno::MFILE | Errno::NFILE) => {
            "no descriptor is left (raise `ulimit -n`)".to_owned()
        }
        Some(Errno::INVAL) => format!("the kernel is too old: {error}"),
        _ if error.kind() == io::ErrorKind::Unsupported => {
            format!("the kernel is too old: {error}")
        }
        _ => format!("it does not work: {error}"),
    };
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("io_uring is not usable: {text}"),
    )
}

/// Returns the value of the sysctl that forbids io_uring, if it does.
fn disabled() -> Option<String> {
    let value = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?;
    let value = value.trim();
    (value != "0").then(|| value.to_owned())
}
