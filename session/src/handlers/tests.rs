// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of the handlers alone: order, bounds, counters, waiting and ending.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::*;

impl Stored for u32 {}

/// Limit that no working test exceeds.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_fifo_keeps_the_order_and_ends_after_its_last_value() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(FifoChannel::new(8));
    for n in 0..5 {
        callback.call(n);
    }
    assert_eq!((handler.len(), handler.capacity()), (5, 8));
    assert_eq!(handler.recv(), Ok(0));
    assert_eq!(handler.try_recv(), Ok(Some(1)));
    assert_eq!(handler.recv_timeout(LONG), Ok(Some(2)));
    drop(callback);
    assert_eq!((&handler).into_iter().collect::<Vec<_>>(), [3, 4]);
    assert_eq!(handler.recv(), Err(RecvError::Closed));
    assert_eq!(handler.try_recv(), Err(RecvError::Closed));
    assert_eq!(handler.recv_timeout(LONG), Err(RecvError::Closed));
}

#[test]
fn a_fifo_tells_whether_it_is_full_and_whether_more_can_come() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(FifoChannel::new(2));
    callback.call(1);
    assert!(!handler.is_full() && !handler.is_disconnected());
    callback.call(2);
    assert!(handler.is_full());
    drop(callback);
    assert!(handler.is_disconnected());
    assert_eq!(handler.into_iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_full_fifo_waits_until_there_is_room_and_loses_nothing() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(FifoChannel::new(1));
    let writer = thread::spawn(move || (0..100).for_each(|n| callback.call(n)));
    assert_eq!(
        handler.iter().collect::<Vec<_>>(),
        (0..100).collect::<Vec<_>>()
    );
    assert_eq!(handler.dropped(), 0);
    writer.join().unwrap();
}

#[test]
fn a_waiting_writer_is_released_when_the_reader_goes() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(FifoChannel::new(1));
    let writer = thread::spawn(move || (0..100).for_each(|n| callback.call(n)));
    assert_eq!(handler.recv(), Ok(0));
    drop(handler);
    writer.join().unwrap();
}

#[test]
fn a_lossy_fifo_counts_what_it_drops() {
    for policy in [
        Overflow::DropNewest,
        Overflow::WaitAtMost(Duration::from_millis(1)),
    ] {
        let channel = FifoChannel::new(2).overflow(policy);
        let (callback, handler) = IntoHandler::<u32>::into_handler(channel);
        for n in 0..5 {
            callback.call(n);
        }
        assert_eq!(handler.try_iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(handler.dropped(), 3);
    }
}

#[test]
fn a_ring_keeps_the_latest_and_counts_the_rest() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(RingChannel::new(3));
    for n in 0..10 {
        callback.call(n);
    }
    assert_eq!(
        (handler.len(), handler.dropped(), handler.capacity()),
        (3, 7, 3)
    );
    assert_eq!(handler.recv(), Ok(7));
    assert_eq!(handler.try_iter().collect::<Vec<_>>(), [8, 9]);
    assert_eq!(handler.try_recv(), Ok(None));
    assert_eq!(handler.recv_timeout(Duration::from_millis(1)), Ok(None));
    drop(callback);
    assert_eq!(handler.recv(), Err(RecvError::Closed));
    assert_eq!(handler.recv_timeout(LONG), Err(RecvError::Closed));
}

#[test]
fn every_reader_that_waits_at_a_ring_gets_a_value_or_the_end() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(RingChannel::new(16));
    let handler = Arc::new(handler);
    let readers: Vec<_> = (0..4)
        .map(|i| {
            let handler = handler.clone();
            thread::spawn(move || match i % 2 {
                0 => handler.iter().count(),
                _ => zonda_runtime::block_on(async {
                    let mut count = 0;
                    while handler.recv_async().await.is_ok() {
                        count += 1;
                    }
                    count
                }),
            })
        })
        .collect();
    let mut sent: u64 = 0;
    while sent < 1000 {
        callback.call(1);
        sent += 1;
    }
    drop(callback);
    let received: usize = readers.into_iter().map(|r| r.join().unwrap()).sum();
    assert_eq!(received as u64 + handler.dropped(), sent);
}

#[test]
fn a_late_value_wakes_a_reader_with_a_deadline() {
    let (callback, handler) = IntoHandler::<u32>::into_handler(RingChannel::default());
    let reader = thread::spawn(move || handler.recv_deadline(Instant::now() + LONG));
    callback.call(5);
    assert_eq!(reader.join().unwrap(), Ok(Some(5)));
}

#[test]
fn the_end_of_a_callback_is_told_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let ends = Arc::new(AtomicUsize::new(0));
    let (in_call, in_end) = (calls.clone(), ends.clone());
    let handler = CallbackDrop {
        callback: move |n: u32| {
            in_call.fetch_add(n as usize, Ordering::Relaxed);
        },
        drop: move || {
            in_end.fetch_add(1, Ordering::Relaxed);
        },
    };
    let (callback, ()) = handler.into_handler();
    let second = callback.clone();
    callback.call(2);
    drop(callback);
    assert_eq!(ends.load(Ordering::Relaxed), 0);
    second.call(3);
    drop(second);
    assert_eq!(
        (calls.load(Ordering::Relaxed), ends.load(Ordering::Relaxed)),
        (5, 1)
    );
}

#[cfg(feature = "flume-0-11")]
#[test]
fn channels_of_flume_0_11_work_as_handlers() {
    let (callback, receiver) = IntoHandler::<u32>::into_handler(flume_0_11::bounded(1));
    callback.call(1);
    assert_eq!(receiver.recv(), Ok(1));
    drop(receiver);
    callback.call(2);
    let (patient, receiver) = IntoHandler::<u32>::into_patient(flume_0_11::bounded(1));
    assert!(patient.call(3).is_none());
    assert!(patient.call(4).is_some(), "a full channel is waited for");
    assert_eq!(receiver.recv(), Ok(3));
}

#[test]
fn foreign_channels_work_as_handlers() {
    let (callback, receiver) = IntoHandler::<u32>::into_handler(flume::unbounded());
    callback.call(1);
    assert_eq!(receiver.recv(), Ok(1));
    let (callback, receiver) = IntoHandler::<u32>::into_handler(std::sync::mpsc::sync_channel(1));
    callback.call(2);
    assert_eq!(receiver.recv(), Ok(2));
    drop(receiver);
    callback.call(3);
}
