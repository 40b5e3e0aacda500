// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages in any spelling, as choices make them.

use zonda_codec::{NetworkMessage, Reader, ScoutingMessage, TransportMessage};

use crate::checks;
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
