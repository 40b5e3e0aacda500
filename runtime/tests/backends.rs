// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every compiled-in backend against the shared suite, and tests particular to each.
#![forbid(unsafe_code)]
#![cfg(any(
    feature = "tokio",
    feature = "smol",
    feature = "async-std",
    feature = "threads",
    feature = "uring"
))]

#[macro_use]
mod suite;

use std::io;

use suite::{Backend, Running};
use zonda_runtime::{AnyRuntime, RuntimeKind, RuntimeOptions};

/// Returns a runtime that needs no other value to keep it running.
#[allow(dead_code)]
fn alone<R>(runtime: io::Result<R>) -> io::Result<Running<R>> {
    Ok((runtime?, Box::new(())))
}

/// Returns the options with a busy poll that is longer than most waits of these tests.
#[allow(dead_code)]
fn busy(options: &RuntimeOptions) -> RuntimeOptions {
    RuntimeOptions {
        spin: std::time::Duration::from_millis(2),
        ..options.clone()
    }
}

suite! {
    #[cfg(feature = "tokio")]
    tokio_multi_thread: Backend {
        start: |options| alone(zonda_runtime::TokioRuntime::start_multi_thread(options)),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "tokio")]
    tokio_current_thread: Backend {
        start: |options| alone(zonda_runtime::TokioRuntime::start_current_thread(options)),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "tokio")]
    tokio_of_the_application: Backend {
        start: |_| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let application = builder.worker_threads(1).enable_all().build()?;
            let runtime = zonda_runtime::TokioRuntime::from_handle(application.handle().clone());
            Ok((runtime, Box::new(application)))
        },
        own_threads: false,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "smol")]
    smol: Backend {
        start: |options| alone(zonda_runtime::SmolRuntime::start(options)),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "smol")]
    smol_of_the_application: Backend {
        start: |_| {
            let executor = std::sync::Arc::new(async_executor::Executor::new());
            let (stop, stopped) = zonda_runtime::oneshot::channel::<()>();
            let running = executor.clone();
            std::thread::spawn(move || async_io::block_on(running.run(stopped)));
            Ok((zonda_runtime::SmolRuntime::from_executor(executor), Box::new(stop)))
        },
        own_threads: false,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "async-std")]
    async_std: Backend {
        start: |options| alone(zonda_runtime::AsyncStdRuntime::start(options)),
        own_threads: false,
        ends_tasks: false,
    }
}

suite! {
    #[cfg(all(feature = "threads", unix))]
    threads: Backend {
        start: |options| alone(zonda_runtime::ThreadsRuntime::start(options)),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(feature = "tokio")]
    tokio_current_thread_with_a_busy_poll: Backend {
        start: |options| alone(zonda_runtime::TokioRuntime::start_current_thread(&busy(options))),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(all(feature = "threads", unix))]
    threads_with_a_busy_poll: Backend {
        start: |options| alone(zonda_runtime::ThreadsRuntime::start(&busy(options))),
        own_threads: true,
        ends_tasks: true,
    }
}

suite! {
    #[cfg(all(feature = "uring", target_os = "linux"))]
    uring: Backend {
        start: |options| alone(zonda_runtime::UringRuntime::start(options)),
        own_threads: true,
        ends_tasks: true,
    }
}

#[cfg(feature = "tokio")]
#[test]
fn an_application_that_drops_its_tokio_runtime_first_meets_no_panic() {
    use std::future::pending;
    use std::time::{Duration, Instant};
    use suite::{pair, pattern, within};
    use zonda_runtime::{LinkRead, LinkWrite, PreciseTimer, Runtime, RxBuf, TokioRuntime};

    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let application = builder.enable_all().build().expect("a runtime");
    let runtime = TokioRuntime::from_handle(application.handle().clone());
    let (near, _far) = pair();
    let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
    let mut timer = runtime.precise_timer();
    let sleep = runtime.sleep_until(Instant::now() + Duration::from_secs(3600));
    assert!(!runtime.is_shut_down());
    application.shutdown_background();
    // its threads notice the shutdown one after the other
    let deadline = Instant::now() + suite::LONG;
    while !runtime.is_shut_down() {
        assert!(Instant::now() < deadline, "taken for running");
        std::thread::yield_now();
    }
    within(sleep);
    within(timer.wait(Duration::from_secs(3600)));
    within(runtime.sleep_until(Instant::now() + Duration::from_secs(3600)));
    runtime.spawn("never", pending);
    let (result, _) = within(read.read(RxBuf::new(10)));
    assert!(result.is_err());
    drop(within(write.write_all(vec![pattern(10)])));
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    assert!(within(runtime.connect(suite::internet_socket(), nowhere)).is_err());
}

#[cfg(feature = "tokio")]
#[test]
fn a_tokio_runtime_that_is_not_running_is_not_taken_for_one_that_is_shut_down() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    let any = AnyRuntime::from_tokio(runtime.handle().clone());
    assert!(!any.is_shut_down());
    drop(runtime);
    assert!(any.is_shut_down());
}

#[cfg(feature = "smol")]
#[test]
fn an_executor_that_nobody_runs_holds_up_its_tasks_only() {
    use std::time::{Duration, Instant};
    use suite::{outcome_of, within};
    use zonda_runtime::{Runtime, SmolRuntime};

    let runtime = SmolRuntime::from_executor(Default::default());
    let mut outcome = outcome_of(&runtime, |_| async {});
    let soon = Instant::now() + Duration::from_millis(5);
    assert_eq!(within(runtime.timeout_at(soon, &mut outcome)), None);
    // the task was waiting: it runs as soon as this thread runs the executor
    let executor = runtime.executor().clone();
    assert_eq!(within(executor.run(outcome)), Some(()));
}

#[cfg(feature = "async-std")]
#[test]
fn the_threads_of_async_std_are_not_placed() {
    let options = RuntimeOptions {
        cpus: vec![0],
        ..RuntimeOptions::default()
    };
    let error = AnyRuntime::start(RuntimeKind::AsyncStd, &options).expect_err("refused");
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn kinds_are_chosen_by_name_and_the_first_is_the_default() {
    assert_eq!(
        RuntimeKind::available().next(),
        Some(RuntimeKind::default())
    );
    for kind in RuntimeKind::available() {
        assert_eq!(kind.name().parse(), Ok(kind));
        let options = RuntimeOptions {
            threads: Some(1),
            ..RuntimeOptions::default()
        };
        let runtime = AnyRuntime::start(kind, &options).expect("started");
        assert_eq!(runtime.block_on(async { 1 }), 1);
    }
    let unknown = "fibers".parse::<RuntimeKind>().expect_err("no such kind");
    let names = RuntimeKind::available_names();
    let text = format!("runtime \"fibers\" is unknown or not compiled in (compiled in: {names})");
    assert_eq!(unknown.to_string(), text);
}
