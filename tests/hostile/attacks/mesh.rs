// SPDX-License-Identifier: MIT OR Apache-2.0
//! An attacker in the role of a router, in a mesh of honest routers with a client each. Each honest
//! message comes to each subscriber once, and soon, whatever the attacker announces about the
//! honest routers.

use std::collections::HashMap;
use std::fs::{OpenOptions, remove_file};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::ops::{Deref, DerefMut, Range};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use zonda::query::QueryTarget;
use zonda::{Config, Session, Wait};
use zonda_codec::{Declaration, Declare, LinkState, Numbers, Priority, WhatAmI, WireExpr, ZenohId};
use zonda_transport::protocol::auth::Credentials;
use zonda_transport::protocol::options::LocalOptions;
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

/// Number of subscribers of an honest client with a large table.
const OWNED: u32 = 100_000;

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

/// Login of clients where routers ask for one: a user and its password.
const PLANT: (&str, &str) = ("plant", "machine");

/// Routers with a client each; the client of the first one publishes to all.
struct Mesh {
    /// Login of clients and attackers.
    login: Option<(&'static str, &'static str)>,
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
        Mesh::with_login(links, setup, None)
    }

    /// Starts routers whose clients have this login.
    fn with_login(
        links: &[&[usize]],
        setup: &Setup,
        login: Option<(&'static str, &'static str)>,
    ) -> Mesh {
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
        let clients: Vec<Session> = places.iter().map(|place| client(*place, login)).collect();
        let heard = clients.iter().map(subscribed).collect();
        let mut mesh = Mesh {
            login,
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
        let source = client(self.places[0], self.login);
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
        let credentials = self.login.map(|(user, password)| {
            Credentials::new(user, password).expect("a user with a password")
        });
        hand.parameters = LocalParameters {
            options: Arc::new(LocalOptions {
                credentials,
                ..LocalOptions::default()
            }),
            ..LocalParameters::new(zid, WhatAmI::Router)
        };
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

fn client(place: SocketAddr, login: Option<(&str, &str)>) -> Session {
    let mut config = Config::client([format!("tcp/{place}")]);
    if let Some((user, password)) = login {
        config = config
            .with("transport/auth/usrpwd/user", &format!("{user:?}"))
            .with("transport/auth/usrpwd/password", &format!("{password:?}"));
    }
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
#[derive(Clone, Copy)]
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
    assert!(questions > 0);
    assert_eq!(asked, questions);
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

/// An attacker only connects as a router and closes, at a router whose client has declared much,
/// almost half of the budget. The client keeps its link, and the router its budget.
#[test]
fn s26_visits_of_routers() {
    const BUDGET: u64 = 64 << 20;
    let setup = Setup::router().own(&format!("limits/memory_bytes:{BUDGET}"));
    let mesh = Mesh::of(&[&[], &[0], &[1]], &setup);
    let empty = memory(&mesh.routers[0]);
    let mut owner = Stranger::of(Hand::connected(mesh.places[0]));
    owner.messages((0..OWNED).map(|number| {
        bytes(&Declare::new(Declaration::Subscriber {
            id: number,
            wire_expr: WireExpr::full(&format!("owned/{number}")),
        }))
    }));
    // A publisher at each end of the table, behind the last router, waits until all of it is known.
    let listener = client(mesh.places[2], None);
    let publishers = [0, OWNED - 1].map(|number| {
        let publisher = listener.declare_publisher(format!("owned/{number}"));
        publisher.wait().expect("open")
    });
    let are_matching = || {
        let mut each = publishers.iter();
        each.all(|p| p.matching_status().wait().expect("open").matching())
    };
    until("all of it is known", are_matching);
    // Visits, which cost no memory, no link and no declaration.
    let mut visits = 0;
    mesh.holds_against(|mesh| {
        go_on(|_| {
            let mut stranger = Hand::connect(mesh.places[0]);
            stranger.parameters = LocalParameters::new(stranger.zid(), WhatAmI::Router);
            visits += u32::from(stranger.is_let_in());
        });
    });
    let grown = memory(&mesh.routers[0]).saturating_sub(empty);
    println!(
        "  {visits} visits, {} MiB for {OWNED} subscribers",
        grown >> 20
    );
    assert!(visits > 0);
    assert!(grown < BUDGET + GROWTH, "{grown}");
    assert!(owner.is_kept_alive(), "the owner is still linked");
    thread::sleep(Duration::from_millis(100));
    assert!(owner.is_kept_alive(), "the owner is still linked");
    assert!(are_matching(), "the table is still there");
}

/// Two hundred invented routers, each of which changes as often as the attacker can send.
#[test]
fn s30_link_states_hold_no_data_up() {
    let mesh = Mesh::line();
    mesh.holds_against(|mesh| {
        let mut stranger = mesh.stranger(0);
        let invented: Vec<u64> = (10..210).collect();
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

/// Writes a file of users that only this process's user may read.
fn users(list: &str) -> String {
    let file = std::env::temp_dir().join(format!("zonda-mesh-users-{}", std::process::id()));
    let mut options = OpenOptions::new();
    let opened = options.create(true).truncate(true).write(true).mode(0o600);
    let mut opened = opened.open(&file).expect("the folder is writable");
    opened.write_all(list.as_bytes()).expect("there is room");
    file.to_str().expect("a name").to_owned()
}

/// Connects as a router, with these ids at these routers of a line, and sends states by which the
/// attacker is where the messages for the last router go. Returns how often it was let in.
fn draw_traffic(mesh: &Mesh, places: &[(usize, usize)], state: &Said<'_>) -> usize {
    let strangers = places.iter();
    let strangers = strangers.filter_map(|(at, number)| mesh.stranger_as(*at, zid(*number)));
    let mut strangers: Vec<Stranger> = strangers.collect();
    for stranger in &mut strangers {
        // States of count 0 bind the numbers of the routers that the last state names.
        let bound = [said(1, 0, &[]), said(3, 0, &[])];
        let bound = bound.into_iter().filter(|b| b.number != state.number);
        stranger.frame(&states(&bound.chain([*state]).collect::<Vec<_>>()));
    }
    thread::sleep(ATTACKED / 2);
    strangers.len()
}

/// The attacker has the id of a router two links away, and then is the shortest path to it. It
/// has the login of a client. Only the login of the routers makes a router.
#[test]
fn s31_routers_that_are_not_trusted() {
    let (user, password) = PLANT;
    let file = users(&format!("mesh:between\n{user}:{password}\n"));
    let trusted = Setup::router()
        .with(&format!("transport/auth/usrpwd/dictionary_file:{file:?}"))
        .with("transport/auth/usrpwd/user:'mesh'")
        .with("transport/auth/usrpwd/password:'between'")
        .own("routing/router/trusted:[{users:['mesh']}]");
    let mesh = Mesh::with_login(&[&[], &[0], &[1]], &trusted, Some(PLANT));
    remove_file(file).expect("the routers have read it");
    let mut let_in = 0;
    mesh.holds_against(|mesh| {
        let far = said(3, 1 << 60, &[1]);
        let_in += draw_traffic(mesh, &[(0, 3)], &far);
        let near = Said {
            weights: &[1, 1],
            ..said(0, clock(), &[1, 3])
        };
        let_in += draw_traffic(mesh, &[(0, 0), (2, 0)], &near);
    });
    assert_eq!(let_in, 0, "it is turned away");
    for (at, who) in [(0, zid(3)), (2, zid(0))] {
        let errors = mesh.routers[at].errors();
        let is_named = |line: &String| {
            line.contains("routing/router/trusted") && line.contains(&who.to_string())
        };
        assert!(errors.iter().any(is_named), "{errors:?}");
    }
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
