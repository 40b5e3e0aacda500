// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks, and the threads they run on.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zonda_runtime::{LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, oneshot};

use super::{Backend, echo, in_task, outcome_of, pair, pattern, within};

pub fn many_tasks_end<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (sender, receiver) = std::sync::mpsc::channel();
    for number in 0..200u32 {
        let (sender, tasks) = (sender.clone(), runtime.clone());
        runtime.spawn("outer", move || async move {
            tasks.spawn("inner", move || async move {
                sender.send(number).expect("the test waits");
            });
        });
    }
    drop(sender);
    let mut numbers: Vec<u32> = (0..200)
        .map(|_| receiver.recv_timeout(super::LONG).expect("each task runs"))
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..200));
}

pub fn a_panicking_task_takes_nobody_along<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.with_threads(1);
    let (mut near, far) = pair();
    let _echoed = outcome_of(&runtime, |runtime| echo(runtime, far));
    for in_make in [true, false] {
        let (dropped, panicked) = oneshot::channel::<()>();
        let tasks = runtime.clone();
        runtime.spawn("panics", move || {
            let dropped = dropped;
            assert!(!in_make, "a panic on purpose");
            async move {
                let _dropped = dropped;
                tasks.precise_sleep(Duration::from_micros(1)).await;
                panic!("a panic on purpose");
            }
        });
        assert_eq!(within(panicked), None);
    }
    near.write_all(b"still there").expect("writable");
    let mut answer = [0; 11];
    near.read_exact(&mut answer).expect("echoed");
    assert_eq!(&answer, b"still there");
    assert_eq!(in_task(&runtime, |_| async { 7 }), 7);
}

pub fn a_busy_peer_does_not_starve_other_tasks<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.with_threads(1);
    let (near, far) = pair();
    let (read_end, write_end) = (far, near);
    let (stop, stopped) = oneshot::channel::<()>();
    // a writer and a reader that are ready all the time, on the one thread
    let sink = outcome_of(&runtime, |runtime| async move {
        let (mut read, _write) = runtime.adopt(read_end.into()).expect("adopted");
        let mut buf = RxBuf::new(65536);
        loop {
            let (result, received) = read.read(buf).await;
            buf = received;
            buf.clear();
            if result.expect("readable") == 0 {
                return;
            }
        }
    });
    let stopping = stop;
    let source = thread::spawn(move || {
        let chunk = pattern(65536);
        let mut end = write_end;
        let mut stopped = stopped;
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        while std::future::Future::poll(std::pin::Pin::new(&mut stopped), &mut context).is_pending()
        {
            end.write_all(&chunk).expect("writable");
        }
    });
    let (near, far) = pair();
    let _echoed = outcome_of(&runtime, |runtime| echo(runtime, far));
    in_task(&runtime, |runtime| async move {
        let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
        for _ in 0..100 {
            write.write_all(&b"ping"[..]).await.0.expect("writable");
            super::read_exactly(&mut read, 4).await;
        }
        runtime.precise_sleep(Duration::from_micros(100)).await;
    });
    drop(stopping);
    source.join().expect("the source ends");
    assert_eq!(within(sink), Some(()));
}

pub fn whoever_yields_lets_the_sockets_be_looked_at<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.with_threads(1);
    let (mut near, far) = pair();
    let heard = Arc::new(AtomicBool::new(false));
    let tell = heard.clone();
    let (started, start) = oneshot::channel();
    let reader = outcome_of(&runtime, |runtime| async move {
        let (mut read, _write) = runtime.adopt(far.into()).expect("adopted");
        started.send(());
        read.read(RxBuf::new(9)).await.0.expect("readable");
        tell.store(true, Ordering::SeqCst);
    });
    assert_eq!(within(start), Some(()));
    let yields = in_task(&runtime, |runtime| async move {
        near.write_all(b"now").expect("writable");
        let mut yields = 0;
        while !heard.load(Ordering::SeqCst) {
            let busy_until = Instant::now() + Duration::from_millis(1);
            while Instant::now() < busy_until {
                std::hint::spin_loop();
            }
            runtime.yield_now().await;
            yields += 1;
        }
        yields
    });
    assert!(yields <= 150, "heard after {yields} ms of work");
    assert_eq!(within(reader), Some(()));
}

pub fn tasks_run_on_named_threads<R: Runtime>(backend: &Backend<R>) {
    if !backend.own_threads {
        return;
    }
    let (runtime, _running) = backend.running();
    let name = in_task(&runtime, |_| async {
        thread::current().name().map(str::to_owned)
    });
    let name = name.expect("the thread has a name");
    assert!(name.starts_with("zonda-"), "{name}");
}

/// Returns the value of one line of a `status` file of `/proc`.
#[cfg(target_os = "linux")]
fn field(status: &str, name: &str) -> Option<String> {
    let mut lines = status.lines().filter_map(|line| line.split_once(":\t"));
    let (_, value) = lines.find(|(found, _)| *found == name)?;
    Some(value.trim().to_owned())
}

/// Returns the number of threads of this process whose name starts with `prefix`.
#[cfg(target_os = "linux")]
pub fn threads_named(prefix: &str) -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux tells");
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("status")).ok())
        .filter(|status| field(status, "Name").is_some_and(|name| name.starts_with(prefix)))
        .count()
}

#[cfg(target_os = "linux")]
pub fn threads_run_on_the_cpus_that_were_asked_for<R: Runtime>(backend: &Backend<R>) {
    if !backend.own_threads {
        return;
    }
    let own_cpus = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("Linux tells");
        field(&status, "Cpus_allowed_list").expect("a line of each status")
    };
    let allowed = own_cpus();
    let first = allowed.split([',', '-']).next().expect("at least one cpu");
    let options = RuntimeOptions {
        threads: Some(2),
        cpus: vec![first.parse().expect("a number")],
        ..RuntimeOptions::default()
    };
    let (runtime, _running) = (backend.start)(&options).expect("a cpu that exists");
    for _ in 0..4 {
        assert_eq!(in_task(&runtime, move |_| async move { own_cpus() }), first);
    }
    assert_eq!(own_cpus(), allowed, "the starting thread stays where it is");
}

#[cfg(not(target_os = "linux"))]
pub fn threads_run_on_the_cpus_that_were_asked_for<R: Runtime>(_backend: &Backend<R>) {}

pub fn a_cpu_that_does_not_exist_is_an_error<R: Runtime>(backend: &Backend<R>) {
    let options = RuntimeOptions {
        cpus: vec![100_000],
        ..RuntimeOptions::default()
    };
    if !backend.own_threads {
        return;
    }
    let error = (backend.start)(&options).map(drop).expect_err("refused");
    let expected = [ErrorKind::InvalidInput, ErrorKind::Unsupported];
    assert!(expected.contains(&error.kind()), "{error}");
}
