// SPDX-License-Identifier: MIT OR Apache-2.0
//! A neighbour that proves to be of this host and user, and lies then.

use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use zonda_codec::{Encode, InitAck, Reader, TransportMessage, Writer, shared::Descriptor};
use zonda_transport::protocol::options::LocalOptions;
use zonda_transport::protocol::shared::{SharedMemory, SharedSettings};

use super::files::Forgery;
use crate::hand::Hand;
use crate::scene::LONG;

/// Bytes of an authentication segment.
pub const AUTHENTICATION: u64 = 12_288;

/// Neighbour with an authentication segment that is a file of the test.
pub struct Liar {
    pub hand: Hand,
    pub auth: Forgery,
    /// Number of the router's authentication segment, once the router has named it.
    pub router: u32,
}

impl Liar {
    /// Connects without sending anything.
    pub fn visitor(address: SocketAddr) -> Liar {
        let settings = SharedSettings {
            pool_bytes: 0,
            size_min: 3072,
            copied: [false; 3],
            copies_out: false,
            at_open: false,
        };
        let memory = SharedMemory::open(&settings).expect("this system has shared memory");
        let mut hand = Hand::connect(address);
        hand.parameters.is_one_host = true;
        hand.parameters.lease = 10 * LONG;
        let auth = Forgery::data(AUTHENTICATION);
        for (offset, word) in [(0, 1), (8, memory.node().challenge()), (16, 2)] {
            auth.write(offset, &word.to_ne_bytes());
        }
        hand.parameters.options = Arc::new(LocalOptions {
            shared: Some(memory),
            ..LocalOptions::default()
        });
        Liar {
            hand,
            auth,
            router: 0,
        }
    }

    /// Connects, is admitted and shares memory.
    pub fn guest(address: SocketAddr) -> Liar {
        let mut liar = Liar::visitor(address);
        assert!(liar.is_let_in(|_| ()), "the router lets it in");
        assert!(liar.shares());
        liar
    }

    /// Performs the handshake, in which `tamper` may change each batch.
    pub fn is_let_in(&mut self, mut tamper: impl FnMut(&mut Vec<u8>)) -> bool {
        let mut router = 0;
        let own = self.auth.id;
        let is_let_in = self.hand.is_let_in_with(|batch| {
            offer(batch, own);
            if let Some(segment) = segment_named(batch) {
                router = segment;
            }
            tamper(batch);
        });
        self.router = router;
        is_let_in
    }

    /// Returns true if both ends have agreed to share memory.
    pub fn shares(&self) -> bool {
        self.hand.agreed().options.is_shm()
    }

    /// Sends a put with one descriptor.
    pub fn put(&mut self, key: &str, descriptor: &Descriptor) {
        self.hand.frame(&shared_put(key, &[*descriptor]));
    }

    /// Reads and discards what comes, on a thread, until the link ends.
    pub fn read_beside(&self) {
        let mut other = self.hand.other();
        std::thread::spawn(move || {
            let _ = other
                .stream
                .set_read_timeout(Some(Duration::from_secs(600)));
            while other.receive().is_some() {}
        });
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        // another hand may read on
        let _ = self.hand.stream.shutdown(Shutdown::Both);
    }
}

/// Replaces the segment in an InitSyn.
fn offer(batch: &mut Vec<u8>, segment: u32) {
    let message = TransportMessage::decode(&mut Reader::new(batch));
    let Ok(TransportMessage::InitSyn(mut syn)) = message else {
        return;
    };
    let body = text(|writer| writer.vle(u64::from(segment)).expect("room"));
    syn.ext.shm = Some(&body);
    let whole = syn.to_vec().expect("it has a wire form");
    *batch = whole;
}

/// Returns the segment that an InitAck names.
fn segment_named(batch: &[u8]) -> Option<u32> {
    let message = TransportMessage::decode(&mut Reader::new(batch)).ok()?;
    let TransportMessage::InitAck(InitAck { ext, .. }) = message else {
        return None;
    };
    let mut reader = Reader::new(ext.shm?);
    reader.z64().ok()?;
    reader.z32().ok()
}

/// Replaces the proof in an OpenSyn.
pub fn forge_proof(batch: &mut Vec<u8>, forge: impl FnOnce(&[u8]) -> Vec<u8>) {
    let message = TransportMessage::decode(&mut Reader::new(batch));
    let Ok(TransportMessage::OpenSyn(mut syn)) = message else {
        return;
    };
    let forged = forge(syn.ext.shm.unwrap_or_default());
    syn.ext.shm = Some(&forged);
    let whole = syn.to_vec().expect("it has a wire form");
    *batch = whole;
}

fn text(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = vec![0; 60_000];
    let mut writer = Writer::new(&mut bytes);
    write(&mut writer);
    let written = writer.position();
    bytes.truncate(written);
    bytes
}

/// Returns the slices of a payload.
fn slices(descriptors: &[Descriptor]) -> Vec<u8> {
    text(|writer| {
        writer.vle(descriptors.len() as u64).expect("room");
        for descriptor in descriptors {
            let body = text(|writer| descriptor.write(writer).expect("room"));
            writer.u8(1).expect("room");
            writer.bytes_vle(&body).expect("room");
        }
    })
}

/// Returns a put whose payload is in these places.
pub fn shared_put(key: &str, descriptors: &[Descriptor]) -> Vec<u8> {
    let mut message = vec![0x3d, 0, key.len() as u8];
    message.extend_from_slice(key.as_bytes());
    message.extend_from_slice(&[0x81, 0x12]);
    message.extend(slices(descriptors));
    message
}

/// Returns a query whose body is in these places.
pub fn shared_query(rid: u8, key: &str, descriptors: &[Descriptor]) -> Vec<u8> {
    let mut message = vec![0x3c, rid, 0, key.len() as u8];
    message.extend_from_slice(key.as_bytes());
    message.extend_from_slice(&[0x83, 0x84, 0x43, 52, 0]);
    message.extend(slices(descriptors));
    message
}
