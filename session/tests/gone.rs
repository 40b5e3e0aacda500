// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of an entity returns once its callback is gone: no call of it runs any more, and it has
//! been dropped.

use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use zonda::cancellation::CancellationToken;
use zonda::handlers::CallbackDrop;
use zonda::{DeclareError, GetError, Operation, Session, Wait};

use crate::asking::until_answered;
use crate::pair::{LONG, alone, connected_to, pair, until};

/// A callback that takes its time, also to be dropped.
struct Slow {
    called: Receiver<()>,
    gone: Arc<AtomicBool>,
}

/// A value that a callback owns.
struct Owned(Arc<AtomicBool>);

impl Drop for Owned {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(20));
        self.0.store(true, Ordering::SeqCst);
    }
}

fn slow<T>() -> (impl Fn(T) + Send + Sync + 'static, Slow) {
    let (call, called) = channel();
    let gone = Arc::new(AtomicBool::new(false));
    let owned = Owned(gone.clone());
    let callback = move |_| {
        let _owned = &owned;
        let _ = call.send(());
        thread::sleep(Duration::from_millis(50));
    };
    (callback, Slow { called, gone })
}

impl Slow {
    fn until_called(&self) {
        self.called.recv_timeout(LONG).expect("it is called");
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

/// Runs a case in one session, and in two that are linked: the owner of the callback, and the
/// session that causes its calls.
fn here_and_there(case: impl Fn(&Session, &Session)) {
    let session = alone();
    case(&session, &session);
    let (called, acting) = pair();
    case(&called, &acting);
}

/// Puts on another thread, as callbacks of a session run on the thread that puts, until the
/// callback is called.
fn put(session: &Session, key: &'static str, slow: &Slow) {
    let publisher = session.declare_publisher(key).wait().unwrap();
    crate::pair::until_matched(&publisher);
    let session = session.clone();
    let putting = thread::spawn(move || session.put(key, "x").wait().unwrap());
    slow.until_called();
    drop(putting);
}

/// Queries on another thread.
fn ask(session: &Session, key: &'static str, slow: &Slow) {
    until_answered(session, key);
    let session = session.clone();
    thread::spawn(move || drop(session.get(key).wait()));
    slow.until_called();
}

#[test]
fn undeclaring_waits_for_the_callback() {
    here_and_there(|called, acting| {
        let (callback, slow) = self::slow();
        let subscriber = called.declare_subscriber("gone").callback(callback);
        let subscriber = subscriber.wait().unwrap();
        put(acting, "gone", &slow);
        subscriber.undeclare().wait().unwrap();
        assert!(slow.is_gone(), "of a subscriber");

        let (callback, slow) = self::slow();
        let queryable = called.declare_queryable("gone").callback(callback);
        let queryable = queryable.wait().unwrap();
        ask(acting, "gone", &slow);
        async_io::block_on(queryable.undeclare().wait_callbacks().into_future()).unwrap();
        assert!(slow.is_gone(), "of a queryable");

        let (callback, slow) = self::slow();
        let liveliness = called.liveliness();
        let subscriber = liveliness.declare_subscriber("gone").callback(callback);
        let subscriber = subscriber.wait().unwrap();
        let _token = acting.liveliness().declare_token("gone").wait().unwrap();
        slow.until_called();
        subscriber.undeclare().wait().unwrap();
        assert!(slow.is_gone(), "of a liveliness subscriber");
    });
}

#[test]
fn listeners_are_waited_for_by_themselves_or_by_what_they_listen_to() {
    here_and_there(|called, acting| {
        let publisher = called.declare_publisher("gone").wait().unwrap();
        let (callback, slow) = self::slow();
        let listener = publisher.matching_listener().callback(callback);
        let listener = listener.wait().unwrap();
        let subscriber = acting.declare_subscriber("gone").wait().unwrap();
        slow.until_called();
        listener.undeclare().wait().unwrap();
        assert!(slow.is_gone(), "of a matching listener");

        let (callback, slow) = self::slow();
        let listener = publisher.matching_listener().callback(callback);
        listener.background().wait().unwrap();
        slow.until_called();
        publisher.undeclare().wait_callbacks().wait().unwrap();
        assert!(slow.is_gone(), "of one in the background");
        drop(subscriber);
    });
    let session = alone();
    let (callback, slow) = self::slow();
    let listener = session.info().transport_events_listener();
    let listener = listener.callback(callback).wait().unwrap();
    let _other = connected_to(&session, zonda::Config::peer().listen([] as [&str; 0]));
    slow.until_called();
    listener.undeclare().wait().unwrap();
    assert!(slow.is_gone(), "of a listener to connections");
}

#[test]
fn a_querier_can_wait_for_its_gets() {
    here_and_there(|called, acting| {
        let (callback, slow) = self::slow();
        let queryable = acting.declare_queryable("gone").wait().unwrap();
        until_answered(called, "gone");
        let querier = called.declare_querier("gone").wait().unwrap();
        querier.get().callback(callback).wait().unwrap();
        let query = queryable.recv_timeout(LONG).unwrap().unwrap();
        thread::spawn(move || query.reply("gone", "x").wait().unwrap());
        slow.until_called();
        querier.undeclare().wait_callbacks().wait().unwrap();
        assert!(slow.is_gone());
    });
}

#[test]
fn a_session_can_wait_for_all_that_it_calls() {
    let (called, acting) = pair();
    let (callback, published) = self::slow();
    let declared = called.declare_subscriber("gone").callback(callback);
    declared.background().wait().unwrap();
    let (callback, connected) = self::slow();
    let listener = called.info().transport_events_listener().callback(callback);
    listener.history(true).background().wait().unwrap();
    let (callback, asked) = self::slow();
    let queryable = acting.declare_queryable("gone").wait().unwrap();
    until_answered(&called, "gone");
    called.get("gone").callback(callback).wait().unwrap();
    put(&acting, "gone", &published);
    connected.until_called();
    let Ok(()) = called.close().wait_callbacks().wait() else {
        panic!("it is not closed")
    };
    assert!(published.is_gone() && connected.is_gone() && asked.is_gone());
    drop(queryable);
}

#[test]
fn cancelling_waits_for_the_callback() {
    here_and_there(|called, acting| {
        let queryable = acting.declare_queryable("gone").wait().unwrap();
        until_answered(called, "gone");
        let (callback, slow) = self::slow();
        let token = CancellationToken::default();
        let get = called.get("gone").cancellation_token(token.clone());
        get.callback(callback).wait().unwrap();
        let query = queryable.recv_timeout(LONG).unwrap().unwrap();
        thread::spawn(move || query.reply("gone", "x").wait().unwrap());
        slow.until_called();
        token.cancel().wait().unwrap();
        assert!(slow.is_gone(), "of a get");

        let _alive = acting.liveliness().declare_token("gone").wait().unwrap();
        until("the token is known", || {
            let get = called.liveliness().get("gone").wait().unwrap();
            get.iter().any(|reply| reply.result().is_ok())
        });
        let (callback, slow) = self::slow();
        let token = CancellationToken::default();
        let get = called.liveliness().get("gone");
        let get = get.cancellation_token(token.clone());
        get.callback(callback).wait().unwrap();
        slow.until_called();
        async_io::block_on(token.cancel().into_future()).unwrap();
        assert!(slow.is_gone(), "of a question for tokens");
    });
}

#[test]
fn a_queue_that_is_full_keeps_nobody_from_ending() {
    let session = alone();
    let (queue, unread) = flume::bounded(1);
    let subscriber = session.declare_subscriber("gone");
    let subscriber = subscriber.with((queue, unread.clone())).wait().unwrap();
    session.put("gone", "1").wait().unwrap();
    let putting = session.clone();
    let putting = thread::spawn(move || putting.put("gone", "2").wait().unwrap());
    subscriber.undeclare().wait().unwrap();
    drop(unread);
    putting.join().unwrap();
}

#[test]
fn a_cancelled_token_is_refused_and_the_callback_dropped() {
    let session = alone();
    let token = CancellationToken::default();
    token.cancel().wait().unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let handler = || {
        let gone = gone.clone();
        CallbackDrop {
            callback: |_| {},
            drop: move || gone.store(true, Ordering::SeqCst),
        }
    };
    let is_gone = || gone.swap(false, Ordering::SeqCst);
    let get = session.get("gone").cancellation_token(token.clone());
    let refused = get.with(handler()).typed().wait();
    assert_eq!((refused, is_gone()), (Err(GetError::Cancelled), true));
    let querier = session.declare_querier("gone").wait().unwrap();
    let get = querier.get().cancellation_token(token.clone());
    let refused = get.with(handler()).typed().wait();
    assert_eq!((refused, is_gone()), (Err(GetError::Cancelled), true));
    let get = session.liveliness().get("gone").cancellation_token(token);
    let refused = get.with(handler()).typed().wait();
    assert_eq!((refused, is_gone()), (Err(DeclareError::Cancelled), true));
}

#[test]
fn a_callback_waits_for_nobody() {
    let session = alone();
    let (told, ends) = channel();
    let inside = session.clone();
    let subscriber = session.declare_subscriber("gone");
    let subscriber = subscriber.callback(move |_| {
        let Ok(()) = inside.close().wait_callbacks().wait() else {
            panic!("it is not closed")
        };
        told.send(()).unwrap();
    });
    let _subscriber = subscriber.wait().unwrap();
    let _ = session.put("gone", "x").wait();
    assert_eq!(ends.recv_timeout(LONG), Ok(()));
}
