// SPDX-License-Identifier: MIT OR Apache-2.0
//! An attacker in the role of a router, in a mesh of honest routers with a client each. Each honest
//! message comes to each subscriber once, and soon, whatever the attacker announces about the
//! honest routers.

use std::collections::HashMap;
use std::io::Read;
use std::net::{Shutdown, SocketAddr};
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use zonda::query::QueryTarget;
use zonda::{Config, Session, Wait};
use zonda_codec::{Declaration, Declare, LinkState, Numbers, Priority, WhatAmI, WireExpr, ZenohId};
use zonda_transport::protocol::parameters::LocalParameters;

use super::words::{in_parts, link_states};
use crate::hand::{Hand, bytes};
use crate::scene::{LONG, until};
use crate::world::{Process, Setup};

/// Length of an attack.
const ATTACKED: Duration = Duration::from_secs(4);

/// Time between two messages of the honest flow.
const PERIOD: Duration = Duration::from_millis(10);

/// Number of the first message that only probes the mesh; numbers of the flow begin with 0.
const FIRST_PROBE: u64 = 1 << 63;

/// Number of consecutive messages that must come once before the flow begins: it lasts longer than
/// routers take to agree on a new link.
const ROW: u64 = 40;

/// Maximum silence of the honest flow, beyond its period and the machine's delays of this process.
const SILENCE: Duration = Duration::from_millis(250);

/// Memory that a router may gain, in bytes.
const GROWTH: u64 = 64 << 20;

/// Maximum lines of log that a router may write because of an attacker.
const LINES: usize = 100;

/// Returns the id of an honest router; number 0 is the attacker's own.
fn zid(number: usize) -> ZenohId {
    let text = format!("{:x}", 0xa0 + number);
    text.parse().expect("an id")
}

/// Messages that one subscriber has received.
#[derive(Default)]
struct Heard {
    /// Number of copies of each message.
    counts: Mutex<HashMap<u64, u32>>,
    last: Mutex<Option<Instant>>,
    longest: Mutex<Duration>,
}

impl Heard {
    fn note(&self, number: u64) {
        *self
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(number)
            .or_default() += 1;
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = last.replace(now) {
            let mut longest = self.longest.lock().unwrap_or_else(PoisonError::into_inner);
            *longest = longest.max(now - before);
        }
    }

    fn has_each_once(&self, mut numbers: Range<u64>) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.all(|number| counts.get(&number) == Some(&1))
    }

    /// Counts the different messages of the flow.
    fn count(&self) -> usize {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .keys()
            .filter(|number| **number < FIRST_PROBE)
            .count()
    }

    /// Measures silences from now on.
    fn begin(&self) {
        *self.longest.lock().unwrap_or_else(PoisonError::into_inner) = Duration::ZERO;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    fn longest(&self) -> Duration {
        *self.longest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Routers with a client each; the client of the first one publishes to all.
struct Mesh {
    routers: Vec<Process>,
    places: Vec<SocketAddr>,
    clients: Vec<Session>,
    heard: Vec<Arc<Heard>>,
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
}

impl Mesh {
    /// Starts routers, each of which connects to the earlier ones that `links` names.
    fn of(links: &[&[usize]], setup: &Setup) -> Mesh {
        let (mut routers, mut places) = (Vec::new(), Vec::<SocketAddr>::new());
        // Each router gets its id and the addresses of earlier ones.
        for (number, links) in links.iter().enumerate() {
            let to: Vec<String> = links
                .iter()
                .map(|to| format!("tcp/{}", places[*to]))
                .collect();
            let own = setup
                .clone()
                .with(&format!("id:\"{}\"", zid(number + 1)))
                .with(&format!("connect/endpoints:{to:?}"));
            let (router, port) = own.start(0);
            places.push(SocketAddr::from(([127, 0, 0, 1], port)));
            routers.push(router);
        }
        // A client with a subscriber at each router.
        let clients: Vec<Session> = places.iter().map(|place| client(*place)).collect();
        let heard = clients.iter().map(subscribed).collect();
        let mut mesh = Mesh {
            routers,
            places,
            clients,
            heard,
            over: Arc::default(),
            sent: Arc::default(),
        };
        mesh.publish();
        mesh
    }

    fn line() -> Mesh {
        Mesh::of(&[&[], &[0], &[1]], &Setup::router())
    }

    /// Begins to publish, once the routers agree on their trees: while they do not, a message may
    /// come by two paths.
    fn publish(&mut self) {
        let source = client(self.places[0]);
        let publisher = source.declare_publisher("honest/flow");
        let publisher = publisher.wait().expect("open");
        // Rows of probes, until one arrives everywhere exactly once.
        let mut first = FIRST_PROBE;
        until("each message of a row comes once to all", || {
            let row = first..first + ROW;
            first = row.end;
            for number in row.clone() {
                publisher.put(number.to_le_bytes()).wait().expect("open");
                thread::sleep(PERIOD);
            }
            self.heard
                .iter()
                .all(|heard| heard.has_each_once(row.clone()))
        });
        // The flow itself, on a thread.
        let (over, sent) = (Arc::clone(&self.over), Arc::clone(&self.sent));
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                publisher.put(number.to_le_bytes()).wait().expect("open");
                thread::sleep(PERIOD);
            }
            drop(source);
        });
    }

    /// Watches the honest flow during an attack, and asserts that it lost and doubled nothing and stayed within the bounds.
    #[track_caller]
    fn holds_against(&self, attack: impl FnOnce(&Mesh)) {
        let before: Vec<u64> = self.routers.iter().map(memory).collect();
        let machine = Machine::watch();
        self.heard.iter().for_each(|heard| heard.begin());
        attack(self);
        let overslept = machine.overslept();
        let silences: Vec<Duration> = self.heard.iter().map(|heard| heard.longest()).collect();
        let grown = self.routers.iter().zip(before);
        let grown: Vec<u64> = grown
            .map(|(r, before)| memory(r).saturating_sub(before))
            .collect();
        // Messages that are sent after the attack must arrive, too.
        let sent = self.sent.load(Ordering::Relaxed) + 50;
        until("more is published", || {
            self.sent.load(Ordering::Relaxed) >= sent
        });
        self.over.store(true, Ordering::Relaxed);
        thread::sleep(2 * PERIOD);
        let sent = self.sent.load(Ordering::Relaxed);
        let silence = silences.iter().max().copied().unwrap_or_default();
        println!(
            "  silences {silences:?}, overslept {overslept:?}, grown {grown:?}, {sent} messages"
        );
        for (number, heard) in self.heard.iter().enumerate() {
            let is_all = || heard.count() as u64 >= sent;
            let begin = Instant::now();
            while !is_all() && begin.elapsed() < LONG / 3 {
                thread::sleep(PERIOD);
            }
            let counts = heard.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let missed = (0..sent).filter(|n| !counts.contains_key(n)).count();
            let doubled: Vec<u64> = (0..sent)
                .filter(|n| counts.get(n).is_some_and(|c| *c > 1))
                .collect();
            assert_eq!(
                (missed, doubled.len()),
                (0, 0),
                "at router {}, doubled {doubled:?}",
                number + 1
            );
        }
        assert!(silence < SILENCE + PERIOD + 4 * overslept, "{silence:?}");
        assert!(grown.iter().all(|grown| *grown < GROWTH), "{grown:?}");
        for router in &self.routers {
            let errors = router.errors();
            assert!(errors.len() < LINES, "{errors:#?}");
        }
    }

    /// Connects an attacker in the role of a router that reads its input.
    fn stranger(&self, at: usize) -> Stranger {
        self.stranger_as(at, zid(0)).expect("the router lets it in")
    }

    fn stranger_as(&self, at: usize, zid: ZenohId) -> Option<Stranger> {
        let mut hand = Hand::connect(self.places[at]);
        hand.parameters = LocalParameters::new(zid, WhatAmI::Router);
        hand.is_let_in().then(|| Stranger::of(hand))
    }
}

/// A hand that reads its input and sends keep-alives until it is dropped.
struct Stranger(Hand);

impl Stranger {
    fn of(hand: Hand) -> Stranger {
        let (reader, mut living) = (hand.other(), hand.other());
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while matches!((&reader.stream).read(&mut buffer), Ok(1..)) {}
        });
        thread::spawn(move || {
            while living.is_kept_alive() {
                thread::sleep(Duration::from_millis(400));
            }
        });
        Stranger(hand)
    }
}

impl Deref for Stranger {
    type Target = Hand;

    fn deref(&self) -> &Hand {
        &self.0
    }
}

impl DerefMut for Stranger {
    fn deref_mut(&mut self) -> &mut Hand {
        &mut self.0
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // The socket may be closed already.
        let _ = self.0.stream.shutdown(Shutdown::Both);
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Measurement of the time by which a thread of this process oversleeps.
struct Machine {
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<Duration>,
}

impl Machine {
    fn watch() -> Machine {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut longest = Duration::ZERO;
            while !seen.load(Ordering::Relaxed) {
                let begin = Instant::now();
                thread::sleep(Duration::from_millis(1));
                longest = longest.max(begin.elapsed());
            }
            longest
        });
        Machine { over, thread }
    }

    fn overslept(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only sleeps")
    }
}

/// Returns the resident memory of a process, in bytes.
fn memory(process: &Process) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", process.pid()));
    let statm = statm.expect("it runs");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

fn client(place: SocketAddr) -> Session {
    let config = Config::client([format!("tcp/{place}")]);
    zonda::open(config).wait().expect("the router is there")
}

fn subscribed(session: &Session) -> Arc<Heard> {
    let heard = Arc::new(Heard::default());
    let noted = Arc::clone(&heard);
    let note = move |sample: zonda::sample::Sample| {
        let bytes = sample.payload().to_bytes();
        let number = bytes.first_chunk().map(|first| u64::from_le_bytes(*first));
        noted.note(number.expect("eight bytes"));
    };
    let subscriber = session.declare_subscriber("honest/**").callback(note);
    subscriber.background().wait().expect("open");
    heard
}

/// Returns the time in ms, at which honest counts of changes begin.
fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("after 1970").as_millis() as u64
}

/// State that an attacker claims for a router.
struct Said<'a> {
    number: usize,
    sn: u64,
    links: &'a [u64],
    weights: &'a [u64],
}

fn said(number: usize, sn: u64, links: &[u64]) -> Said<'_> {
    Said {
        number,
        sn,
        links,
        weights: &[],
    }
}

/// Encodes link states in which the routers are identified by numbers.
fn states(all: &[Said<'_>]) -> Vec<u8> {
    let states: Vec<LinkState<'_>> = all
        .iter()
        .map(|said| LinkState {
            psid: said.number as u64,
            sn: said.sn,
            zid: Some(zid(said.number)),
            whatami: Some(WhatAmI::Router),
            links: Numbers::new(said.links),
            weights: (!said.weights.is_empty()).then(|| Numbers::new(said.weights)),
            ..LinkState::default()
        })
        .collect();
    link_states(&states)
}

fn subscriber_of(number: u16, key: &str) -> Vec<u8> {
    let wire_expr = WireExpr::full(key);
    bytes(&Declare {
        node_id: number,
        ..Declare::new(Declaration::Subscriber { id: 0, wire_expr })
    })
}

/// Repeats `act` until the time of the attack is over.
fn go_on(mut act: impl FnMut(u64)) {
    let begin = Instant::now();
    let mut round = 0;
    while begin.elapsed() < ATTACKED {
        act(round);
        round += 1;
    }
}

/// An attacker claims at each of three routers that a subscriber is behind the next one. The counts
/// are the same everywhere, so that no lie replaces another one.
#[test]
fn s24_messages_go_in_no_circle() {
    let mesh = Mesh::of(&[&[], &[0], &[0, 1], &[0, 1, 2]], &Setup::router());
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let queryable = mesh.clients[1].declare_queryable("asked/here");
    let queryable = queryable.callback(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let _queryable = queryable.wait().expect("open");
    let questions = AtomicU64::new(0);
    mesh.holds_against(|mesh| {
        let mut strangers: Vec<Stranger> = (0..4).map(|at| mesh.stranger(at)).collect();
        go_on(|round| {
            let sn = clock() + 1_000_000;
            for (at, stranger) in strangers.iter_mut().enumerate().skip(1) {
                let here = at as u64 + 1;
                let next = [3, 4, 2][at - 1];
                let (near, far, behind) = ([here], [here, 5], [next]);
                let mut lie = vec![said(0, sn, &near), said(1, sn, &near)];
                for number in (2..5).filter(|number| *number != here) {
                    let links: &[u64] = if number == next { &far } else { &near };
                    lie.push(said(number as usize, sn, links));
                }
                lie.push(said(5, sn, &behind));
                let mut all = states(&lie);
                all.extend(subscriber_of(5, "honest/**"));
                all.extend(subscriber_of(5, "asked/**"));
                stranger.frame(&all);
            }
            if round % 2 == 0 {
                let get = mesh.clients[0].get("asked/here").target(QueryTarget::All);
                let _replies = get.wait().expect("open");
                questions.fetch_add(1, Ordering::Relaxed);
            }
            thread::sleep(Duration::from_millis(160));
        });
    });
    let (asked, questions) = (
        asked.load(Ordering::Relaxed),
        questions.load(Ordering::Relaxed),
    );
    println!("  {questions} questions, asked {asked} times");
    assert!(asked <= questions, "{asked} of {questions}");
}

/// An attacker sends one message about a router two links away, and leaves.
#[test]
fn s25_one_message_cuts_no_router_off() {
    let mesh = Mesh::line();
    mesh.holds_against(|mesh| {
        for sn in [1 << 60, u64::MAX, clock() + 600_000] {
            let mut stranger = mesh.stranger(0);
            stranger.frame(&states(&[said(0, clock(), &[1]), said(3, sn, &[])]));
            stranger.frame(&states(&[said(2, sn, &[]), said(1, sn, &[])]));
            thread::sleep(ATTACKED / 4);
        }
        thread::sleep(ATTACKED / 4);
    });
}

/// An attacker only connects as a router and closes, at a router whose client has declared much.
#[test]
fn s26_visits_of_routers() {
    let mesh = Mesh::line();
    let mut owner = Stranger::of(Hand::connected(mesh.places[0]));
    owner.messages((0..20_000).map(|number| {
        bytes(&Declare::new(Declaration::Subscriber {
            id: number,
            wire_expr: WireExpr::full(&format!("owned/{number}")),
        }))
    }));
    let listener = client(mesh.places[2]);
    let publisher = listener
        .declare_publisher("owned/19999")
        .wait()
        .expect("open");
    until("all of it is known", || {
        publisher.matching_status().wait().expect("open").matching()
    });
    mesh.holds_against(|mesh| {
        go_on(|_| {
            let mut stranger = Hand::connect(mesh.places[0]);
            stranger.parameters = LocalParameters::new(zid(0), WhatAmI::Router);
            stranger.is_let_in();
        });
    });
}

/// Two hundred invented routers, each of which changes as often as the attacker can send.
#[test]
fn s30_link_states_hold_no_data_up() {
    let mesh = Mesh::line();
    mesh.holds_against(|mesh| {
        let mut stranger = mesh.stranger(0);
        let invented: Vec<u64> = (10..90).collect();
        let all: Vec<u64> = [1].into_iter().chain(invented.iter().copied()).collect();
        let mut first = vec![said(0, clock(), &all)];
        first.extend(
            invented
                .iter()
                .map(|number| said(*number as usize, 1, &[0])),
        );
        stranger.frame(&states(&first));
        go_on(|round| {
            let changes = invented.iter().map(|number| {
                states(&[said(
                    *number as usize,
                    2 + round,
                    if round % 2 == 0 { &[] } else { &[0] },
                )])
            });
            stranger.messages(changes);
        });
    });
}

/// The attacker has the id of a router two links away, and then is the shortest path to it.
#[test]
fn s31_routers_that_are_not_trusted() {
    let trusted = Setup::router().own("routing/router/trusted:[{zids:['a1','a2','a3']}]");
    let mesh = Mesh::of(&[&[], &[0], &[1]], &trusted);
    mesh.holds_against(|mesh| {
        go_on(|_| {
            assert!(mesh.stranger_as(0, zid(0)).is_none(), "it is turned away");
            assert!(mesh.stranger_as(2, zid(7)).is_none(), "it is turned away");
        });
    });
    let errors = mesh.routers[0].errors();
    assert!(
        errors
            .iter()
            .any(|line| line.contains("routing/router/trusted")),
        "{errors:?}"
    );
}

/// Link states of 0.9 and of 5 MB in one message.
#[test]
fn s34_one_large_link_state() {
    let mesh = Mesh::line();
    mesh.holds_against(|mesh| {
        let mut stranger = mesh.stranger(0);
        let begun = clock();
        for (round, most) in [400_u64, 60, 400, 60].into_iter().enumerate() {
            let links: Vec<u64> = (0..most).map(|link| link % 60 + 10).collect();
            let each =
                (10..2010).map(|number| said(number % 60 + 10, begun + round as u64, &links));
            in_parts(
                &mut stranger,
                &states(&each.collect::<Vec<_>>()),
                Priority::Data,
            );
            thread::sleep(ATTACKED / 4);
        }
    });
}
