// SPDX-License-Identifier: MIT OR Apache-2.0

//! A proxy between two sessions that can hold and cut the connection.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::pair::{alone, blocking};
use zonda::bytes::ZBytes;
use zonda::{Config, Session, Wait};

/// State of the direction to the listening session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Held,
    Cut,
}

/// Forwards one connection.
pub struct Proxy {
    address: SocketAddr,
    gate: Arc<(Mutex<Gate>, Condvar)>,
    ends: Arc<Mutex<Vec<TcpStream>>>,
    /// Bytes that came for the listening session, up to [`SEEN_BYTES_MAX`].
    seen: Arc<Mutex<Vec<u8>>>,
}

/// Limit of the bytes of a stream that are kept for inspection.
const SEEN_BYTES_MAX: usize = 1 << 20;

impl Proxy {
    /// Opens a proxy before `target`, for one connection.
    pub fn before(target: &str) -> Proxy {
        let target = target.trim_start_matches("tcp/").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            address: listener.local_addr().unwrap(),
            gate: Arc::new((Mutex::new(Gate::Open), Condvar::new())),
            ends: Arc::default(),
            seen: Arc::default(),
        };
        let (gate, ends, seen) = (proxy.gate.clone(), proxy.ends.clone(), proxy.seen.clone());
        thread::spawn(move || {
            let (near, _) = listener.accept().unwrap();
            let far = TcpStream::connect(target).unwrap();
            for end in [&near, &far] {
                end.set_nodelay(true).unwrap();
                ends.lock().unwrap().push(end.try_clone().unwrap());
            }
            let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
            thread::spawn(move || pass(back.0, back.1, |_| true));
            pass(near, far, |bytes| {
                let mut seen = seen.lock().unwrap();
                if seen.len() + bytes.len() <= SEEN_BYTES_MAX {
                    seen.extend_from_slice(bytes);
                }
                drop(seen);
                let (state, changed) = &*gate;
                let held = |gate: &mut Gate| *gate == Gate::Held;
                let state = changed.wait_while(state.lock().unwrap(), held).unwrap();
                *state == Gate::Open
            });
        });
        proxy
    }

    /// Returns the endpoint to connect to.
    pub fn endpoint(&self) -> String {
        format!("tcp/{}", self.address)
    }

    /// Returns the batches that came for the listening session, without their length prefixes.
    pub fn batches(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().unwrap();
        let mut batches = Vec::new();
        let mut left = &seen[..];
        while let Some((prefix, rest)) = left.split_first_chunk::<2>() {
            let length = usize::from(u16::from_le_bytes(*prefix));
            let Some((batch, rest)) = rest.split_at_checked(length) else {
                break;
            };
            batches.push(batch.to_vec());
            left = rest;
        }
        batches
    }

    /// Holds the messages to the listening session; messages from it pass.
    pub fn hold(&self) {
        self.set(Gate::Held);
    }

    /// Releases the held messages, and passes new ones.
    pub fn release(&self) {
        self.set(Gate::Open);
    }

    /// Cuts the connection.
    pub fn cut(&self) {
        self.set(Gate::Cut);
        for end in self.ends.lock().unwrap().drain(..) {
            // one that is gone already needs no cut
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn set(&self, gate: Gate) {
        *self.gate.0.lock().unwrap() = gate;
        self.gate.1.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !may_pass(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

/// Opens a session of this configuration, a peer that it has connected to, and a held proxy between
/// them; the session has queued as much for the peer as it may.
pub fn held_up(config: Config) -> (Session, Session, Proxy) {
    let peer = alone();
    let proxy = Proxy::before(peer.info().locators().remove(0).as_ref());
    let config = config.listen([] as [&str; 0]);
    let session = zonda::open(config.connect([&proxy.endpoint()]));
    let session = session.wait().unwrap();
    let subscriber = peer.declare_subscriber("demo").callback(|_| {});
    subscriber.background().wait().unwrap();
    let publisher = blocking(&session);
    proxy.hold();
    let payload = ZBytes::from(vec![0; 1 << 18]);
    let put = || publisher.put(&payload).timeout(Duration::from_millis(50));
    while put().wait().is_ok() {}
    (session, peer, proxy)
}
