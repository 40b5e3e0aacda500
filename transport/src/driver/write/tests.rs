// SPDX-License-Identifier: MIT OR Apache-2.0
//! The writing task against a socket that takes nothing for a while.

use std::future::ready;

use zonda_codec::{Priority, Push, PushBody, Put, Reliability, WhatAmI, WireExpr};
use zonda_runtime::{RuntimeOptions, Segments, TokioRuntime};

use super::*;
use crate::protocol::{
    parameters::Established,
    tx::{Outgoing, Tail},
};

/// Looks of the writing task at the socket before that takes what it was given.
const LOOKS: u32 = 20;

/// A socket that is full until it was looked at a number of times.
#[derive(Default)]
struct Slow {
    looks: u32,
    writes: u32,
}

impl LinkWrite for Slow {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        self.writes += 1;
        poll_fn(|_| {
            self.looks += 1;
            match self.looks < LOOKS {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        (Ok(()), segments)
    }

    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }

    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

/// Nothing but the timer makes the task look again, so the socket is full for as many keep-alive intervals.
#[test]
fn no_keep_alive_waits_for_a_full_socket() {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let established = Established {
        zid: "a1".parse().expect("a valid id"),
        whatami: WhatAmI::Router,
        batch_size: 65535,
        sn_mask: 0x0fff_ffff,
        qos: true,
        patch: 1,
        remote_lease: Duration::from_secs(60),
        initial_sn_tx: 0,
        initial_sn_rx: 0,
        options: Default::default(),
    };
    let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
    let lease = Duration::from_millis(4);
    let timers = Timers::new(Instant::now(), lease, 4, established.remote_lease);
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(b"x")));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    outbox
        .push(Priority::Data, &message)
        .expect("there is room");
    outbox.note_received(Instant::now());
    let mut writing = Writing::new(runtime.clone(), Arc::clone(&outbox), timers);
    let mut socket = Slow::default();
    let drained = runtime.block_on(writing.drain(&mut socket));
    assert!(drained.is_ok());
    assert_eq!(
        (socket.looks, socket.writes, outbox.queued_bytes()),
        (LOOKS, 1, 0),
        "what was queued went out, and nothing had come to it"
    );
}
