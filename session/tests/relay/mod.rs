// SPDX-License-Identifier: MIT OR Apache-2.0

//! A connection that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A relay that forwards connections to another endpoint until it is asked to cut them.
pub struct Relay {
    pub endpoint: String,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// Opens a relay to this endpoint, on a port of its own.
    pub fn to(target: &str) -> Relay {
        let target = target.strip_prefix("tcp/").expect("tcp").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("tcp/{}", listener.local_addr().expect("bound"));
        let sockets: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = Arc::clone(&sockets);
        thread::spawn(move || {
            for incoming in listener.incoming() {
                let Ok(near) = incoming else { return };
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                // before anything passes: what has passed can be cut
                let both = [&near, &far].map(|end| end.try_clone().expect("a descriptor"));
                kept.lock().expect("no panic").extend(both);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let mut from = from.try_clone().expect("a descriptor");
                    let mut to = to.try_clone().expect("a descriptor");
                    thread::spawn(move || {
                        let mut block = vec![0; 65_536];
                        while let Ok(count @ 1..) = from.read(&mut block) {
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
