// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of a router: copies bytes in both directions between two connections.

use std::io::{self, Read, Write};
use std::thread;

use super::wire::{LinkMaterial, Place, Wire};
use super::{announce, is_end};

/// Bytes per read and write.
const BLOCK: usize = 256 * 1024;

/// Listens on a place and on a second one of the same kind, first for the sender (front), then for
/// the receiver (back), and copies between the two until one leaves.
pub fn relay(place: &Place, means: &LinkMaterial) -> io::Result<()> {
    let front = means.listen(place)?;
    let back = means.listen(&place.beside())?;
    announce(&[&front, &back])?;
    let receiver = back.accept()?;
    let sender = front.accept()?;
    let (to_receiver, to_sender) = (receiver.writer()?, sender.writer()?);
    thread::spawn(move || copy(receiver, vec![to_sender]));
    copy(sender, vec![to_receiver])
}

/// Copies bytes from one connection to several ones, until a peer leaves.
pub fn copy(mut from: Wire, mut to: Vec<Wire>) -> io::Result<()> {
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
