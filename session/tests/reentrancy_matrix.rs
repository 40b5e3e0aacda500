// SPDX-License-Identifier: MIT OR Apache-2.0

//! Everything a callback may do, from inside each kind of callback: nothing hangs, and a session
//! that is not closed stays usable.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::asking::until_answered;
use crate::pair::{LONG, pair, until};
use zonda::cancellation::CancellationToken;
use zonda::qos::CongestionControl;
use zonda::query::{ConsolidationMode, Query};
use zonda::{Config, RecvError, Session, Wait};

/// Kind of callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Subscriber,
    Queryable,
    Reply,
    EndOfGet,
    Liveliness,
    LivelinessReply,
    MatchingOfPublisher,
    MatchingOfQuerier,
    Connections,
}

const KINDS: [Kind; 9] = [
    Kind::Subscriber,
    Kind::Queryable,
    Kind::Reply,
    Kind::EndOfGet,
    Kind::Liveliness,
    Kind::LivelinessReply,
    Kind::MatchingOfPublisher,
    Kind::MatchingOfQuerier,
    Kind::Connections,
];

/// Action of the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Declare,
    UndeclareSelf,
    UndeclareOther,
    Put,
    Get,
    Close,
    DropLast,
    Panic,
}

const DEEDS: [Deed; 8] = [
    Deed::Declare,
    Deed::UndeclareSelf,
    Deed::UndeclareOther,
    Deed::Put,
    Deed::Get,
    Deed::Close,
    Deed::DropLast,
    Deed::Panic,
];

/// Limit of a call that has to wait for no peer.
const AT_ONCE: Duration = Duration::from_secs(5);

type Handle = Box<dyn Any + Send>;
type Slot<T> = Mutex<Option<T>>;

/// The objects that a callback can reach. No lock of the test's own is held while a session works
/// or is dropped.
struct Reach {
    deed: Deed,
    session: Slot<Session>,
    own: Slot<Handle>,
    token: CancellationToken,
    other: Slot<Handle>,
    answered: Sender<()>,
    is_ready: AtomicBool,
    has_begun: AtomicBool,
    took: Slot<Duration>,
}

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap().take()
}

impl Reach {
    /// Performs the action once.
    fn act(&self) {
        if !self.is_ready.load(Ordering::SeqCst) || self.has_begun.swap(true, Ordering::SeqCst) {
            return;
        }
        let begin = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| self.act_now()));
        *self.took.lock().unwrap() = Some(begin.elapsed());
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
    }

    fn act_now(&self) {
        let session = || self.session.lock().unwrap().clone().expect("it is there");
        match self.deed {
            Deed::Declare => declare_everything(&session()),
            Deed::UndeclareSelf => {
                drop(take(&self.own));
                self.token.cancel().wait().unwrap();
            }
            Deed::UndeclareOther => drop(take(&self.other)),
            Deed::Put => {
                for key in ["case", "far/heard", "nobody"] {
                    session().put(key, "x").wait().unwrap();
                    session().delete(key).wait().unwrap();
                }
            }
            Deed::Get => {
                // The callback may wait for replies of its own session, but not for messages on the
                // link that waits for this callback.
                let replies = session().get("near/asked").wait().unwrap();
                assert!(replies.recv_timeout(LONG).unwrap().is_some());
                let tell = self.answered.clone();
                let session = session();
                let far = session.get("far/asked").timeout(LONG);
                let far = far.callback(move |_| {
                    let _ = tell.send(());
                });
                far.wait().unwrap();
                let nobody = session.get("nobody").wait().unwrap();
                drop(nobody);
            }
            Deed::Close => {
                let limit = Duration::from_millis(300);
                // The result is ignored: the messages that this very callback delays may count as
                // lost.
                let _ = session().close().timeout(limit).wait();
            }
            Deed::DropLast => drop(take(&self.session)),
            Deed::Panic => panic!("a bad callback (this panic belongs to the test)"),
        }
    }
}

fn declare_everything(session: &Session) {
    let subscriber = session.declare_subscriber("inner").callback(|_| {});
    let subscriber = subscriber.wait().unwrap();
    let queryable = session.declare_queryable("inner").callback(|_| {});
    let queryable = queryable.wait().unwrap();
    let publisher = session.declare_publisher("inner").wait().unwrap();
    let querier = session.declare_querier("inner").wait().unwrap();
    let listener = publisher.matching_listener().callback(|_| {});
    let listener = listener.wait().unwrap();
    let token = session.liveliness().declare_token("inner").wait().unwrap();
    let live = session.liveliness().declare_subscriber("inner");
    let live = live.history(true).callback(|_| {}).wait().unwrap();
    let events = session.info().events_listener().callback(|_| {});
    let events = events.wait().unwrap();
    publisher.put("x").wait().unwrap();
    drop((subscriber, queryable, querier, listener));
    drop((publisher, token, live, events));
}

/// Declares the callback; a get is sent by [`trigger`].
fn arrange(session: &Session, kind: Kind, reach: &Arc<Reach>) -> Option<Handle> {
    let acting = reach.clone();
    let act = move || acting.act();
    Some(match kind {
        Kind::Subscriber => {
            let own = session.declare_subscriber("case").callback(move |_| act());
            Box::new(own.wait().unwrap())
        }
        Kind::Queryable => {
            let own = session.declare_queryable("case").callback(move |_| act());
            Box::new(own.wait().unwrap())
        }
        Kind::Reply | Kind::EndOfGet | Kind::LivelinessReply => return None,
        Kind::Liveliness => {
            let own = session.liveliness().declare_subscriber("case");
            Box::new(own.callback(move |_| act()).wait().unwrap())
        }
        Kind::MatchingOfPublisher => {
            let publisher = session.declare_publisher("case").wait().unwrap();
            let own = publisher.matching_listener().callback(move |_| act());
            let own = own.wait().unwrap();
            Box::new((own, publisher))
        }
        Kind::MatchingOfQuerier => {
            let querier = session.declare_querier("case").wait().unwrap();
            let own = querier.matching_listener().callback(move |_| act());
            let own = own.wait().unwrap();
            Box::new((own, querier))
        }
        Kind::Connections => {
            let own = session.info().events_listener().callback(move |_| act());
            Box::new(own.wait().unwrap())
        }
    })
}

/// Causes a call of the callback, if it still exists, and returns. `near` is its session, as long
/// as there is one.
fn trigger(near: Option<Session>, far: &Session, kind: Kind, reach: &Arc<Reach>) {
    let acting = reach.clone();
    let act = move || acting.act();
    let token = reach.token.clone();
    match (kind, near) {
        (Kind::Subscriber, _) => {
            let put = far.put("case", "x");
            let _ = put.congestion_control(CongestionControl::Block).wait();
        }
        (Kind::Queryable, _) => drop(far.get("case").wait()),
        (Kind::Reply, Some(near)) => {
            let get = near.get("far/asked").cancellation_token(token);
            let get = get.consolidation(ConsolidationMode::None);
            let _ = get.callback(move |_| act()).wait();
        }
        (Kind::EndOfGet, Some(near)) => {
            let get = near.get("far/asked").cancellation_token(token);
            drop(get.on_end(move |_| act()).wait());
        }
        (Kind::LivelinessReply, Some(near)) => {
            let liveliness = near.liveliness();
            let get = liveliness.get("far/alive").cancellation_token(token);
            let _ = get.callback(move |_| act()).wait();
        }
        (Kind::Liveliness, _) => drop(far.liveliness().declare_token("case").wait()),
        (Kind::MatchingOfPublisher, _) => drop(far.declare_subscriber("case").wait()),
        (Kind::MatchingOfQuerier, _) => drop(far.declare_queryable("case").wait()),
        (Kind::Connections, Some(near)) => {
            // The session may be closing just now.
            let places = near.info().locators();
            let Some(address) = places.first().map(ToString::to_string) else {
                return;
            };
            drop(near);
            drop(zonda::open(Config::client([&address])).wait());
        }
        (_, None) => {}
    }
}

fn answers(session: &Session, key: &'static str) {
    let declared = session
        .declare_queryable(key)
        .callback(move |query: Query| {
            let _ = query.reply(key, "found").wait();
        });
    declared.background().wait().unwrap();
}

/// Checks that a session that is neither closed nor gone works as before.
fn goes_on(near: &Session, far: &Session, name: &str) {
    assert!(!near.is_closed(), "{name}");
    assert_eq!(near.info().links().len(), 1, "{name}");
    let heard = near.declare_subscriber("after").wait().unwrap();
    until(&format!("{name}: a message comes"), || {
        far.put("after", "x").wait().unwrap();
        heard.try_recv().unwrap().is_some()
    });
    let replies = near.get("far/asked").timeout(LONG).wait().unwrap();
    assert!(replies.recv_timeout(LONG).unwrap().is_some(), "{name}");
    assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
    assert_eq!(far.info().ended_links().links, 0, "{name}");
}

fn case(kind: Kind, deed: Deed) {
    let name = format!("{deed:?} in {kind:?}");
    let (far, near) = match kind {
        Kind::Connections => {
            let (near, far) = pair();
            (far, near)
        }
        _ => pair(),
    };
    answers(&far, "far/asked");
    until_answered(&near, "far/asked");
    let _token = far.liveliness().declare_token("far/alive").wait();
    answers(&near, "near/asked");
    let other = near.declare_subscriber("other").callback(|_| {});
    let (answered, was_answered) = channel();
    let reach = Arc::new(Reach {
        deed,
        session: Mutex::default(),
        own: Mutex::default(),
        token: CancellationToken::default(),
        other: Mutex::new(Some(Box::new(other.wait().unwrap()))),
        answered,
        is_ready: AtomicBool::new(false),
        has_begun: AtomicBool::new(false),
        took: Mutex::default(),
    });
    let own = arrange(&near, kind, &reach);
    *reach.own.lock().unwrap() = own;
    *reach.session.lock().unwrap() = Some(near.clone());
    reach.is_ready.store(true, Ordering::SeqCst);
    let ours = (deed != Deed::DropLast).then(|| near.clone());
    let zid = near.zid();
    drop(near);
    until(&name, || {
        let near = reach.session.lock().unwrap().clone();
        trigger(near, &far, kind, &reach);
        reach.took.lock().unwrap().is_some()
    });
    let took = reach.took.lock().unwrap().expect("it has ended");
    assert!(took < AT_ONCE, "{name} took {took:?}");
    if deed == Deed::Get {
        assert_eq!(was_answered.recv_timeout(LONG), Ok(()), "{name}");
    }
    match ours.filter(|_| deed != Deed::Close) {
        Some(near) => {
            // The sessions that connected to be noticed leave again.
            until(&format!("{name}: the others are gone"), || {
                near.info().links().len() == 1
            });
            goes_on(&near, &far, &name);
            drop((take(&reach.own), take(&reach.session)));
            let begin = Instant::now();
            let _ = near.close().timeout(LONG).wait();
            assert!(begin.elapsed() < AT_ONCE, "{name}: closing took long");
        }
        None => until(&format!("{name}: it is gone"), || {
            far.info().links().iter().all(|link| link.zid != zid)
        }),
    }
}

#[test]
fn everything_may_be_done_from_inside_each_kind_of_callback() {
    for kind in KINDS {
        for deed in DEEDS {
            case(kind, deed);
        }
    }
}
