// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages in any spelling, as choices make them.

use std::cell::RefCell;

use zonda_codec::{NetworkMessage, Reader, ScoutingMessage, TransportMessage};

use crate::checks;
use crate::forwarding::Scene;
use crate::spelling::Speller;

/// Checks one message. A message that every node must understand decodes.
pub fn spelled(choices: &[u8]) {
    let Some((&kind, choices)) = choices.split_first() else {
        return;
    };
    // The first byte chooses the kind of message, and legal or lying spelling.
    let mut speller = match kind & 0x80 {
        0 => Speller::legal(choices),
        _ => Speller::lying(choices),
    };
    match kind & 3 {
        0 => speller.transport(),
        1 => speller.scouting(),
        _ => speller.network(),
    }
    let bytes = speller.take();
    // The message is checked as any bytes are, and legal ones must decode.
    let mut reader = Reader::new(&bytes);
    let is_read = match kind & 3 {
        0 => {
            checks::transport(&bytes);
            TransportMessage::decode(&mut reader).is_ok()
        }
        1 => {
            checks::scouting(&bytes);
            ScoutingMessage::decode(&mut reader).is_ok()
        }
        _ => {
            checks::network(&bytes);
            NetworkMessage::decode(&mut reader).is_ok()
        }
    };
    assert!(is_read || kind & 0x80 != 0, "{bytes:02x?}");
}

thread_local! {
    static PLAIN: RefCell<Scene> = RefCell::new(Scene::new(false));
    static STAMPING: RefCell<Scene> = RefCell::new(Scene::new(true));
}

/// Passes a row of messages through a router that stamps messages, or through one that does not.
pub fn forwarding(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    let mut speller = match kind & 2 {
        0 => Speller::legal(data),
        _ => Speller::lying(data),
    };
    let row = match kind & 0x0c {
        0 => data.to_vec(),
        4 => {
            speller.pushes(usize::from(kind >> 4));
            speller.take()
        }
        _ => {
            speller.alike(3 * usize::from(kind >> 4));
            speller.take()
        }
    };
    let scene = if kind & 1 == 0 { &PLAIN } else { &STAMPING };
    scene.with_borrow_mut(|scene| scene.check(&row, |_| {}));
}
