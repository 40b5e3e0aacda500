// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sampling of a process from outside: memory, descriptors, connections, processor time.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sampling interval.
const INTERVAL: Duration = Duration::from_millis(20);

/// Unit of processor time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

/// Peak usage of a process within a time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sighting {
    /// Maximum resident memory in bytes.
    pub memory: u64,
    /// Maximum number of open descriptors.
    pub descriptors: usize,
    /// Maximum number of descriptors beyond one for each connection, among those that stay for a
    /// whole time. A reset connection is closed before its descriptors are.
    pub descriptors_beyond: i64,
    /// Maximum number of its connections that it has a descriptor of.
    pub connections: usize,
    /// Seconds of processor time.
    pub processor: f64,
    /// Seconds of processor time of other processes: neither this program nor its children.
    pub elsewhere: f64,
    /// Seconds of processor time that the machine had.
    pub capacity: f64,
    /// Maximum time that one of its threads waited for a processor within one time, in ms.
    pub queued_ms: u64,
    /// Number of samples.
    pub looks: u64,
}

impl Sighting {
    /// Returns the part of the machine's processor time that other processes left.
    pub fn left(&self) -> f64 {
        match self.capacity > 0.0 {
            true => (1.0 - self.elsewhere / self.capacity).clamp(0.05, 1.0),
            false => 1.0,
        }
    }

    /// Adds another sample within the same time.
    fn look_again(&mut self, later: &Sighting) {
        let beyond = match self.looks {
            0 => later.descriptors_beyond,
            _ => self.descriptors_beyond.min(later.descriptors_beyond),
        };
        self.add(later);
        self.descriptors_beyond = beyond;
    }

    /// Adds a later time.
    pub fn add(&mut self, later: &Sighting) {
        if self.looks == 0 {
            self.descriptors_beyond = later.descriptors_beyond;
        }
        self.memory = self.memory.max(later.memory);
        self.descriptors = self.descriptors.max(later.descriptors);
        self.descriptors_beyond = self.descriptors_beyond.max(later.descriptors_beyond);
        self.connections = self.connections.max(later.connections);
        self.processor += later.processor;
        self.elsewhere += later.elsewhere;
        self.capacity += later.capacity;
        self.queued_ms = self.queued_ms.max(later.queued_ms);
        self.looks += later.looks;
    }
}

/// Paths of the sampled files.
#[derive(Clone)]
struct Place {
    process: PathBuf,
    /// Local addresses of its listeners as `/proc/net/tcp` writes them.
    local: Vec<String>,
}

impl Place {
    fn look(&self) -> Sighting {
        let status = fs::read_to_string(self.process.join("status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory =
            memory.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        let memory = memory.unwrap_or(0) * 1024;
        // connections open and close while descriptors are counted
        let before = self.connections();
        let descriptors = fs::read_dir(self.process.join("fd")).map_or(0, Iterator::count);
        let connections = self.connections().max(before);
        Sighting {
            memory,
            descriptors,
            descriptors_beyond: descriptors as i64 - connections as i64,
            connections,
            processor: 0.0,
            elsewhere: 0.0,
            capacity: 0.0,
            queued_ms: 0,
            looks: 1,
        }
    }

    fn connections(&self) -> usize {
        let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let connected = table.lines().filter(|line| {
            let fields: Vec<_> = line.split_ascii_whitespace().skip(1).collect();
            // 0A listens. Without an inode no process has a descriptor of it any more; with one it
            // may be established, or closed by one side.
            let is_local = |field: &&str| self.local.iter().any(|local| local == field);
            fields.first().is_some_and(is_local)
                && fields.get(2) != Some(&"0A")
                && fields.get(8).is_some_and(|inode| *inode != "0")
        });
        connected.count()
    }

    /// Returns the seconds of processor time since it began.
    fn processor(&self) -> f64 {
        used(&fields(&self.process), 2)
    }
}

/// Time that threads of a process have waited for a processor.
pub struct QueuedTime {
    process: PathBuf,
    /// Beginning of the names of these threads; all of them if it is empty.
    threads: &'static str,
    before: HashMap<OsString, u64>,
}

impl QueuedTime {
    pub fn of(pid: u32, threads: &'static str) -> QueuedTime {
        let mut queued = QueuedTime {
            process: PathBuf::from(format!("/proc/{pid}")),
            threads,
            before: HashMap::new(),
        };
        queued.take();
        queued
    }

    /// Returns the time since the last call that the thread with the longest wait has waited, in ms.
    pub fn take(&mut self) -> u64 {
        let threads = fs::read_dir(self.process.join("task"))
            .into_iter()
            .flatten();
        let queued = threads.flatten().filter_map(|thread| {
            let read = |file| fs::read_to_string(thread.path().join(file)).ok();
            let name = read("comm")?;
            let text = read("schedstat").filter(|_| name.starts_with(self.threads))?;
            let nanoseconds: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
            Some((thread.file_name(), nanoseconds / 1_000_000))
        });
        let queued: HashMap<_, _> = queued.collect();
        let waits = queued.iter().map(|(thread, ms)| {
            let before = self.before.get(thread).copied().unwrap_or(0);
            ms.saturating_sub(before)
        });
        let longest = waits.max().unwrap_or(0);
        self.before = queued;
        longest
    }
}

/// Returns the fields of a process's `stat` file, from its state on.
fn fields(process: &Path) -> Vec<String> {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    fields.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Returns the seconds of processor time: two numbers of its own, and two more of its ended
/// children.
fn used(fields: &[String], numbers: usize) -> f64 {
    let ticks = fields.iter().skip(11).take(numbers);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}

/// Returns the seconds of processor time since the machine's start of all processes except this
/// program and its children.
fn elsewhere() -> f64 {
    let all = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all: Vec<f64> = all
        .lines()
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|ticks| ticks.parse().ok())
        .collect();
    // processor time of applications, nice or not, of the system for them, and of other machines on
    // this processor
    let busy: f64 = [0, 1, 2, 7].iter().filter_map(|at| all.get(*at)).sum();
    let id = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = processes
        .map(|process| fields(&process.path()))
        .filter(|fields| fields.get(1) == Some(&id))
        .map(|fields| used(&fields, 2));
    let own = used(&fields(Path::new("/proc/self")), 4) + children.sum::<f64>();
    busy / TICKS_PER_SECOND - own
}

/// Returns the number of processors: seconds of processor time within a second.
fn processors() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

pub struct Watch {
    place: Place,
    seen: Arc<Mutex<Sighting>>,
    processor: f64,
    elsewhere: f64,
    since: Instant,
    queued: QueuedTime,
    /// Sender whose drop ends the watching.
    over: Option<Sender<()>>,
    watching: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn over(pid: u32, doors: impl IntoIterator<Item = SocketAddr>) -> Watch {
        // local addresses in the form of `/proc/net/tcp`
        let doors = doors.into_iter();
        let local = doors.map(|door| format!("0100007F:{:04X}", door.port()));
        let local = local.collect();
        let place = Place {
            process: PathBuf::from(format!("/proc/{pid}")),
            local,
        };
        // a thread samples until the watch is dropped
        let seen = Arc::new(Mutex::new(Sighting::default()));
        let (over, ended) = channel();
        let (looked, noted) = (place.clone(), Arc::clone(&seen));
        let watching = std::thread::spawn(move || {
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let sighting = looked.look();
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .look_again(&sighting);
            }
        });
        Watch {
            processor: place.processor(),
            elsewhere: elsewhere(),
            since: Instant::now(),
            queued: QueuedTime::of(pid, ""),
            place,
            seen,
            over: Some(over),
            watching: Some(watching),
        }
    }

    /// Takes the observations since the last call.
    pub fn take(&mut self) -> Sighting {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sighting = std::mem::take(&mut *seen);
        sighting.look_again(&self.place.look());
        let processor = self.place.processor();
        sighting.processor = processor - self.processor;
        self.processor = processor;
        let elsewhere = elsewhere();
        sighting.elsewhere = (elsewhere - self.elsewhere).max(0.0);
        self.elsewhere = elsewhere;
        sighting.capacity = self.since.elapsed().as_secs_f64() * processors();
        self.since = Instant::now();
        sighting.queued_ms = self.queued.take();
        sighting
    }

    /// Takes one sample.
    pub fn now(&self) -> Sighting {
        self.place.look()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over = None;
        if let Some(watching) = self.watching.take() {
            let _ = watching.join();
        }
    }
}
