// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of a process and of a session: sessions in statics and thread-locals, closed while the
//! process exits or a thread ends, and in front of a peer that reads nothing. Each exit happens in
//! a process of its own, which is this program again with the case in its environment.

mod pair;
mod proxy;

use std::cell::RefCell;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use pair::{LONG, until, until_matched};
use proxy::held_up;
use zonda::config::RuntimeKind;
use zonda::pubsub::{Publisher, Subscriber};
use zonda::{Config, Session, Wait};

/// The environment variable that names the child's case.
const CASE: &str = "ZONDA_TEST_EXIT";

/// A session with a declaration, which is used and closed while it is dropped.
struct Kept {
    session: Session,
    publisher: Publisher<'static>,
    _subscriber: Subscriber,
    _other: Session,
}

impl Kept {
    fn open(kind: RuntimeKind) -> Kept {
        let open = |config: Config| zonda::open(config.with_runtime(kind)).wait().unwrap();
        let other = open(Config::peer().listen(["tcp/127.0.0.1:0"]));
        let address = other.info().locators().remove(0).to_string();
        let nowhere: [&str; 0] = [];
        let session = open(Config::peer().listen(nowhere).connect([&address]));
        let subscriber = other.declare_subscriber("farewell").wait().unwrap();
        let publisher = session.declare_publisher("farewell").wait().unwrap();
        until_matched(&publisher);
        publisher.put("hello").wait().unwrap();
        assert!(subscriber.recv_timeout(LONG).unwrap().is_some());
        Kept {
            session,
            publisher,
            _subscriber: subscriber,
            _other: other,
        }
    }

    fn say_farewell(&self) {
        self.publisher.put("bye").wait().unwrap();
        self.session.put("farewell", "bye").wait().unwrap();
        self.session.close().timeout(LONG).wait().unwrap();
        eprintln!("farewell");
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.say_farewell();
    }
}

static KEPT: OnceLock<Kept> = OnceLock::new();

thread_local! {
    static OWN: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Does the work of a child.
fn child(case: &str, kind: RuntimeKind) {
    match case {
        // The program never closes or drops it.
        "static" => {
            KEPT.get_or_init(|| Kept::open(kind));
            std::process::exit(0);
        }
        "static closed" => {
            KEPT.get_or_init(|| Kept::open(kind)).say_farewell();
            std::process::exit(0);
        }
        // Ends at each panic, even one that a caller would catch, like `panic = "abort"`.
        "no panic" => {
            std::panic::set_hook(Box::new(|_| std::process::abort()));
            drop(Kept::open(kind));
            KEPT.get_or_init(|| Kept::open(kind));
            std::process::exit(0);
        }
        // `exit` itself drops the main thread's locals, like a function registered with `atexit`.
        "exit" => {
            OWN.set(Some(Kept::open(kind)));
            std::process::exit(0);
        }
        "thread that ends last" => {
            let ends = move || OWN.set(Some(Kept::open(kind)));
            std::thread::spawn(ends).join().unwrap();
        }
        other => panic!("no such case: {other}"),
    }
}

/// The program as a child; not a test of its own.
#[test]
fn as_a_child() {
    let Ok(told) = std::env::var(CASE) else {
        return;
    };
    let (kind, case) = told.split_once(':').unwrap();
    child(case, kind.parse().unwrap());
}

/// A guard that ends the child if it does not end by itself.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a case in a child for each runtime; checks the last line of each child.
fn in_children(case: &str, says_farewell: bool) {
    for kind in RuntimeKind::available() {
        let name = format!("{case} on {kind}");
        // One thread for tests: the main thread itself.
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "as_a_child", "--nocapture", "--test-threads=1"])
            .env(CASE, format!("{kind}:{case}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = Running(child);
        let mut status = None;
        until(&format!("{name} ends"), || {
            status = running.0.try_wait().unwrap();
            status.is_some()
        });
        let said = std::io::read_to_string(running.0.stderr.take().unwrap()).unwrap();
        assert!(status.unwrap().success(), "{name}: {status:?} {said}");
        assert_eq!(said.contains("farewell"), says_farewell, "{name}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
    }
}

#[test]
fn a_session_in_a_static_does_not_hold_up_the_exit() {
    in_children("static", false);
}

#[test]
fn a_session_in_a_static_can_be_closed() {
    in_children("static closed", true);
}

#[test]
fn nothing_panics_on_the_way() {
    in_children("no panic", true);
}

#[test]
fn a_session_is_used_and_closed_while_the_process_exits() {
    in_children("exit", true);
}

#[test]
fn a_session_is_used_and_closed_while_a_thread_ends() {
    in_children("thread that ends last", true);
}

const DEADLINE: Duration = Duration::from_millis(200);

/// Returns the time after its deadline within which a close returns; the least of several, as this
/// machine may have other work.
const LATE: Duration = Duration::from_millis(50);

fn least_of_five(mut took: impl FnMut() -> Duration) -> Duration {
    let all: Vec<Duration> = (0..5).map(|_| took()).collect();
    assert!(all.iter().all(|one| *one < LONG / 2), "{all:?}");
    *all.iter().min().unwrap()
}

#[test]
fn close_returns_by_its_deadline_before_a_black_hole() {
    for kind in RuntimeKind::available() {
        let waited = least_of_five(|| {
            let (session, _peer, _proxy) = held_up(Config::peer().with_runtime(kind));
            let begin = Instant::now();
            let closed = session.close().timeout(DEADLINE).wait();
            assert!(closed.is_err(), "{kind}: what was lost is told");
            begin.elapsed()
        });
        assert!(waited < DEADLINE + LATE, "{kind}: wait took {waited:?}");
        let awaited = least_of_five(|| {
            let (session, _peer, _proxy) = held_up(Config::peer().with_runtime(kind));
            let begin = Instant::now();
            let closed = async_io::block_on(async { session.close().timeout(DEADLINE).await });
            assert!(closed.is_err(), "{kind}: what was lost is told");
            begin.elapsed()
        });
        assert!(awaited < DEADLINE + LATE, "{kind}: await took {awaited:?}");
    }
}

#[test]
fn dropping_never_blocks_before_a_black_hole() {
    for kind in RuntimeKind::available() {
        let dropped = least_of_five(|| {
            let (session, _peer, _proxy) = held_up(Config::peer().with_runtime(kind));
            let begin = Instant::now();
            drop(session);
            begin.elapsed()
        });
        assert!(dropped < LATE, "{kind}: drop took {dropped:?}");
    }
}
