// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of a router: bytes in, the same bytes out, both ways, between two connections.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use super::{announce, is_end};

/// Bytes moved at a time.
const BLOCK: usize = 256 * 1024;

/// Listens twice on `address`, first for the sender (front), then for the receiver (back), and copies
/// between the two until one leaves.
pub fn relay(address: SocketAddr) -> io::Result<()> {
    let front = TcpListener::bind(address)?;
    let back = TcpListener::bind(SocketAddr::new(address.ip(), 0))?;
    announce(&[&front, &back])?;
    let receiver = back.accept()?.0;
    let sender = front.accept()?.0;
    for stream in [&receiver, &sender] {
        stream.set_nodelay(true)?;
    }
    let (answers, asker) = (receiver.try_clone()?, sender.try_clone()?);
    thread::spawn(move || copy(answers, vec![asker]));
    copy(sender, vec![receiver])
}

/// Copies what comes from one connection to all others, until one of them leaves.
pub fn copy(mut from: TcpStream, mut to: Vec<TcpStream>) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        let moved = from.read(&mut block).and_then(|n| {
            for stream in &mut to {
                stream.write_all(&block[..n])?;
            }
            Ok(n)
        });
        match moved {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if is_end(&e) => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}
