// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions on each runtime and from each calling context: plain thread, and inside of tokio's two flavours.

mod pair;

use pair::{LONG, alone, connected_to, until_matched};
use zonda::config::{AnyRuntime, RuntimeKind};
use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};

fn listening() -> Config {
    Config::peer().listen(["tcp/127.0.0.1:0"])
}

#[test]
fn each_kind_of_runtime_serves_a_plain_thread() {
    for kind in RuntimeKind::available() {
        let a = zonda::open(listening().with_runtime(kind)).wait().unwrap();
        let b = connected_to(&a, Config::client([] as [&str; 0]).with_runtime(kind));
        let subscriber = b.declare_subscriber("demo").wait().unwrap();
        let publisher = a.declare_publisher("demo").wait().unwrap();
        until_matched(&publisher);
        publisher.put("hello").wait().unwrap();
        assert!(
            subscriber.recv_timeout(LONG).unwrap().is_some(),
            "nothing on {kind}"
        );
        a.close().wait().unwrap();
    }
}

/// One exchange with `.await` only.
async fn exchange(a: Session, b: Session) {
    let subscriber = b.declare_subscriber("demo/**").await.unwrap();
    let publisher = a
        .declare_publisher("demo/key")
        .congestion_control(CongestionControl::Block)
        .await
        .unwrap();
    while !publisher.matching_status().await.unwrap().matching() {
        tokio::task::yield_now().await;
    }
    let outcome = publisher.put("hello").await.unwrap();
    assert!(matches!(
        outcome,
        zonda::Outcome::Sent | zonda::Outcome::Queued
    ));
    publisher.put_async("again").await.unwrap();
    a.put("demo/other", "third").await.unwrap();
    for expected in ["hello", "again", "third"] {
        let sample = tokio::time::timeout(LONG, subscriber.recv_async())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(sample.payload().try_to_string().unwrap(), expected);
    }
    subscriber.undeclare().await.unwrap();
    publisher.undeclare().await.unwrap();
    b.close().await.unwrap();
    a.close().await.unwrap();
}

async fn both(first: Config, second: Config) -> (Session, Session) {
    let a = zonda::open(first).await.unwrap();
    let address = a.info().locators().remove(0);
    let b = zonda::open(second.connect([&address])).await.unwrap();
    while a.info().links().is_empty() || b.info().links().is_empty() {
        tokio::task::yield_now().await;
    }
    (a, b)
}

#[tokio::test]
async fn a_current_thread_runtime_of_the_application_carries_sessions() {
    let runtime = AnyRuntime::from_tokio(tokio::runtime::Handle::current());
    let client = Config::client([] as [&str; 0]).with_runtime_handle(runtime.clone());
    let (a, b) = both(listening().with_runtime_handle(runtime), client).await;
    tokio::time::timeout(LONG, exchange(a, b)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multi_thread_runtime_of_the_application_carries_sessions() {
    let runtime = AnyRuntime::from_tokio(tokio::runtime::Handle::current());
    let client = Config::client([] as [&str; 0]).with_runtime_handle(runtime.clone());
    let (a, b) = both(listening().with_runtime_handle(runtime), client).await;
    tokio::time::timeout(LONG, exchange(a, b)).await.unwrap();
}

#[tokio::test]
async fn sessions_with_runtimes_of_their_own_are_used_and_dropped_inside_async_code() {
    let (a, b) = both(listening(), Config::client([] as [&str; 0])).await;
    tokio::time::timeout(LONG, exchange(a.clone(), b.clone()))
        .await
        .unwrap();
    drop((a, b));
    // Never closed explicitly: dropped here, on a thread that runs async code.
    let (_a, _b) = both(listening(), Config::client([] as [&str; 0])).await;
}

#[test]
fn opening_inside_of_async_code_with_wait_does_not_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let session = alone();
        session.put("demo", "x").wait().unwrap();
        session.close().wait().unwrap();
    });
}
