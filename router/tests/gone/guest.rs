// SPDX-License-Identifier: MIT OR Apache-2.0
//! A client without a node: it does the handshake, and then sends any message that the test wants.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use zonda_codec::{
    Declaration, Declare, Encode, Fragment, FrameHeader, NetworkMessage, Priority, Push, PushBody,
    Put, Qos, Query, Reader, Reliability, Request, TransportMessage, WhatAmI, WireExpr, ZenohId,
};
use zonda_transport::framing::frame;
use zonda_transport::protocol::handshake::{OpenStep, Opener};
use zonda_transport::protocol::parameters::{Established, LocalParameters};

use crate::LONG;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub struct Guest {
    stream: TcpStream,
    pub zid: ZenohId,
    agreed: Established,
    /// The next sequence number of each priority's reliable channel.
    next_sn: [u32; 8],
    questions: u32,
}

fn bytes(message: &impl Encode) -> Vec<u8> {
    message.to_vec().expect("it has a wire form")
}

impl Guest {
    pub fn connect(address: SocketAddr) -> Guest {
        let mut stream = TcpStream::connect(address).expect("the router listens");
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let zid = ZenohId::random_from(u128::from(NEXT_ID.fetch_add(1, Ordering::Relaxed)));
        let mut opener = Opener::new(LocalParameters::new(zid, WhatAmI::Client), None);
        let mut out = Vec::new();
        opener.start(&mut out);
        let agreed = loop {
            let mut framed = Vec::new();
            frame(&out, &mut framed);
            stream.write_all(&framed).expect("the router reads");
            let batch = receive(&mut stream).expect("the router answers");
            match opener.handle_batch(&batch, &mut out) {
                Ok(OpenStep::Continue) => {}
                Ok(OpenStep::Done(agreed)) => break agreed,
                Err(error) => panic!("let in: {error}"),
            }
        };
        Guest {
            stream,
            zid,
            next_sn: [agreed.initial_sn_tx; 8],
            agreed,
            questions: 0,
        }
    }

    fn sn(&mut self, priority: Priority) -> u32 {
        let next = &mut self.next_sn[priority as usize];
        let sn = *next;
        *next = sn.wrapping_add(1) & self.agreed.sn_mask;
        sn
    }

    /// Sends a batch with its length; returns false if the router has closed the link.
    fn send(&mut self, batch: &[u8]) -> bool {
        let mut framed = Vec::new();
        frame(batch, &mut framed);
        self.stream.write_all(&framed).is_ok()
    }

    /// Sends messages in as many frames as they need.
    pub fn messages(&mut self, messages: impl IntoIterator<Item = Vec<u8>>) -> bool {
        let mut pending = Vec::new();
        for message in messages {
            if pending.len() + message.len() > 60_000 && !self.frame(std::mem::take(&mut pending)) {
                return false;
            }
            pending.extend_from_slice(&message);
        }
        self.frame(pending)
    }

    fn frame(&mut self, messages: Vec<u8>) -> bool {
        self.frame_of(Priority::Data, messages)
    }

    /// Sends a message of a higher priority, also in the middle of a fragmented one.
    pub fn put_urgent(&mut self, key: &str) -> bool {
        let push = Push::new(WireExpr::full(key), PushBody::Put(Put::new(b"now")));
        self.frame_of(Priority::RealTime, bytes(&push))
    }

    fn frame_of(&mut self, priority: Priority, messages: Vec<u8>) -> bool {
        let header = FrameHeader {
            reliability: Reliability::Reliable,
            priority,
            sn: self.sn(priority),
        };
        let mut batch = bytes(&header);
        batch.extend_from_slice(&messages);
        self.send(&batch)
    }

    pub fn declare(&mut self, body: Declaration<'_>) -> bool {
        self.messages([bytes(&Declare::new(body))])
    }

    pub fn subscribe(&mut self, id: u32, key: &str) -> bool {
        let wire_expr = WireExpr::full(key);
        self.declare(Declaration::Subscriber { id, wire_expr })
    }

    /// Publishes on keys with ids or in full, one message each.
    pub fn put<'k>(
        &mut self,
        keys: impl IntoIterator<Item = WireExpr<'k>>,
        qos: Qos,
        payload: &[u8],
    ) -> bool {
        let body = PushBody::Put(Put::new(payload));
        let push = |key| {
            let push = Push::new(key, body);
            bytes(&Push { qos, ..push })
        };
        let messages: Vec<_> = keys.into_iter().map(push).collect();
        self.messages(messages)
    }

    /// Sends fragments of a message of `size` bytes without the last one.
    pub fn half(&mut self, priority: Priority, size: usize) -> bool {
        self.fragments(priority, &vec![0; size], false)
    }

    /// Publishes a message in fragments.
    pub fn put_large(&mut self, key: &str, qos: Qos, size: usize) -> bool {
        let payload = vec![7; size];
        let body = PushBody::Put(Put::new(&payload));
        let push = Push::new(WireExpr::full(key), body);
        self.fragments(qos.priority(), &bytes(&Push { qos, ..push }), true)
    }

    fn fragments(&mut self, priority: Priority, message: &[u8], ends: bool) -> bool {
        let count = message.chunks(60_000).count();
        message.chunks(60_000).enumerate().all(|(number, piece)| {
            let fragment = Fragment {
                reliability: Reliability::Reliable,
                priority,
                sn: self.sn(priority),
                more: !ends || number + 1 < count,
                first: number == 0,
                drop: false,
                payload: piece,
            };
            self.send(&bytes(&fragment))
        })
    }

    /// Sends a keep-alive, so that the router has a message to read.
    pub fn keep_alive(&mut self) -> bool {
        self.send(&bytes(&TransportMessage::KeepAlive))
    }

    /// Reads until a message satisfies `look`; returns false if the router closed the link before.
    pub fn read_until(&mut self, mut look: impl FnMut(&NetworkMessage<'_>) -> bool) -> bool {
        while let Some(batch) = receive(&mut self.stream) {
            let mut reader = Reader::new(&batch);
            while !reader.is_empty() {
                match TransportMessage::decode(&mut reader).expect("the router speaks properly") {
                    TransportMessage::Frame(_) => {}
                    TransportMessage::Close(_) => return false,
                    _ => continue,
                }
                let mut seen = false;
                while reader.peek().is_some_and(NetworkMessage::starts) {
                    seen |= look(&NetworkMessage::decode(&mut reader).expect("a message"));
                }
                if seen {
                    return true;
                }
            }
        }
        false
    }

    /// Sends a query without waiting for replies.
    pub fn ask(&mut self, key: &str) -> bool {
        self.questions += 1;
        let query = Request::new(self.questions, WireExpr::full(key), Query::default());
        self.messages([bytes(&query)])
    }

    /// Reads received bytes without waiting, and discards them; returns false if the router has
    /// closed the link.
    pub fn read_some(&mut self) -> bool {
        let mut rest = vec![0; 1 << 20];
        self.stream.set_nonblocking(true).expect("a socket");
        let read = self.stream.read(&mut rest);
        self.stream.set_nonblocking(false).expect("a socket");
        match read {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Waits until the router has processed all messages so far, by a query that it ends; returns
    /// false if it closed the link.
    pub fn is_served(&mut self) -> bool {
        self.questions += 1;
        let id = self.questions;
        let query = Request::new(id, WireExpr::full("nothing/like/this"), Query::default());
        self.messages([bytes(&query)])
            && self.read_until(
                |message| matches!(message, NetworkMessage::ResponseFinal(end) if end.rid == id),
            )
    }

    /// Reads until a publication arrives.
    pub fn gets_a_push(&mut self) -> bool {
        self.read_until(|message| matches!(message, NetworkMessage::Push(_)))
    }
}

/// Reads the next batch; `None` if the router has closed the link.
fn receive(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix).ok()?;
    let mut batch = vec![0; usize::from(u16::from_le_bytes(prefix))];
    stream.read_exact(&mut batch).ok()?;
    Some(batch)
}
