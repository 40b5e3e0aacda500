// SPDX-License-Identifier: MIT OR Apache-2.0

//! Actions of user code of a session, wherever the session runs it: in an inline callback, in the
//! consumer of a queue, while a closure is dropped; on each runtime. Nothing hangs, and a session
//! that is not closed stays usable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::pair::{LONG, until};
use zonda::config::RuntimeKind;
use zonda::handlers::CallbackDrop;
use zonda::pubsub::Subscriber;
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};

/// Action of the user code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Declare,
    UndeclareSelf,
    UndeclareOther,
    Put,
    Close,
    DropLast,
    Panic,
}

const DEEDS: [Deed; 7] = [
    Deed::Declare,
    Deed::UndeclareSelf,
    Deed::UndeclareOther,
    Deed::Put,
    Deed::Close,
    Deed::DropLast,
    Deed::Panic,
];

/// Place of the user code.
#[derive(Debug, Clone, Copy)]
enum Place {
    Inline,
    Consumer,
    WhileDropped,
}

const PLACES: [Place; 3] = [Place::Inline, Place::Consumer, Place::WhileDropped];

/// Limit of a call that has to wait for no peer.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The objects that user code can reach.
struct Reach {
    session: Mutex<Option<Session>>,
    own: Mutex<Option<Subscriber<()>>>,
    other: Mutex<Option<Subscriber<()>>>,
    /// The user code has begun, and (also by a panic) ended.
    begun: AtomicBool,
    ended: AtomicBool,
    took: Mutex<Duration>,
}

impl Reach {
    /// Performs the action once.
    fn act(&self, deed: Deed) {
        if self.begun.swap(true, Ordering::SeqCst) {
            return;
        }
        let begin = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| self.act_now(deed)));
        *self.took.lock().unwrap() = begin.elapsed();
        self.ended.store(true, Ordering::SeqCst);
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
    }

    fn act_now(&self, deed: Deed) {
        // No lock of the test's own is held while a session works or is dropped.
        let session = || self.session.lock().unwrap().clone();
        let empty = |slot: &Mutex<Option<Subscriber<()>>>| {
            let taken = slot.lock().unwrap().take();
            drop(taken);
        };
        match deed {
            Deed::Declare => {
                let session = session().unwrap();
                let inner = session.declare_subscriber("inner").callback(|_| {});
                let inner = inner.wait().unwrap();
                let publisher = session.declare_publisher("inner").wait().unwrap();
                publisher.put("x").wait().unwrap();
                drop((inner, publisher));
            }
            Deed::UndeclareSelf => empty(&self.own),
            Deed::UndeclareOther => empty(&self.other),
            Deed::Put => {
                let session = session().unwrap();
                for key in ["case", "elsewhere", "inner"] {
                    session.put(key, "x").wait().unwrap();
                }
            }
            Deed::Close => {
                let limit = Duration::from_millis(300);
                // The result is ignored: the messages that this very callback delays may count as
                // lost.
                let _ = session().unwrap().close().timeout(limit).wait();
            }
            Deed::DropLast => {
                let taken = self.session.lock().unwrap().take();
                drop(taken);
            }
            Deed::Panic => panic!("user code panics (this panic belongs to the test)"),
        }
    }
}

fn open(kind: RuntimeKind, connect: Option<&str>) -> Session {
    let config = Config::peer().with_runtime(kind);
    let config = match connect {
        None => config.listen(["tcp/127.0.0.1:0"]),
        Some(address) => config.listen([] as [&str; 0]).connect([address]),
    };
    zonda::open(config).wait().unwrap()
}

/// Publishes until `done`.
fn publish_until(session: &Session, what: &str, done: impl Fn() -> bool) {
    until(what, || {
        let put = session.put("case", "x");
        // A case may end the subscribing session.
        let _ = put.congestion_control(CongestionControl::Block).wait();
        done()
    });
}

/// Makes the place perform the action.
fn arrange(subscribing: &Session, reach: &Arc<Reach>, place: Place, deed: Deed) {
    match place {
        Place::Inline => {
            let acting = reach.clone();
            let own = subscribing.declare_subscriber("case");
            let own = own.callback(move |_| acting.act(deed)).wait().unwrap();
            *reach.own.lock().unwrap() = Some(own);
        }
        Place::WhileDropped => {
            let acting = reach.clone();
            let own = subscribing.declare_subscriber("case").with(CallbackDrop {
                callback: |_: Sample| {},
                drop: move || acting.act(deed),
            });
            *reach.own.lock().unwrap() = Some(own.wait().unwrap());
        }
        Place::Consumer => {
            let own = subscribing.declare_subscriber("case").wait().unwrap();
            let acting = reach.clone();
            thread::spawn(move || {
                while own.recv().is_ok() {
                    if deed == Deed::UndeclareSelf {
                        acting.begun.store(true, Ordering::SeqCst);
                        drop(own);
                        acting.ended.store(true, Ordering::SeqCst);
                        return;
                    }
                    acting.act(deed);
                }
            });
        }
    }
}

fn case(kind: RuntimeKind, place: Place, deed: Deed) {
    let name = format!("{deed:?} in {place:?} on {kind}");
    let publishing = open(kind, None);
    let address = publishing.info().locators().remove(0).to_string();
    let subscribing = open(kind, Some(&address));
    let witness = subscribing.declare_subscriber("case").wait().unwrap();
    let other = subscribing.declare_subscriber("case").callback(|_| {});
    let reach = Arc::new(Reach {
        session: Mutex::new(Some(subscribing.clone())),
        own: Mutex::default(),
        other: Mutex::new(Some(other.wait().unwrap())),
        begun: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        took: Mutex::default(),
    });
    let ours = (deed != Deed::DropLast).then(|| subscribing.clone());
    let zid = subscribing.zid();
    arrange(&subscribing, &reach, place, deed);
    drop(subscribing);
    if let Place::WhileDropped = place {
        publish_until(&publishing, &name, || !witness.is_empty());
        let own = reach.own.lock().unwrap().take();
        drop(own);
    }
    publish_until(&publishing, &name, || reach.ended.load(Ordering::SeqCst));
    let took = *reach.took.lock().unwrap();
    assert!(took < AT_ONCE, "{name} took {took:?}");
    let stays = ours.as_ref().filter(|_| deed != Deed::Close);
    if let Some(session) = stays {
        while witness.try_recv().unwrap().is_some() {}
        publish_until(&publishing, &name, || !witness.is_empty());
        assert!(!session.is_closed(), "{name}");
        assert_eq!(session.info().ended_links().links, 0, "{name}");
    } else {
        until(&format!("{name}: it is gone"), || {
            publishing.info().links().iter().all(|l| l.zid != zid)
        });
    }
    let begin = Instant::now();
    drop((ours, witness, reach));
    let _ = publishing.close().timeout(LONG).wait();
    assert!(begin.elapsed() < AT_ONCE, "{name}: closing took long");
}

#[test]
fn user_code_may_do_anything_anywhere() {
    for kind in RuntimeKind::available() {
        for place in PLACES {
            for deed in DEEDS {
                case(kind, place, deed);
            }
        }
    }
}

/// A closure that is dropped on the receiving task, as it was in use there, does not end the link
/// if it panics.
#[test]
fn what_panics_while_it_is_dropped_harms_nobody_else() {
    for kind in RuntimeKind::available() {
        let publishing = open(kind, None);
        let address = publishing.info().locators().remove(0).to_string();
        let subscribing = open(kind, Some(&address));
        let witness = subscribing.declare_subscriber("case").wait().unwrap();
        let slot = Arc::<Mutex<Option<Subscriber<()>>>>::default();
        let (own, dropped) = (slot.clone(), Arc::new(AtomicBool::new(false)));
        let in_drop = dropped.clone();
        let bad = subscribing.declare_subscriber("case").with(CallbackDrop {
            callback: move |_: Sample| {
                let taken = own.lock().unwrap().take();
                drop(taken);
            },
            drop: move || {
                in_drop.store(true, Ordering::SeqCst);
                panic!("a bad closing function (this panic belongs to the test)");
            },
        });
        *slot.lock().unwrap() = Some(bad.wait().unwrap());
        publish_until(&publishing, "it is dropped", || {
            dropped.load(Ordering::SeqCst)
        });
        while witness.try_recv().unwrap().is_some() {}
        publish_until(&publishing, "the other is served", || !witness.is_empty());
        assert_eq!(subscribing.info().ended_links().links, 0);

        let bad = subscribing.declare_subscriber("case").with(CallbackDrop {
            callback: |_: Sample| {},
            drop: || panic!("another one (this panic belongs to the test)"),
        });
        let bad = bad.wait().unwrap();
        subscribing.close().timeout(LONG).wait().unwrap();
        drop(bad);
    }
}
