// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datagrams of several addresses at a listener that keeps no state of unknown peers: an address is
//! admitted only with the cookie that was made for it, a short time ago. Its later datagrams are
//! batches, one in each.

use std::sync::Arc;

use zonda_codec::ZSlice;
use zonda_codec::{NetworkMessage, Push, Reader, TransportMessage, WhatAmI, ZenohId};
use zonda_transport::protocol::handshake::{AcceptStep, Acceptor, CookieKey, OpenStep, Opener};
use zonda_transport::protocol::parameters::{Established, LocalParameters};
use zonda_transport::protocol::rx::{Context, Deliver, Received, Receiver};

/// Bytes by which an answer to an unknown peer may exceed the datagram that it answers.
const ANSWER_BYTES_MORE: usize = 128;

/// Maximum bytes of a message that is reassembled from fragments.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Datagrams with which a peer returns.
struct Ticket {
    bearer: u8,
    epoch: u32,
    open_syn: Vec<u8>,
}

struct Scene {
    key: Arc<CookieKey>,
    epoch: u32,
    tickets: Vec<Ticket>,
}

fn parameters(number: u8) -> LocalParameters {
    LocalParameters::new(ZenohId::random_from(number.into()), WhatAmI::Peer)
}

/// Returns the cookie of a datagram with an OpenSyn.
fn cookie(datagram: &[u8]) -> Option<&[u8]> {
    match TransportMessage::decode(&mut Reader::new(datagram)) {
        Ok(TransportMessage::OpenSyn(syn)) => Some(syn.cookie),
        _ => None,
    }
}

impl Scene {
    /// Handles a datagram; returns the agreed parameters if its sender is admitted, and writes the
    /// answer to `out`.
    fn hear(&self, from: u8, datagram: &[u8], out: &mut Vec<u8>) -> Option<Established> {
        let mut acceptor = Acceptor::forgetful(parameters(9), Arc::clone(&self.key), vec![from]);
        acceptor.set_epoch(self.epoch);
        acceptor.set_nonce(7);
        let step = acceptor.handle_batch(datagram, out);
        assert!(out.len() <= datagram.len() + ANSWER_BYTES_MORE);
        let Ok(AcceptStep::Admit(established)) = step else {
            return None;
        };
        let shown = cookie(datagram).expect("it is let in with one");
        let is_good = |ticket: &&Ticket| {
            ticket.bearer == from
                && self.epoch.wrapping_sub(ticket.epoch) <= 1
                && cookie(&ticket.open_syn) == Some(shown)
        };
        assert!(self.tickets.iter().any(|ticket| is_good(&ticket)));
        acceptor.admit(out);
        Some(established)
    }

    /// Performs a peer's handshake up to its OpenSyn, which is kept with its cookie.
    fn introduce(&mut self, from: u8) {
        let mut opener = Opener::new(parameters(from), None);
        let (mut out, mut back) = (Vec::new(), Vec::new());
        opener.start(&mut out);
        assert_eq!(self.hear(from, &out, &mut back), None);
        let step = opener.handle_batch(&back, &mut out);
        assert!(matches!(step, Ok(OpenStep::Continue)), "{step:?}");
        self.tickets.push(Ticket {
            bearer: from,
            epoch: self.epoch,
            open_syn: out,
        });
    }

    /// Returns with a ticket, from an address, with a bit flipped or none; once more if it is
    /// admitted.
    fn come_back(&self, ticket: &Ticket, from: u8, [at, bits]: [u8; 2]) -> Option<Established> {
        let (mut datagram, mut out) = (ticket.open_syn.clone(), Vec::new());
        let at = usize::from(at) % datagram.len();
        datagram[at] ^= bits;
        let established = self.hear(from, &datagram, &mut out);
        let is_due = bits == 0 && from == ticket.bearer;
        let is_due = is_due && self.epoch.wrapping_sub(ticket.epoch) <= 1;
        assert!(established.is_some() || !is_due);
        assert_eq!(self.hear(from, &datagram, &mut out), established);
        established
    }
}

#[derive(Default)]
struct Count(u64);

impl Deliver for Count {
    fn push(&mut self, _push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {
        self.0 += 1;
    }

    fn message(&mut self, _message: NetworkMessage<'_>, _context: &Context<'_>) {
        self.0 += 1;
    }
}

/// Feeds datagrams to an open link: the first invalid one ends it, and all before are counted.
fn batches(established: &Established, mut rest: &[u8]) {
    let mut receiver = Receiver::new(established, MESSAGE_BYTES_MAX);
    let mut count = Count::default();
    while let Some((&length, behind)) = rest.split_first() {
        let (datagram, behind) = behind.split_at(behind.len().min(usize::from(length)));
        rest = behind;
        let block = ZSlice::from(datagram.to_vec());
        let flow = receiver.handle_batch(block.as_slice(), &block, &mut count);
        let Received { messages, .. } = receiver.received();
        assert!(
            flow.is_err() || messages == count.0,
            "{messages}, {}",
            count.0
        );
        if flow.is_err() {
            return;
        }
    }
}

/// Runs steps of four bytes, and feeds the bytes behind the last one as datagrams.
pub fn datagrams(mut data: &[u8]) {
    let mut scene = Scene {
        key: Arc::new(CookieKey::new([7; 32])),
        epoch: 3,
        tickets: Vec::new(),
    };
    while let Some((&[kind, from, at, bits], rest)) = data.split_first_chunk() {
        data = rest;
        let from = from % 4;
        // Handshakes, passing time, arbitrary datagrams, or a returned cookie.
        match kind % 8 {
            0 | 1 => scene.introduce(from),
            2 => scene.epoch = scene.epoch.wrapping_add(1),
            3 => {
                let (datagram, rest) = rest.split_at(rest.len().min(at.into()));
                data = rest;
                scene.hear(from, datagram, &mut Vec::new());
            }
            _ => {
                let count = scene.tickets.len().max(1);
                let ticket = scene.tickets.get(usize::from(kind / 8) % count);
                let established =
                    ticket.and_then(|ticket| scene.come_back(ticket, from, [at, bits]));
                // The rest of the input goes to the first admitted link.
                if let Some(established) = established.filter(|_| kind % 8 == 7) {
                    return batches(&established, data);
                }
            }
        }
    }
}
