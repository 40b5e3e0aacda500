// SPDX-License-Identifier: MIT OR Apache-2.0
//! A world of processes: a router, honest clients and attackers, each in a process of its own, so
//! that the memory, the descriptors, the processor time and the log of the router are its own.
//!
//! # How to write a case
//! 1. Write the attacker's work as a function `fn name(stage: &Stage)` and name it in [`crate::attacks::ATTACKS`].
//!    It runs in a process of its own: this test program starts itself again and plays that role
//!    ([`crate::roles`]). It ends when the function returns, or when the case drops the [`Attack`]
//!    ([`Stage::is_over`] returns true then; endless attacks poll it). The attacker reports to the case with
//!    [`Stage::say`], and [`Attack::said`] waits for a report.
//! 2. Write the case:
//!
//! ```ignore
//! #[test]
//! fn s9_tiny_batches() {
//!     let mut world = World::open(Setup::router());
//!     world.honest(Load::usual());                // a source with several subscribers; waits until all is flowing
//!     world.quiet(seconds(2));                    // what is usual here: the measure of the rest
//!     let attack = world.attack("tiny_batches", "");
//!     attack.said("attacking");
//!     world.attacked(seconds(4));
//!     world.verdict().holds(&Bounds::USUAL);  // prints every figure, then asserts
//! }
//! ```
//!
//! [`World::attacked`] may be called several times and between the steps of a case; the verdict is about all of it.
//! `attack.is_running()` and [`Attack::ended`] look at the attacker. [`World::router_lines`] has the router's log.
//!
//! # What is measured
//! - *Honest clients* ([`Load`], [`Report`]): each flow has a key, size, priority and congestion control of its own,
//!   all flows of a load come from one session, each subscriber is another one. Numbers in the payloads show
//!   lost, doubled, reordered and forged messages. A silence is the time between two messages of a flow at one subscriber beyond
//!   the flow's own period. Queries and liveliness tokens have their longest wait.
//! - *Other programs*: the processor time of all processes except this program and its children, from `/proc/stat`. A flow
//!   without a fixed rate is compared relative to the time that was left.
//! - *The machine*: a thread of the honest process sleeps for 1 ms again and again; the machine, not the router, causes
//!   the time by which it oversleeps. [`Bounds`] allows for it.
//! - *The router*: memory, descriptors, processor time, every 20 ms from `/proc`; lines of its log; and the time that its
//!   threads waited for a processor that another process had, which the machine causes as well.
//!
//! # Another router
//! `ZONDA_HOSTILE_ROUTER=PROGRAM` puts another program in the place of the router: a build of `zonda` or `zondad`, or
//! `peers/zenoh`'s `zenohd`. Configuration keys that only Zonda has are then left out ([`Setup::own`]). The bounds are
//! asserted as ever; the figures are printed before.

mod bounds;
mod load;
mod process;
mod watch;

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use bounds::{Bounds, Verdict};
pub use load::{ADVANCED, Flow, FlowReport, LARGE, Load, Report};
pub use process::Process;
pub use watch::Sighting;

use crate::roles::{self, Part};
use watch::{QueuedTime, Watch};

/// Lock for one world at a time: each measures times, and there are two processors.
static ALONE: Mutex<()> = Mutex::new(());

pub fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Options of the router's start.
#[derive(Clone, Default)]
pub struct Setup {
    configuration: Vec<String>,
    own: Vec<String>,
    listeners: Vec<String>,
    descriptors: Option<u32>,
}

impl Setup {
    /// Returns a router with its defaults.
    pub fn router() -> Setup {
        Setup::default()
    }

    /// Adds `key:value`, in the form of the flag `--cfg`.
    pub fn with(mut self, value: &str) -> Setup {
        self.configuration.push(value.to_owned());
        self
    }

    /// Adds a configuration key that only Zonda has.
    pub fn own(mut self, value: &str) -> Setup {
        self.own.push(value.to_owned());
        self
    }

    /// Adds a listener.
    pub fn listen(mut self, endpoint: &str) -> Setup {
        self.listeners.push(endpoint.to_owned());
        self
    }

    /// Sets the limit of open descriptors, soft and hard.
    pub fn descriptors(mut self, limit: u32) -> Setup {
        self.descriptors = Some(limit);
        self
    }

    /// Starts the router alone, at a port of this machine; 0 selects a free one. Returns its port.
    pub fn start(&self, port: u16) -> (Process, u16) {
        let router = Process::start(&mut self.command(port));
        let locator = router.said("listening on ");
        let address = locator.trim_start_matches("tcp/");
        let address: SocketAddr = address.parse().expect("a socket address");
        (router, address.port())
    }

    fn command(&self, port: u16) -> Command {
        // the program under test, `zonda` by default
        let chosen = std::env::var("ZONDA_HOSTILE_ROUTER").ok();
        let program = chosen
            .clone()
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_zonda").to_owned());
        let name = program.rsplit('/').next().unwrap_or_default();
        let mut arguments = vec![program.clone()];
        if name == "zonda" {
            arguments.push("router".to_owned());
        }
        // listeners and configuration; another implementation gets no keys of our own
        let place = format!("tcp/127.0.0.1:{port}");
        arguments.extend(["-l", &place, "--no-multicast-scouting"].map(str::to_owned));
        for endpoint in &self.listeners {
            arguments.extend(["-l".to_owned(), endpoint.clone()]);
        }
        let own: &[String] = if name == "zenohd" { &[] } else { &self.own };
        for value in self.configuration.iter().chain(own) {
            arguments.extend(["--cfg".to_owned(), value.clone()]);
        }
        // a shell sets the limit of descriptors
        let mut command = Command::new("sh");
        let limit = self
            .descriptors
            .map(|limit| format!("ulimit -n {limit}; "))
            .unwrap_or_default();
        command
            .args(["-c", &format!("{limit}exec \"$0\" \"$@\"")])
            .args(&arguments)
            .env_remove("ZENOH_CONFIG")
            .env_remove("ZONDA_CFG")
            .stdin(Stdio::piped());
        command
    }
}

/// Beginning of the names of the threads of an honest process that send and receive.
const NET_THREADS: &str = "zonda-net";

/// Returns the time that a thread waited for a processor within a silence that ends in the latest of
/// the times.
fn queued_within(waits: &[(u64, u64)], silence_ms: u64) -> u64 {
    let (mut queued, mut covered) = (0, 0);
    for (number, (length, wait)) in waits.iter().rev().enumerate() {
        queued += wait;
        // the silence may end at the beginning of the latest time
        covered += if number > 0 { *length } else { 0 };
        if covered >= silence_ms {
            break;
        }
    }
    queued
}

/// An honest process: sources with subscribers of their own.
pub struct Honest {
    process: Process,
    name: String,
    quiet: Report,
    attacked: Report,
    queued: QueuedTime,
    /// Length of each time so far, and the longest wait for a processor of a thread on the way of
    /// its messages, in ms.
    waits: Vec<(u64, u64)>,
}

/// A running attacker; dropping it ends it.
pub struct Attack {
    name: String,
    process: Process,
}

impl Attack {
    /// Waits for a line of the attacker that begins with `what`; returns the rest of it.
    #[track_caller]
    pub fn said(&self, what: &str) -> String {
        self.process.said(what)
    }

    /// Returns true if a line that begins with `what` has come so far.
    pub fn has_said(&self, what: &str) -> bool {
        self.process.has_said(what)
    }

    /// Returns the rest of the latest line that begins with `what`.
    pub fn latest(&self, what: &str) -> String {
        self.process.latest(what)
    }

    /// Returns true if it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// Stops the whole process, as a debugger or an overloaded machine does.
    pub fn freeze(&self) {
        self.process.signal("STOP");
    }

    /// Resumes a stopped process.
    pub fn thaw(&self) {
        self.process.signal("CONT");
    }

    /// Asserts that it has not ended.
    #[track_caller]
    pub fn goes_on(&mut self) {
        let is_running = self.process.is_running();
        let (name, errors) = (&self.name, self.process.errors());
        assert!(is_running, "{name} ended: {errors:#?}");
    }

    /// Waits for its end. It must have succeeded.
    #[track_caller]
    pub fn ended(mut self) {
        assert!(self.process.ended(), "the attacker {} failed", self.name);
    }
}

pub struct World {
    pub address: SocketAddr,
    /// Address of the listener of WebSockets, if the setup has one.
    web: Option<SocketAddr>,
    router: Option<Process>,
    /// Address and process of a router behind the first one, which attackers connect to.
    far: Option<(SocketAddr, Process)>,
    watch: Watch,
    /// Waits of the second router's threads for a processor.
    far_queued: Option<QueuedTime>,
    window_began: Instant,
    honest: Vec<Honest>,
    quiet: Sighting,
    attacked: Sighting,
    seed: u64,
    // the last field: other cases start when every process here has ended
    _alone: MutexGuard<'static, ()>,
}

impl World {
    /// Starts a router in a process of its own.
    pub fn open(setup: Setup) -> World {
        // one world at a time
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (router, port) = setup.start(0);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        // the addresses whose connections are counted
        let is_web = setup
            .listeners
            .iter()
            .any(|endpoint| endpoint.starts_with("ws/"));
        let web = is_web.then(|| router.said("listening on ws/"));
        let web: Option<SocketAddr> = web.map(|place| place.parse().expect("a socket address"));
        let doors = [Some(address), web].into_iter().flatten();
        let watch = Watch::over(router.pid(), doors);
        World {
            address,
            web,
            router: Some(router),
            far: None,
            watch,
            far_queued: None,
            window_began: Instant::now(),
            honest: Vec::new(),
            quiet: Sighting::default(),
            attacked: Sighting::default(),
            seed: 1,
            _alone: alone,
        }
    }

    /// Starts two peers without a router: a source that listens, watched in place of the router,
    /// and a subscriber that dialled it.
    pub fn of_peers(load: Load) -> World {
        // the source is the watched process here
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let source = roles::start(&Part::Honest(load.clone(), None), "");
        let address = source.said("listening on ");
        let address = address.parse().expect("a socket address");
        let watch = Watch::over(source.pid(), [address]);
        source.said("flowing");
        let source = Honest {
            queued: QueuedTime::of(source.pid(), NET_THREADS),
            waits: Vec::new(),
            process: source,
            name: load.name.clone(),
            quiet: Report::default(),
            attacked: Report::default(),
        };
        World {
            address,
            web: None,
            router: None,
            far: None,
            watch,
            far_queued: None,
            window_began: Instant::now(),
            honest: vec![source],
            quiet: Sighting::default(),
            attacked: Sighting::default(),
            seed: 1,
            _alone: alone,
        }
    }

    /// Starts another router that dials the first. Later attackers are its clients; the first one
    /// is still the watched one. Returns its address.
    #[track_caller]
    pub fn another_router(&mut self, setup: Setup) -> SocketAddr {
        let setup = setup.with(&format!("connect/endpoints:[\"tcp/{}\"]", self.address));
        let (router, port) = setup.start(0);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.far_queued = Some(QueuedTime::of(router.pid(), ""));
        self.far = Some((address, router));
        address
    }

    /// Returns the router's listener of WebSockets.
    pub fn web(&self) -> Option<SocketAddr> {
        self.web
    }

    /// Sets the seed of the attackers' random choices.
    pub fn seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Starts an honest process, and waits until everything in it flows.
    #[track_caller]
    pub fn honest(&mut self, load: Load) {
        let process = roles::start(&Part::Honest(load.clone(), Some(self.address)), "");
        process.said("flowing");
        self.honest.push(Honest {
            queued: QueuedTime::of(process.pid(), NET_THREADS),
            waits: Vec::new(),
            process,
            name: load.name,
            quiet: Report::default(),
            attacked: Report::default(),
        });
    }

    /// Starts an attacker of [`crate::attacks::ATTACKS`], with its argument.
    #[track_caller]
    pub fn attack(&mut self, name: &str, argument: &str) -> Attack {
        let address = self.far.as_ref().map_or(self.address, |(far, _)| *far);
        self.attack_at(address, name, argument)
    }

    /// Starts an attack against a router of the case's own.
    #[track_caller]
    pub fn attack_at(&mut self, address: SocketAddr, name: &str, argument: &str) -> Attack {
        self.seed += 1;
        let part = Part::Attack {
            name: name.to_owned(),
            address,
            seed: self.seed,
        };
        Attack {
            name: name.to_owned(),
            process: roles::start(&part, argument),
        }
    }

    /// Measures for this long without an attack, as the baseline. All later measurements count as
    /// attacked.
    pub fn quiet(&mut self, length: Duration) {
        self.measure(length, false);
    }

    /// Measures for this long, with the results ascribed to the attackers. Returns the worst
    /// silence of this time.
    pub fn attacked(&mut self, length: Duration) -> Duration {
        self.measure(length, true)
    }

    fn measure(&mut self, length: Duration, attacked: bool) -> Duration {
        // the time between the quiet and a running attack is ascribed to the attack
        self.window(attacked.then_some(true));
        let begin = Instant::now();
        let mut worst = Duration::ZERO;
        while let Some(left) = length.checked_sub(begin.elapsed()).filter(|l| !l.is_zero()) {
            std::thread::sleep(left.min(seconds(1.0)));
            worst = worst.max(self.window(Some(attacked)));
        }
        worst
    }

    /// Ends a window and begins the next.
    fn window(&mut self, of: Option<bool>) -> Duration {
        let sighting = self.watch.take();
        match of {
            Some(true) => self.attacked.add(&sighting),
            Some(false) => self.quiet.add(&sighting),
            None => {}
        }
        let far = self.far_queued.as_mut().map_or(0, QueuedTime::take);
        let routers = far.max(sighting.queued_ms);
        let length = self.window_began.elapsed().as_millis() as u64;
        self.window_began = Instant::now();
        let mut worst = Duration::ZERO;
        for honest in &mut self.honest {
            honest.process.tell("window");
            let report = honest.process.said("report ");
            let mut report: Report = serde_json::from_str(&report).expect("a report");
            report.machine_ms = bounds::machine_ms(report.oversleep_ms, sighting.queued_ms);
            let queued = honest.queued.take().max(routers).min(length);
            honest.waits.push((length, queued));
            report.queued_ms = queued_within(&honest.waits, report.large_silence_ms());
            match of {
                Some(true) => {
                    worst = worst.max(Duration::from_millis(report.worst_silence_ms()));
                    honest.attacked.add(&report);
                }
                Some(false) => honest.quiet.add(&report),
                None => {}
            }
        }
        worst
    }

    /// Returns the ids of the honest clients.
    pub fn ids(&self) -> Vec<String> {
        self.honest
            .iter()
            .map(|honest| honest.process.latest("ids "))
            .collect()
    }

    /// Returns the observations up to now.
    pub fn so_far(&self) -> Verdict {
        let report = |honest: &Honest| {
            let reports = (honest.quiet.clone(), honest.attacked.clone());
            (honest.name.clone(), reports.0, reports.1)
        };
        Verdict {
            honest: self.honest.iter().map(report).collect(),
            quiet: self.quiet,
            attacked: self.attacked,
            log: self
                .router
                .as_ref()
                .map(Process::errors)
                .unwrap_or_default(),
            far_log: self.far_lines(),
            said: self.said(),
        }
    }

    /// Returns the lines that the second router wrote to its log so far.
    fn far_lines(&self) -> Vec<String> {
        let far = self.far.as_ref();
        far.map(|(_, far)| far.errors()).unwrap_or_default()
    }

    /// Returns the lines that the honest processes wrote to standard error so far.
    fn said(&self) -> Vec<String> {
        let errors = self.honest.iter().map(|honest| honest.process.errors());
        errors.flatten().collect()
    }

    /// Returns the lines that the router wrote to its log so far.
    pub fn router_lines(&self) -> Vec<String> {
        let watched = self.router.as_ref().unwrap_or(&self.honest[0].process);
        watched.errors()
    }

    /// Stops the router's process for this long.
    pub fn stall(&mut self, length: Duration) {
        let router = self.router.as_ref().expect("there is one");
        router.signal("STOP");
        std::thread::sleep(length);
        router.signal("CONT");
    }

    /// Returns the current usage of the router's process.
    pub fn sight(&self) -> Sighting {
        self.watch.now()
    }

    /// Waits until a condition on the router's process holds.
    #[track_caller]
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Sighting) -> bool) {
        crate::scene::until(what, || holds(&self.watch.now()));
    }

    /// Ends the honest load: messages under Block must have arrived. Then computes the verdict.
    #[track_caller]
    pub fn verdict(mut self) -> Verdict {
        // no router may have ended
        let alive = self.router.as_mut().is_none_or(Process::is_running);
        assert!(alive, "the router ended: {:?}", self.router_lines().last());
        if let Some((_, far)) = &mut self.far {
            let is_running = far.is_running();
            let last = far.errors().pop();
            assert!(is_running, "the router behind it ended: {last:?}");
        }
        let said = self.said();
        // final reports of the honest processes
        let mut reports = Vec::new();
        for mut honest in std::mem::take(&mut self.honest) {
            honest.process.tell("stop");
            let last = honest.process.said("report ");
            let last: Report = serde_json::from_str(&last).expect("a report");
            honest.attacked.add_ends(&last);
            reports.push((honest.name, honest.quiet, honest.attacked));
        }
        let log = self.router.as_ref().map(Process::errors);
        let far_log = self.far_lines();
        Verdict {
            honest: reports,
            quiet: self.quiet,
            attacked: self.attacked,
            log: log.unwrap_or_default(),
            far_log,
            said,
        }
    }
}

#[test]
fn a_silence_is_excused_by_the_waits_of_the_times_that_it_spans() {
    let waits = [(1000, 900), (1000, 100), (1000, 200), (1000, 300)];
    let within = |silence| queued_within(&waits, silence);
    assert_eq!([0, 1000, 1500, 9000].map(within), [300, 500, 600, 1500]);
}
