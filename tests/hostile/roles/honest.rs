// SPDX-License-Identifier: MIT OR Apache-2.0
//! Honest clients in one process: a source with subscribers of its own, a session that queries and
//! one that replies, a session that declares and undeclares a token and one that watches it. Each
//! role is a session of its own. A line `window` on standard input makes them report and begin
//! anew, `stop` makes them end: messages under Block must then have arrived.

use std::io::BufRead;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zonda::config::WhatAmI;
use zonda::qos::{CongestionControl, Priority};
use zonda::session::ConnectionEvent;
use zonda::{Config, Session, Wait};

use super::advanced::Line;
use super::ledger::{GREETING, Ledger, number_of, payload};
use super::say;
use crate::scene::{LONG, until};
use crate::world::{Flow, LARGE, Load, Report};

/// Period of queries, and of changes of tokens.
const PERIOD: Duration = Duration::from_millis(20);

/// Time limit of an honest client for a reply.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State shared by all roles.
#[derive(Default)]
struct Notes {
    over: AtomicBool,
    published: Vec<AtomicU64>,
    refused: AtomicU64,
    put_ms: AtomicU64,
    forged: AtomicU64,
    links_lost: AtomicU64,
    questions: AtomicU64,
    unanswered: AtomicU64,
    question_ms: AtomicU64,
    tokens: AtomicU64,
    token_ms: AtomicU64,
    oversleep_ms: AtomicU64,
    /// Start of the current query or change of a token.
    asked: Mutex<Option<Instant>>,
    /// Progress of the current query.
    leg: Mutex<Leg>,
    changed: Mutex<Option<Instant>>,
}

/// Times of a query: its arrival at the queryable, its reply, and the arrival of the reply.
#[derive(Debug, Clone, Copy, Default)]
struct Leg {
    heard: Option<Instant>,
    answered: Option<Instant>,
    back: Option<Instant>,
}

/// Time after which a query's times are printed.
const SLOW: Duration = Duration::from_millis(500);

impl Notes {
    /// Prints where a slow query has spent its time.
    fn explain(&self, begin: Instant) {
        if begin.elapsed() >= SLOW {
            let leg = *lock(&self.leg);
            let after = |at: Option<Instant>| at.map(|at| at.saturating_duration_since(begin));
            eprintln!(
                "a question takes {:?}: heard after {:?}, answered after {:?}, its answer back after {:?}",
                begin.elapsed(),
                after(leg.heard),
                after(leg.answered),
                after(leg.back)
            );
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

fn most(of: &AtomicU64, time: Duration) {
    of.fetch_max(time.as_millis() as u64, Ordering::Relaxed);
}

/// A subscriber: its session and its ledgers, one for each flow.
struct Subscriber {
    _session: Session,
    ledgers: Arc<Vec<Mutex<Ledger>>>,
}

impl Subscriber {
    fn open(session: Session, key: &str, load: &Load, notes: &Arc<Notes>) -> Subscriber {
        let ledgers: Vec<_> = load.flows.iter().map(Ledger::of).map(Mutex::new).collect();
        let ledgers = Arc::new(ledgers);
        let (told, notes, load) = (Arc::clone(&ledgers), Arc::clone(notes), load.clone());
        let prefix = format!("honest/{}/", load.name);
        let note = move |sample: zonda::sample::Sample| {
            let now = Instant::now();
            let key = sample.key_expr().as_str();
            let flow = key
                .strip_prefix(&prefix)
                .and_then(|i| i.parse::<usize>().ok());
            let number = flow.and_then(|flow| {
                let size = load.flows.get(flow)?.size;
                Some((flow, number_of(sample.payload().as_slice(), size)?))
            });
            match number {
                Some((flow, number)) => lock(&told[flow]).note(number, now),
                // any client may publish on other keys
                None if !key.starts_with(&prefix) => {}
                None => {
                    notes.forged.fetch_add(1, Ordering::Relaxed);
                    eprintln!("forged: {key} {} bytes", sample.payload().len());
                }
            }
        };
        session
            .declare_subscriber(key)
            .callback(note)
            .background()
            .wait()
            .expect("open");
        Subscriber {
            _session: session,
            ledgers,
        }
    }

    fn is_greeted(&self) -> bool {
        self.ledgers.iter().all(|ledger| lock(ledger).greeted)
    }
}

/// Publishes one flow until the case is over.
fn publish(session: &Session, index: usize, load: &Load, notes: &Notes, begin: &AtomicBool) {
    let flow: &Flow = &load.flows[index];
    let control = match flow.block {
        true => CongestionControl::Block,
        false => CongestionControl::Drop,
    };
    let publisher = session
        .declare_publisher(format!("honest/{}/{index}", load.name))
        .congestion_control(control)
        .priority(Priority::from_low_bits(flow.priority))
        .wait()
        .expect("open");
    while !begin.load(Ordering::Relaxed) && !notes.is_over() {
        // greets again until each subscriber knows the source
        let _ = publisher.put(payload(GREETING, flow.size)).wait();
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut due = Instant::now();
    for number in 0.. {
        if notes.is_over() {
            break;
        }
        if flow.rate > 0 {
            due += Duration::from_secs(1) / flow.rate;
            let now = Instant::now();
            // puts that are more than a second late are skipped
            due = due.max(now - Duration::from_secs(1));
            std::thread::sleep(due.saturating_duration_since(now));
        }
        let put = Instant::now();
        let outcome = publisher.put(payload(number, flow.size)).wait();
        most(&notes.put_ms, put.elapsed());
        if let Err(error) = outcome {
            if notes.is_over() {
                break;
            }
            eprintln!("flow {index}: {error}");
            notes.refused.fetch_add(1, Ordering::Relaxed);
        }
        notes.published[index].fetch_add(1, Ordering::Relaxed);
    }
}

/// Replies in one session, and queries it again and again from another one.
fn ask(asking: &Session, answering: &Session, name: &str, notes: &Arc<Notes>) {
    let key = format!("honest/{name}/ask");
    let (answer, heard) = (key.clone(), Arc::clone(notes));
    answering
        .declare_queryable(&key)
        .callback(move |query| {
            lock(&heard.leg).heard = Some(Instant::now());
            let echo = query.payload().cloned().unwrap_or_default();
            let _ = query.reply(&answer, echo).wait();
            lock(&heard.leg).answered = Some(Instant::now());
        })
        .background()
        .wait()
        .expect("open");
    for number in 0_u64.. {
        if notes.is_over() {
            break;
        }
        let begin = Instant::now();
        *lock(&notes.leg) = Leg::default();
        *lock(&notes.asked) = Some(begin);
        let payload = number.to_le_bytes().to_vec();
        let get = asking.get(&key).payload(payload.clone()).timeout(PATIENCE);
        let replies = get.wait().expect("open");
        let mut right = 0;
        for reply in &replies {
            lock(&notes.leg).back = Some(Instant::now());
            let is_right = reply
                .result()
                .is_ok_and(|s| s.payload().as_slice() == payload);
            right += if is_right { 1 } else { 100 };
        }
        most(&notes.question_ms, begin.elapsed());
        notes.explain(begin);
        *lock(&notes.asked) = None;
        // the first queries may be sent before the queryable is known
        if right == 0 && notes.questions.load(Ordering::Relaxed) == 0 && number < 500 {
            continue;
        }
        notes.questions.fetch_add(1, Ordering::Relaxed);
        if right != 1 && !notes.is_over() {
            notes.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(PERIOD.saturating_sub(begin.elapsed()));
    }
}

/// Declares and undeclares a token again and again in one session, and watches it in another one.
fn live(living: &Session, watching: &Session, name: &str, notes: &Notes) {
    let key = format!("honest/{name}/alive");
    // a watcher that counts changes
    let seen = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&seen);
    let _watch = watching
        .liveliness()
        .declare_subscriber(&key)
        .history(true)
        .callback(move |_| {
            told.fetch_add(1, Ordering::Release);
        })
        .wait()
        .expect("open");
    // a token appears and vanishes, and each change is awaited
    let mut changes = 0;
    while !notes.is_over() {
        let begin = Instant::now();
        *lock(&notes.changed) = Some(begin);
        let mut token = Some(
            living
                .liveliness()
                .declare_token(&key)
                .wait()
                .expect("open"),
        );
        for _ in 0..2 {
            changes += 1;
            let begin = Instant::now();
            while seen.load(Ordering::Acquire) < changes && !notes.is_over() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if begin.elapsed() >= SLOW {
                let what = if token.is_some() {
                    "token"
                } else {
                    "end of a token"
                };
                eprintln!("a {what} was seen after {:?}", begin.elapsed());
            }
            most(&notes.token_ms, begin.elapsed());
            notes.tokens.fetch_add(1, Ordering::Relaxed);
            *lock(&notes.changed) = Some(Instant::now());
            token = None;
        }
        drop(token);
        *lock(&notes.changed) = None;
        std::thread::sleep(PERIOD);
    }
}

/// Measures the delays that the machine causes for all processes.
fn sleep_again_and_again(notes: &Notes) {
    const NAP: Duration = Duration::from_millis(1);
    while !notes.is_over() {
        let begin = Instant::now();
        std::thread::sleep(NAP);
        most(&notes.oversleep_ms, begin.elapsed().saturating_sub(NAP));
    }
}

struct Honest {
    load: Load,
    notes: Arc<Notes>,
    subscribers: Vec<Subscriber>,
    advanced: Option<Arc<Line>>,
    working: Vec<JoinHandle<()>>,
    /// Sums of the earlier reports.
    published: Vec<u64>,
    since: Instant,
}

/// Opens a session whose lost links are counted.
fn open(config: Config, notes: &Arc<Notes>) -> Session {
    let session = zonda::open(config).wait().expect("the router is there");
    let notes = Arc::clone(notes);
    let note = move |event| {
        // a source without a router is connected to the attackers themselves
        if let ConnectionEvent::Lost { link, reason } = event
            && link.whatami == WhatAmI::Router
            && !notes.is_over()
        {
            notes.links_lost.fetch_add(1, Ordering::Relaxed);
            eprintln!("lost the link to {}: {reason}", link.remote);
        }
    };
    let listener = session.info().events_listener().callback(note);
    listener.background().wait().expect("open");
    session
}

pub fn run(load: Load, router: Option<SocketAddr>) {
    let source = match router {
        Some(address) => Config::client([format!("tcp/{address}")]),
        None => Config::peer().listen(["tcp/127.0.0.1:0"]),
    };
    let configuration = load.configuration.iter();
    let source = configuration.fold(source, |config, (key, value)| config.with(key, value));
    let notes = Arc::new(Notes {
        published: load.flows.iter().map(|_| AtomicU64::new(0)).collect(),
        ..Notes::default()
    });
    let source = open(source, &notes);
    say(&format!("ids {}", source.zid()));
    let place = match router {
        Some(address) => format!("tcp/{address}"),
        None => source.info().locators().remove(0).to_string(),
    };
    if router.is_none() {
        say(&format!(
            "listening on {}",
            place.trim_start_matches("tcp/")
        ));
    }
    let join = || {
        let config = match router {
            Some(_) => Config::client([&place]),
            None => Config::peer().with("connect/endpoints", &format!("[{place:?}]")),
        };
        open(config, &notes)
    };
    let own = format!("honest/{}/*", load.name);
    let mut keys = vec![own.as_str(); load.subscribers];
    keys.extend(load.everything.then_some("**"));
    let mut subscribers = Vec::new();
    for key in keys {
        subscribers.push(Subscriber::open(join(), key, &load, &notes));
    }
    if let Some(far) = load.far {
        let config = Config::client([format!("tcp/{far}")]);
        let session = open(config, &notes);
        subscribers.push(Subscriber::open(session, &own, &load, &notes));
    }
    let advanced = load.advanced.then(|| Line::open(join()));
    let mut honest = Honest {
        published: vec![0; load.flows.len()],
        load,
        notes: Arc::clone(&notes),
        subscribers,
        advanced,
        working: Vec::new(),
        since: Instant::now(),
    };
    honest.begin(&source, join);
    say("flowing");
    for line in std::io::stdin().lock().lines() {
        match line.as_deref() {
            Ok("window") => honest.window(),
            Ok("stop") => honest.stop(),
            _ => break,
        }
    }
    // the case is over, or has been given up
    std::process::exit(0);
}

impl Honest {
    fn begin(&mut self, source: &Session, join: impl Fn() -> Session) {
        // a thread for each flow, and for the other kinds of work
        let begin = Arc::new(AtomicBool::new(false));
        for index in 0..self.load.flows.len() {
            let (source, load) = (source.clone(), self.load.clone());
            let (notes, begin) = (Arc::clone(&self.notes), Arc::clone(&begin));
            self.work(move || publish(&source, index, &load, &notes, &begin));
        }
        if let Some(line) = self.advanced.clone() {
            let (source, begin) = (source.clone(), Arc::clone(&begin));
            let notes = Arc::clone(&self.notes);
            let has_begun = move || begin.load(Ordering::Relaxed);
            self.work(move || line.publish(&source, has_begun, || notes.is_over()));
        }
        let notes = Arc::clone(&self.notes);
        self.work(move || sleep_again_and_again(&notes));
        if self.load.questions {
            let (asking, answering) = (join(), join());
            let (name, notes) = (self.load.name.clone(), Arc::clone(&self.notes));
            self.work(move || ask(&asking, &answering, &name, &notes));
        }
        if self.load.tokens {
            let (living, watching) = (join(), join());
            let (name, notes) = (self.load.name.clone(), Arc::clone(&self.notes));
            self.work(move || live(&living, &watching, &name, &notes));
        }
        // flows begin once every subscriber is known
        until("every subscriber is known to the source", || {
            let mut advanced = self.advanced.iter();
            self.subscribers.iter().all(Subscriber::is_greeted)
                && advanced.all(|line| lock(&line.ledger).greeted)
        });
        begin.store(true, Ordering::Relaxed);
        // the case may begin once everything has been published and replied
        until("everything flows", || {
            let published = self.notes.published.iter();
            let flows = published.clone().all(|p| p.load(Ordering::Relaxed) > 0);
            let asks = !self.load.questions || self.notes.questions.load(Ordering::Relaxed) > 0;
            flows && asks
        });
    }

    fn work(&mut self, task: impl FnOnce() + Send + 'static) {
        self.working.push(std::thread::spawn(task));
    }

    /// Prints the observations since the last report.
    fn window(&mut self) {
        let now = Instant::now();
        let seconds = now.duration_since(self.since).as_secs_f64();
        self.since = now;
        let take = |of: &AtomicU64| of.swap(0, Ordering::Relaxed);
        // a lasting wait counts as well
        if let Some(since) = *lock(&self.notes.asked) {
            self.notes.explain(since);
        }
        for (since, worst) in [
            (&self.notes.asked, &self.notes.question_ms),
            (&self.notes.changed, &self.notes.token_ms),
        ] {
            if let Some(since) = *lock(since) {
                most(worst, since.elapsed());
            }
        }
        let published: Vec<u64> = self
            .notes
            .published
            .iter()
            .map(|p| p.load(Ordering::Relaxed))
            .collect();
        let ledgers = |subscriber: &Subscriber| {
            let ledgers = subscriber.ledgers.iter();
            ledgers.map(|ledger| lock(ledger).report(now)).collect()
        };
        let report = Report {
            seconds,
            published: published
                .iter()
                .zip(&self.published)
                .map(|(now, then)| now - then)
                .collect(),
            refused: take(&self.notes.refused),
            put_ms: take(&self.notes.put_ms),
            seen: self
                .subscribers
                .iter()
                .map(ledgers)
                .chain(
                    self.advanced
                        .iter()
                        .map(|line| vec![lock(&line.ledger).report(now)]),
                )
                .collect(),
            forged: take(&self.notes.forged),
            links_lost: take(&self.notes.links_lost),
            questions: take(&self.notes.questions),
            unanswered: take(&self.notes.unanswered),
            question_ms: take(&self.notes.question_ms),
            tokens: take(&self.notes.tokens),
            token_ms: take(&self.notes.token_ms),
            oversleep_ms: take(&self.notes.oversleep_ms),
            blocks: self.load.flows.iter().map(|flow| flow.block).collect(),
            large: self.load.flows.iter().map(|f| f.size >= LARGE).collect(),
            rates: self.load.flows.iter().map(|flow| flow.rate).collect(),
            ..Report::default()
        };
        self.published = published;
        tell(&report);
    }

    /// Ends all work, and prints the messages that never came.
    fn stop(&mut self) {
        // no message is published from here on
        self.notes.over.store(true, Ordering::Relaxed);
        for thread in self.working.drain(..) {
            let _ = thread.join();
        }
        let published: Vec<u64> = self
            .notes
            .published
            .iter()
            .map(|p| p.load(Ordering::Relaxed))
            .collect();
        // subscribers get time for messages under Block
        let deadline = Instant::now() + LONG;
        let blocks: Vec<bool> = self.load.flows.iter().map(|flow| flow.block).collect();
        let has_all = |subscriber: &Subscriber| {
            let mut flows = subscriber.ledgers.iter().enumerate();
            flows.all(|(flow, ledger)| !blocks[flow] || lock(ledger).has_all(published[flow]))
        };
        let is_whole =
            |line: &Arc<Line>| lock(&line.ledger).has_all(line.published.load(Ordering::Relaxed));
        let all = || self.subscribers.iter().all(has_all) && self.advanced.iter().all(is_whole);
        while !all() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        // the last report, with lost messages
        let close = |subscriber: &Subscriber| {
            let ledgers = subscriber.ledgers.iter().zip(&published);
            ledgers
                .map(|(ledger, published)| lock(ledger).close(*published))
                .collect()
        };
        let end = |line: &Arc<Line>| {
            vec![lock(&line.ledger).close(line.published.load(Ordering::Relaxed))]
        };
        let seen = self.subscribers.iter().map(close);
        tell(&Report {
            seen: seen.chain(self.advanced.iter().map(end)).collect(),
            refused: self.notes.refused.load(Ordering::Relaxed),
            forged: self.notes.forged.load(Ordering::Relaxed),
            unanswered: self.notes.unanswered.load(Ordering::Relaxed),
            blocks,
            ..Report::default()
        });
    }
}

fn tell(report: &Report) {
    let text = serde_json::to_string(report).expect("a report has a text");
    say(&format!("report {text}"));
}
