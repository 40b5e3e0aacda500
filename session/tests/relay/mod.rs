// SPDX-License-Identifier: MIT OR Apache-2.0

#![allow(dead_code, reason = "no test program uses all of it")]

//! A connection that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A relay that forwards connections to another endpoint until it is asked to cut them.
pub struct Relay {
    pub endpoint: String,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

/// State of what a relay passes on.
#[derive(Default)]
pub struct Passing {
    bytes: AtomicU64,
    is_paused: AtomicBool,
    refuses: AtomicBool,
}

impl Relay {
    /// Opens a relay to this endpoint, on a port of its own.
    pub fn to(target: &str) -> Relay {
        Relay::with(target, &Arc::default())
    }

    /// Opens a relay like [`Relay::to`], which shares its state with the caller.
    pub fn with(target: &str, passing: &Arc<Passing>) -> Relay {
        let target = target.strip_prefix("tcp/").expect("tcp").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("tcp/{}", listener.local_addr().expect("bound"));
        let sockets: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = Arc::clone(&sockets);
        let shared = Arc::clone(passing);
        thread::spawn(move || {
            for incoming in listener.incoming() {
                let Ok(near) = incoming else { return };
                if shared.refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                // before anything passes: what has passed can be cut
                let both = [&near, &far].map(|end| end.try_clone().expect("a descriptor"));
                kept.lock().expect("no panic").extend(both);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let mut from = from.try_clone().expect("a descriptor");
                    let mut to = to.try_clone().expect("a descriptor");
                    let passing = Arc::clone(&shared);
                    thread::spawn(move || {
                        let mut block = vec![0; 65_536];
                        while let Ok(count @ 1..) = from.read(&mut block) {
                            while passing.is_paused.load(Ordering::SeqCst) {
                                thread::park_timeout(Duration::from_millis(1));
                            }
                            passing.bytes.fetch_add(count as u64, Ordering::SeqCst);
                            if to.write_all(&block[..count]).is_err() {
                                break;
                            }
                        }
                        // the other direction may have been shut down already
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Relay { endpoint, sockets }
    }

    /// Breaks every current connection; new ones may follow.
    pub fn cut(&self) {
        for socket in self.sockets.lock().expect("no panic").drain(..) {
            // it may be gone already
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(feature = "multilink")]
impl Passing {
    /// Returns the bytes that have passed, in both directions.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::SeqCst)
    }

    /// Stops to pass bytes on, or continues.
    pub fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::SeqCst);
    }

    /// Closes new connections at once, or accepts them again.
    pub fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::SeqCst);
    }
}
