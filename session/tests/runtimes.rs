// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions on each runtime, called from each context: opened, used, closed and dropped on a plain thread, inside of
//! async code of every runtime, and in callbacks; on every pair of runtimes; and on runtimes of the application.

mod contexts;
mod pair;

use std::sync::mpsc;
use std::time::Duration;

use contexts::{Context, in_context, in_time};
use pair::{LONG, blocking, connected_to, until, until_matched};
use zonda::config::RuntimeKind;
use zonda::qos::CongestionControl;
use zonda::query::ConsolidationMode;
use zonda::sample::SampleKind;
use zonda::{Config, Outcome, RecvError, Session, Wait};

const NOWHERE: [&str; 0] = [];

fn listening(kind: RuntimeKind) -> Config {
    Config::peer()
        .listen(["tcp/127.0.0.1:0"])
        .with_runtime(kind)
}

fn client(kind: RuntimeKind) -> Config {
    Config::client(NOWHERE).with_runtime(kind)
}

/// Performs every operation with `.await`.
async fn awaited(first: Config, second: Config) {
    let a = zonda::open(first).await.unwrap();
    let address = a.info().locators().remove(0);
    let b = zonda::open(second.connect([&address])).await.unwrap();
    let subscriber = b.declare_subscriber("demo/**").await.unwrap();
    let publisher = a
        .declare_publisher("demo/key")
        .congestion_control(CongestionControl::Block)
        .await
        .unwrap();
    contexts::until("the publisher is matched", || pair::matched(&publisher)).await;
    let outcome = publisher.put("hello").outcome().await.unwrap();
    assert!(matches!(outcome, Outcome::Sent | Outcome::Queued));
    publisher.put_async("again").await.unwrap();
    a.put("demo/other", "third")
        .congestion_control(CongestionControl::Block)
        .await
        .unwrap();
    for expected in ["hello", "again", "third"] {
        let sample = in_time(subscriber.recv_async()).await.unwrap();
        assert_eq!(sample.payload().try_to_string().unwrap(), expected);
    }
    asked_awaiting(&a, &b).await;
    subscriber.undeclare().await.unwrap();
    publisher.undeclare().await.unwrap();
    in_time(async { b.close().await }).await.unwrap();
    contexts::until("the other end knows", || a.info().links().is_empty()).await;
    // Never closed explicitly: dropped here, in async code.
    drop(a);
}

/// Performs every operation of queries with `.await`: a callback answers `a`, a queue and another
/// task `b`.
async fn asked_awaiting(a: &Session, b: &Session) {
    let echo = b
        .declare_queryable("ask/echo")
        .complete(true)
        .callback(|query| {
            let payload = query.payload().cloned().unwrap_or_default();
            query.reply("ask/echo", payload).wait().unwrap();
        });
    let echo = echo.await.unwrap();
    let queue = a.declare_queryable("ask/queue").await.unwrap();
    let (first, second) = (
        a.declare_querier("ask/echo").await.unwrap(),
        b.declare_querier("ask/queue").await.unwrap(),
    );
    for querier in [&first, &second] {
        contexts::until("a queryable is known", || {
            querier.matching_status().wait().unwrap().matching()
        })
        .await;
    }
    let replies = first.get().payload("hello").await.unwrap();
    let reply = in_time(replies.recv_async()).await.unwrap();
    assert_eq!(reply.into_result().unwrap().payload(), &"hello".into());
    assert_eq!(
        in_time(replies.recv_async()).await.err(),
        Some(RecvError::Closed)
    );

    let replies = b.get("ask/queue?n=1").await.unwrap();
    let query = in_time(queue.recv_async()).await.unwrap();
    assert_eq!(query.selector().to_string(), "ask/queue?n=1");
    query.reply("ask/queue", "one").await.unwrap();
    query.reply_err("and an error").await.unwrap();
    drop(query);
    let mut texts = Vec::new();
    while let Ok(reply) = in_time(replies.recv_async()).await {
        texts.push(reply.result().map_or_else(ToString::to_string, |s| {
            s.payload().try_to_string().unwrap().into_owned()
        }));
    }
    assert_eq!(texts, ["and an error", "one"]);

    // The timeout ends it, on the clock of this runtime.
    let replies = b
        .get("ask/queue")
        .timeout(Duration::from_millis(50))
        .await
        .unwrap();
    let reply = in_time(replies.recv_async()).await.unwrap();
    assert_eq!(reply.result().unwrap_err().to_string(), "Timeout");
    assert_eq!(
        in_time(replies.recv_async()).await.err(),
        Some(RecvError::Closed)
    );
    echo.undeclare().await.unwrap();
    queue.undeclare().await.unwrap();
}

/// Performs every operation of queries with `.wait()`.
fn asked_waiting(a: &Session, b: &Session) {
    let queue = b.declare_queryable("ask/**").wait().unwrap();
    let querier = a.declare_querier("ask/it").wait().unwrap();
    until("a queryable is known", || {
        querier.matching_status().wait().unwrap().matching()
    });
    for get in [
        querier.get().payload("p").wait(),
        a.get("ask/it").payload("p").wait(),
    ] {
        let replies = get.unwrap();
        let query = queue.recv_timeout(LONG).unwrap().expect("a query");
        let payload = query.payload().cloned().unwrap_or_default();
        query.reply("ask/it", payload).wait().unwrap();
        drop(query);
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(reply.into_result().unwrap().payload(), &"p".into());
        assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
    }
    let replies = a
        .get("ask/it")
        .timeout(Duration::from_millis(50))
        .wait()
        .unwrap();
    let reply = replies.recv_timeout(LONG).unwrap().expect("an error");
    assert_eq!(reply.result().unwrap_err().to_string(), "Timeout");
    assert_eq!(replies.recv_timeout(LONG).err(), Some(RecvError::Closed));
}

/// Performs every operation with `.wait()`.
fn waited(first: Config, second: Config) {
    let a = zonda::open(first).wait().unwrap();
    let b = connected_to(&a, second);
    let subscriber = b.declare_subscriber("demo/**").wait().unwrap();
    let publisher = a
        .declare_publisher("demo/key")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    publisher.put("hello").wait().unwrap();
    a.put("demo/other", "again")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    for expected in ["hello", "again"] {
        let sample = subscriber.recv_timeout(LONG).unwrap().expect(expected);
        assert_eq!(sample.payload().try_to_string().unwrap(), expected);
    }
    asked_waiting(&a, &b);
    subscriber.undeclare().wait().unwrap();
    publisher.undeclare().wait().unwrap();
    a.close().wait().unwrap();
    until("the other end knows", || b.info().links().is_empty());
    drop(b);
}

fn called_from(context: Context, kind: RuntimeKind) {
    in_context(context, awaited(listening(kind), client(kind)));
    in_context(context, async move {
        waited(listening(kind), client(kind));
    });
}

/// Performs every operation inside of a callback, on a thread that drives the session it belongs
/// to.
fn called_from_a_callback(kind: RuntimeKind) {
    let a = zonda::open(listening(kind)).wait().unwrap();
    let b = connected_to(&a, client(kind));
    let (tell, told) = mpsc::channel();
    let (own, address) = (b.clone(), a.info().locators().remove(0));
    let subscriber = b.declare_subscriber("call").callback(move |_| {
        let inner = own.declare_subscriber("answer").wait().unwrap();
        own.put("answer", "local").wait().unwrap();
        let another = zonda::open(client(kind).connect([&address]))
            .wait()
            .unwrap();
        another.put("nobody", "listens").wait().unwrap();
        another.close().wait().unwrap();
        let answers = own.declare_queryable("ask").callback(|query| {
            query.reply("ask", "local").wait().unwrap();
        });
        let answers = answers.wait().unwrap();
        // Not consolidated: waiting for the end would be waiting for the link that this thread
        // reads.
        let get = own.get("ask").consolidation(ConsolidationMode::None);
        let answer = get.wait().unwrap().recv().unwrap();
        assert_eq!(answer.into_result().unwrap().payload(), &"local".into());
        drop(answers);
        let dropped = zonda::open(listening(kind)).wait().unwrap();
        drop(dropped);
        let heard = inner.try_recv().unwrap().is_some();
        drop(inner);
        // This thread drives the session, so its close message may have to wait for the end of this
        // call.
        let _ = own.close().timeout(Duration::from_millis(300)).wait();
        // The test may be over when a second call ends.
        let _ = tell.send(heard);
    });
    let subscriber = subscriber.wait().unwrap();
    let publisher = a.declare_publisher("call").wait().unwrap();
    until_matched(&publisher);
    publisher.put("now").wait().unwrap();
    assert_eq!(told.recv_timeout(LONG), Ok(true));
    assert_eq!(subscriber.panics(), 0);
    until("it is closed", || {
        b.is_closed() && a.info().links().is_empty()
    });
}

/// Messages in one and in many fragments and small ones in between, as fast as possible; some
/// samples are kept, so that buffers of the dropped ones are reused and theirs must not be.
fn carries_large_messages(kind: RuntimeKind) {
    let a = zonda::open(listening(kind)).wait().unwrap();
    let b = connected_to(&a, client(kind));
    let subscriber = b.declare_subscriber("large").wait().unwrap();
    let publisher = a
        .declare_publisher("large")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    let payload = |index: usize| -> Vec<u8> {
        let size = [70_000, 3_000_000, 8, 600_000, 65_536, 60_000][index % 6];
        (0..size).map(|at| (at * 31 + index) as u8).collect()
    };
    const MESSAGES: usize = 24;
    let sending = std::thread::spawn(move || {
        for index in 0..MESSAGES {
            publisher.put(payload(index)).timeout(LONG).wait().unwrap();
        }
    });
    let mut kept = Vec::new();
    for index in 0..MESSAGES {
        let sample = subscriber.recv_timeout(LONG).unwrap().expect("the payload");
        assert!(sample.payload().to_bytes() == payload(index), "{index}");
        if index % 4 == 1 {
            kept.push((index, sample));
        }
    }
    sending.join().unwrap();
    for (index, sample) in kept {
        assert!(sample.payload().to_bytes() == payload(index), "{index}");
    }
}

/// Declares and drops tokens, gets live ones, and matches a publisher: from tasks of this runtime.
fn tells_who_is_there(kind: RuntimeKind) {
    let a = zonda::open(listening(kind)).wait().unwrap();
    let b = connected_to(&a, client(kind));
    let changes = b.liveliness().declare_subscriber("live/*").history(true);
    let changes = changes.wait().unwrap();
    let token = a.liveliness().declare_token("live/a").wait().unwrap();
    let next = || changes.recv_timeout(LONG).unwrap().expect("a change");
    assert_eq!(next().kind(), SampleKind::Put);
    for session in [&a, &b] {
        let replies = session.liveliness().get("live/**").wait().unwrap();
        let reply = replies.recv_timeout(LONG).unwrap().expect("a reply");
        assert_eq!(reply.into_result().unwrap().key_expr().as_str(), "live/a");
        assert_eq!(replies.recv_timeout(LONG).map(drop), Err(RecvError::Closed));
    }
    let publisher = b.declare_publisher("demo").wait().unwrap();
    let listener = publisher.matching_listener().wait().unwrap();
    let subscriber = a.declare_subscriber("demo").wait().unwrap();
    let status = || listener.recv_timeout(LONG).unwrap().expect("a change");
    assert!(status().matching());
    drop(subscriber);
    assert!(!status().matching());
    // A full queue keeps no other subscriber from its samples.
    let blocked = b.liveliness().declare_subscriber("live/*");
    let blocked = blocked.with(zonda::handlers::FifoChannel::new(1));
    let blocked = blocked.wait().unwrap();
    let tokens: Vec<_> = (0..10)
        .map(|n| a.liveliness().declare_token(format!("live/{n}")).wait())
        .collect();
    for _ in 0..tokens.len() {
        assert_eq!(next().kind(), SampleKind::Put);
    }
    drop(blocked);
    drop(token);
    assert_eq!(next().kind(), SampleKind::Delete);
    a.close().wait().unwrap();
    for _ in 0..tokens.len() {
        assert_eq!(next().kind(), SampleKind::Delete);
    }
}

/// Links this runtime on one end with each other one on the other end.
fn linked_to_each_other_runtime(kind: RuntimeKind) {
    for other in RuntimeKind::available() {
        waited(listening(kind), client(other));
    }
}

macro_rules! matrix {
    ($($(#[$attribute:meta])* $name:ident: $kind:expr,)+) => {
        $(
            $(#[$attribute])*
            mod $name {
                use super::*;

                const KIND: RuntimeKind = $kind;

                #[test]
                fn called_from_a_plain_thread() {
                    called_from(Context::PlainThread, KIND);
                }
                #[test]
                fn called_inside_of_tokio_multi_thread() {
                    called_from(Context::TokioMulti, KIND);
                }
                #[test]
                fn called_inside_of_tokio_current_thread() {
                    called_from(Context::TokioCurrent, KIND);
                }
                #[test]
                fn called_inside_of_smol() {
                    called_from(Context::Smol, KIND);
                }
                #[test]
                fn called_inside_of_async_std() {
                    called_from(Context::AsyncStd, KIND);
                }
                #[test]
                fn called_from_a_callback() {
                    super::called_from_a_callback(KIND);
                }
                #[test]
                fn carries_large_messages() {
                    super::carries_large_messages(KIND);
                }
                #[test]
                fn tells_who_is_there() {
                    super::tells_who_is_there(KIND);
                }
                #[test]
                fn linked_to_each_other_runtime() {
                    super::linked_to_each_other_runtime(KIND);
                }
            }
        )+
    };
}

matrix! {
    #[cfg(feature = "tokio")]
    tokio_multi_thread: RuntimeKind::Tokio,
    #[cfg(feature = "tokio")]
    tokio_current_thread: RuntimeKind::TokioCurrent,
    #[cfg(feature = "smol")]
    smol: RuntimeKind::Smol,
    #[cfg(feature = "async-std")]
    async_std: RuntimeKind::AsyncStd,
    #[cfg(all(feature = "threads", unix))]
    threads: RuntimeKind::Threads,
    #[cfg(all(feature = "uring", target_os = "linux"))]
    uring: RuntimeKind::Uring,
}

/// A session at each end of a link, the first listening, both on a runtime of the application.
#[allow(
    dead_code,
    reason = "some features give an application nothing to hand over"
)]
fn on_the_application_s(runtime: &zonda::config::AnyRuntime) -> (Config, Config) {
    let listening = Config::peer().listen(["tcp/127.0.0.1:0"]);
    (
        listening.with_runtime_handle(runtime.clone()),
        Config::client(NOWHERE).with_runtime_handle(runtime.clone()),
    )
}

#[cfg(feature = "tokio")]
mod application_with_tokio {
    use super::*;
    use zonda::config::AnyRuntime;
    use zonda::{OpenError, Operation};

    #[tokio::test]
    async fn a_current_thread_runtime_carries_sessions() {
        let runtime = AnyRuntime::from_tokio(tokio::runtime::Handle::current());
        let (first, second) = on_the_application_s(&runtime);
        awaited(first, second).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_multi_thread_runtime_carries_sessions() {
        let runtime = AnyRuntime::from_tokio(tokio::runtime::Handle::current());
        let (first, second) = on_the_application_s(&runtime);
        awaited(first, second).await;
    }

    #[test]
    fn a_multi_thread_runtime_is_used_from_elsewhere() {
        let application = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let runtime = AnyRuntime::from_tokio(application.handle().clone());
        for context in [Context::PlainThread, Context::Smol, Context::AsyncStd] {
            let (first, second) = on_the_application_s(&runtime);
            in_context(context, awaited(first, second));
        }
        let (first, second) = on_the_application_s(&runtime);
        waited(first, second);
    }

    #[tokio::test]
    async fn a_wait_that_could_not_end_is_refused() {
        let runtime = AnyRuntime::from_tokio(tokio::runtime::Handle::current());
        let (config, _) = on_the_application_s(&runtime);
        let error = zonda::open(config).wait().unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot start the tokio runtime: wait() on its only thread would wait for itself: use .await"
        );
        // Of all other operations none needs the runtime for its end, but the close, which has a limit.
        let (first, second) = on_the_application_s(&runtime);
        let a = zonda::open(first).await.unwrap();
        let address = a.info().locators().remove(0);
        let b = zonda::open(second.connect([&address])).await.unwrap();
        let subscriber = b.declare_subscriber("demo").wait().unwrap();
        let publisher = a.declare_publisher("demo").wait().unwrap();
        contexts::until("the publisher is matched", || pair::matched(&publisher)).await;
        publisher.put("hello").wait().unwrap();
        let sample = in_time(subscriber.recv_async()).await.unwrap();
        assert_eq!(sample.payload().try_to_string().unwrap(), "hello");
        let _ = a.close().timeout(Duration::from_millis(50)).wait();
        assert!(a.is_closed());
    }

    #[test]
    fn a_runtime_that_is_shut_down_is_refused() {
        let application = tokio::runtime::Runtime::new().unwrap();
        let runtime = AnyRuntime::from_tokio(application.handle().clone());
        drop(application);
        let (config, _) = on_the_application_s(&runtime);
        let error = zonda::open(config).typed().wait().unwrap_err();
        assert!(matches!(error, OpenError::Runtime { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            "cannot start the tokio runtime: the runtime that was handed over is shut down"
        );
    }

    #[test]
    fn a_runtime_that_ends_under_a_session_ends_its_links_and_hangs_nothing() {
        let application = tokio::runtime::Runtime::new().unwrap();
        let runtime = AnyRuntime::from_tokio(application.handle().clone());
        let (config, _) = on_the_application_s(&runtime);
        let a = zonda::open(config).wait().unwrap();
        let b = connected_to(&a, Config::client(NOWHERE));
        let subscriber = b.declare_subscriber("demo").wait().unwrap();
        let publisher = blocking(&a);
        drop(application);
        until("its links are gone", || a.info().links().is_empty());
        for _ in 0..100 {
            publisher.put(vec![7; 100_000]).wait().unwrap();
        }
        drop(a.declare_subscriber("other").wait().unwrap());
        drop(publisher);
        a.close().wait().unwrap();
        until("the other end knows", || b.info().links().is_empty());
        drop(subscriber);
    }
}

#[cfg(feature = "smol")]
mod application_with_smol {
    use super::*;
    use std::sync::Arc;
    use zonda::config::AnyRuntime;

    #[test]
    fn an_executor_on_one_thread_carries_sessions() {
        let executor = Arc::new(async_executor::Executor::new());
        let (first, second) = on_the_application_s(&AnyRuntime::from_smol(executor.clone()));
        async_io::block_on(executor.run(awaited(first, second)));
    }

    #[test]
    fn an_executor_that_nobody_runs_hangs_nothing() {
        let runtime = AnyRuntime::from_smol(Arc::default());
        let (config, _) = on_the_application_s(&runtime);
        let a = zonda::open(config).wait().unwrap();
        let heard = a.declare_subscriber("demo").wait().unwrap();
        a.put("demo", "to itself").wait().unwrap();
        assert!(heard.try_recv().unwrap().is_some());
        a.close().timeout(Duration::from_millis(50)).wait().unwrap();
    }

    #[test]
    fn an_executor_is_used_from_elsewhere() {
        let executor = Arc::new(async_executor::Executor::new());
        let runtime = AnyRuntime::from_smol(executor.clone());
        let (stop, stopped) = zonda_runtime::oneshot::channel::<()>();
        let running = std::thread::spawn(move || async_io::block_on(executor.run(stopped)));
        for context in [Context::PlainThread, Context::TokioMulti, Context::AsyncStd] {
            let (first, second) = on_the_application_s(&runtime);
            in_context(context, awaited(first, second));
        }
        let (first, second) = on_the_application_s(&runtime);
        waited(first, second);
        drop(stop);
        assert_eq!(running.join().unwrap(), None);
    }
}

#[test]
fn a_session_says_what_it_runs_on_when_it_cannot_start() {
    let error = zonda::open(Config::peer().with("runtime_cpus", "[60000]"))
        .wait()
        .unwrap_err()
        .to_string();
    let kind = RuntimeKind::default();
    assert!(
        error.starts_with(&format!("cannot start the {kind} runtime: ")),
        "{error}"
    );
}
