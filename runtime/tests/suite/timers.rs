// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks and timers.

use std::future::pending;
use std::time::{Duration, Instant};

use zonda_runtime::{PreciseTimer, Runtime};

use super::{Backend, in_task, within};

async fn waits<R: Runtime>(runtime: R) {
    let mut timer = runtime.precise_timer();
    for micros in [0, 1, 50, 1000] {
        timer.wait(Duration::from_micros(micros)).await;
    }
    // a cancelled wait leaves the timer usable
    let long = timer.wait(Duration::from_secs(3600));
    assert!(runtime.timeout_at(Instant::now(), long).await.is_none());
    timer.wait(Duration::from_micros(10)).await;
    runtime.precise_sleep(Duration::from_micros(10)).await;
    let deadline = Instant::now() + Duration::from_millis(1);
    runtime.sleep_until(deadline).await;
    assert!(Instant::now() >= deadline, "woken early");
    let never = runtime.timeout_at(Instant::now(), pending::<()>());
    assert_eq!(never.await, None);
    let at_once = runtime.timeout_at(Instant::now(), async { 7 });
    assert_eq!(at_once.await, Some(7));
}

pub fn timers_complete_and_timeouts_end_a_wait<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    // on a thread without runtime, and in a task
    within(waits(runtime.clone()));
    in_task(&runtime, waits);
}

pub fn short_waits_are_precise<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let wait = Duration::from_micros(200);
    let mut late = in_task(&runtime, move |runtime| async move {
        let mut timer = runtime.precise_timer();
        let mut late = Vec::new();
        for _ in 0..50 {
            let began = Instant::now();
            timer.wait(wait).await;
            late.push(began.elapsed().checked_sub(wait).expect("never early"));
        }
        late
    });
    late.sort_unstable();
    // Checks a quarter of the waits, since a busy machine delays the rest. A timer that counts
    // milliseconds delays all of them.
    assert!(
        late[late.len() / 4] < Duration::from_micros(700),
        "{late:?}"
    );
}

pub fn a_sleep_of_the_past_and_of_the_far_future<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let now = Instant::now();
    let past = now.checked_sub(Duration::from_millis(5)).unwrap_or(now);
    in_task(&runtime, move |runtime| async move {
        runtime.sleep_until(past).await;
        let far = runtime.sleep_until(Instant::now() + Duration::from_secs(3_000_000_000));
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(runtime.timeout_at(soon, far).await, None);
    });
}
