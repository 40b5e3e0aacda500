// SPDX-License-Identifier: MIT OR Apache-2.0
//! Agreement of two nodes on a link: the opener's and the acceptor's half of the four messages.
//!
//! ```text
//! Opener                                        Acceptor
//!   start         InitSyn  parameters   ------->  handle_batch
//!   handle_batch  <-------  InitAck  agreed parameters, cookie
//!                 OpenSyn  cookie, lease ------>  handle_batch -> Admit
//!   handle_batch  <-------  OpenAck  lease         admit (or refuse)
//! ```
//! Both halves are plain functions of the batches that arrive; the driver moves the bytes, bounds
//! the time of each step ([`STEP_TIMEOUT`]) and sends the content of `out`, also after an error:
//! `out` may then hold the Close that reports the reason to the peer.
//!
//! ```
//! use std::sync::Arc;
//! use zonda_codec::WhatAmI;
//! use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey, OpenStep, Opener};
//! use zonda_transport::protocol::parameters::LocalParameters;
//!
//! let mut opener = Opener::new(LocalParameters::new("c5".parse()?, WhatAmI::Client), None);
//! let router = LocalParameters::new("a1".parse()?, WhatAmI::Router);
//! let mut acceptor = Acceptor::new(router, Arc::new(CookieKey::new([7; 32])));
//! let (mut forth, mut back) = (Vec::new(), Vec::new());
//!
//! opener.start(&mut forth);
//! assert_eq!(acceptor.handle_batch(&forth, &mut back)?, AcceptStep::Continue);
//! assert_eq!(opener.handle_batch(&back, &mut forth)?, OpenStep::Continue);
//! let AcceptStep::Admit(client) = acceptor.handle_batch(&forth, &mut back)? else { panic!() };
//! acceptor.admit(&mut back);
//! let OpenStep::Done(router) = opener.handle_batch(&back, &mut forth)? else { panic!() };
//! assert_eq!(router.initial_sn_tx, client.initial_sn_rx);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

use zonda_codec::{Close, Encode, QosLink, Reader, TransportMessage};

mod accept;
mod cookie;
mod error;
mod open;
mod password;

pub use accept::{AcceptStep, Acceptor};
pub use cookie::CookieKey;
pub use error::{HandshakeError, Step};
pub use open::{OpenStep, Opener};
pub use password::AuthProblem;

/// Time for which either side waits for each message of a handshake.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Decodes the one message a handshake batch holds.
fn decode(batch: &[u8], step: Step) -> Result<TransportMessage<'_>, HandshakeError> {
    let mut r = Reader::new(batch);
    let message = TransportMessage::decode(&mut r)
        .map_err(|source| HandshakeError::Undecodable { step, source })?;
    // Only the header of a Frame is read; the messages behind it are not trailing bytes.
    let alone = r.is_empty() || matches!(message, TransportMessage::Frame(_));
    match alone {
        true => Ok(message),
        false => Err(HandshakeError::Trailing {
            step,
            count: r.remaining(),
        }),
    }
}

/// Returns true if the range of priorities cannot be one.
fn is_invalid(range: QosLink) -> bool {
    let range = range.priorities();
    range.is_some_and(|(first, last)| first > last || last > 7)
}

/// Checks the common fields of OpenSyn and OpenAck.
fn check_open(
    step: Step,
    lease: Duration,
    initial_sn: u32,
    mask: u32,
) -> Result<(), HandshakeError> {
    let refuse = |what, value, min, max| HandshakeError::Parameter {
        step,
        what,
        value,
        min,
        max,
    };
    // The number must fit into the agreed bits, and a lease must not be zero.
    if initial_sn > mask {
        return Err(refuse(
            "initial sequence number",
            initial_sn.into(),
            0,
            mask.into(),
        ));
    }
    if lease.is_zero() {
        return Err(refuse("lease in milliseconds", 0, 1, u64::MAX));
    }
    Ok(())
}

/// Replaces the content of `out` by the Close that belongs to `error`.
fn answer(error: &HandshakeError, out: &mut Vec<u8>) {
    use zonda_codec::transport::reason::{CONNECTION_TO_SELF, GENERIC, INVALID};
    let reason = match error {
        HandshakeError::Refused { .. } | HandshakeError::Linked { .. } | HandshakeError::Io(_) => {
            return;
        }
        HandshakeError::Unexpected {
            step: Step::Finished,
            ..
        } => return,
        HandshakeError::OwnId => CONNECTION_TO_SELF,
        HandshakeError::Feature { .. }
        | HandshakeError::Unauthenticated { .. }
        | HandshakeError::Confirmation { .. } => GENERIC,
        _ => INVALID,
    };
    write_close(reason, out);
}

fn write_close(reason: u8, out: &mut Vec<u8>) {
    put(
        &Close {
            reason,
            session: false,
        },
        out,
    );
}

fn put(message: &impl Encode, out: &mut Vec<u8>) {
    out.clear();
    // No field of this node is too long, nor is a cookie that arrived in a batch.
    if let Ok(mut bytes) = message.to_vec() {
        out.append(&mut bytes);
    }
}

/// Returns the name of a message that arrived out of turn.
fn name(message: &TransportMessage<'_>) -> &'static str {
    match message {
        TransportMessage::InitSyn(_) => "InitSyn",
        TransportMessage::InitAck(_) => "InitAck",
        TransportMessage::OpenSyn(_) => "OpenSyn",
        TransportMessage::OpenAck(_) => "OpenAck",
        TransportMessage::Close(_) => "Close",
        TransportMessage::KeepAlive => "KeepAlive",
        TransportMessage::Frame(_) => "Frame",
        TransportMessage::Fragment(_) => "Fragment",
        TransportMessage::Join(_) => "Join",
        TransportMessage::Oam(_) => "OAM",
    }
}

#[cfg(test)]
mod tests;
