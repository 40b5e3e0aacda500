// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a runtime.

use std::future::pending;
use std::time::Instant;

use zonda_runtime::{Runtime, RuntimeOptions, oneshot};

use super::contexts::{CONTEXTS, in_context};
use super::{Backend, LONG, in_task, within};

pub fn dropping_inside_of_async_code_neither_panics_nor_blocks<R: Runtime>(backend: &Backend<R>) {
    for context in CONTEXTS {
        let (victim, _running) = backend.running();
        victim.spawn("endless", pending);
        in_context(context, async move { drop(victim) });
    }
}

pub fn the_last_clone_dropped_in_an_own_task<R: Runtime>(backend: &Backend<R>) {
    let (victim, _running) = backend.running();
    let tasks = victim.clone();
    let (start, started) = oneshot::channel::<()>();
    let (done, outcome) = oneshot::channel();
    victim.spawn("last", move || async move {
        started.await;
        drop(tasks);
        done.send(());
    });
    drop(victim);
    start.send(());
    assert_eq!(within(outcome), Some(()));
}

pub fn dropping_the_runtime_drops_its_tasks<R: Runtime>(backend: &Backend<R>) {
    if !backend.ends_tasks {
        return;
    }
    let (runtime, running) = backend.running();
    let (held, dropped) = oneshot::channel::<()>();
    let (start, started) = oneshot::channel();
    runtime.spawn("endless", move || async move {
        let _held = held;
        start.send(());
        pending::<()>().await;
    });
    assert_eq!(within(started), Some(()));
    drop((runtime, running));
    assert_eq!(within(dropped), None);
}

#[cfg(target_os = "linux")]
pub fn dropping_the_runtime_ends_its_threads<R: Runtime>(backend: &Backend<R>) {
    if !backend.own_threads {
        return;
    }
    let options = RuntimeOptions {
        threads: Some(2),
        thread_name: "brief".to_owned(),
        ..RuntimeOptions::default()
    };
    let (runtime, _running) = (backend.start)(&options).expect("a runtime");
    runtime.spawn("brief", pending);
    in_task(&runtime, |_| async {});
    drop(runtime);
    let deadline = Instant::now() + LONG;
    while super::tasks::threads_named("brief") > 0 {
        assert!(Instant::now() < deadline, "threads stay");
        std::thread::yield_now();
    }
}

#[cfg(not(target_os = "linux"))]
pub fn dropping_the_runtime_ends_its_threads<R: Runtime>(_backend: &Backend<R>) {}
