// SPDX-License-Identifier: MIT OR Apache-2.0
//! A peer on a raw connection: it can perform a valid handshake, and then send arbitrary bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use socket2::SockRef;
use zonda_codec::transport::KeepAlive;
use zonda_codec::{
    Declaration, Declare, Encode, Fragment, FrameHeader, NetworkMessage, Priority, Query, Reader,
    Reliability, Request, TransportMessage, WhatAmI, WireExpr, ZenohId,
};
use zonda_transport::framing::frame;
use zonda_transport::protocol::handshake::{OpenStep, Opener};
use zonda_transport::protocol::parameters::{Established, LocalParameters};

use crate::scene::LONG;

/// Ids of hands, distinct from the ids of honest nodes, which are random.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub struct Hand {
    pub stream: TcpStream,
    pub parameters: LocalParameters,
    agreed: Option<Established>,
    /// Next sequence number of each priority's reliable channel.
    next_sn: [u32; 8],
    next_request: u32,
    /// Lock for writes: several threads may write to one connection.
    writing: Arc<Mutex<()>>,
    /// Delay before each batch of its handshake.
    pub delay: Duration,
}

/// Returns a number that no other hand of this process has.
pub fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Returns the wire form of a message.
pub fn bytes(message: &impl Encode) -> Vec<u8> {
    message.to_vec().expect("it has a wire form")
}

impl Hand {
    /// Connects without sending anything.
    pub fn connect(address: SocketAddr) -> Hand {
        Hand::connect_as(address, u128::from(next_id()))
    }

    /// Connects with the id that follows from a number.
    pub fn connect_as(address: SocketAddr, number: u128) -> Hand {
        let stream = TcpStream::connect(address).expect("the router listens");
        Hand::on(stream, number)
    }

    /// Uses an existing connection.
    pub fn on(stream: TcpStream, number: u128) -> Hand {
        stream.set_read_timeout(Some(LONG)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let zid = ZenohId::random_from(number);
        let parameters = LocalParameters::new(zid, WhatAmI::Client);
        Hand {
            stream,
            parameters,
            agreed: None,
            next_sn: [0; 8],
            next_request: 1 << 30,
            writing: Arc::default(),
            delay: Duration::ZERO,
        }
    }

    /// Connects and is admitted as a client.
    pub fn connected(address: SocketAddr) -> Hand {
        let mut hand = Hand::connect(address);
        hand.introduce();
        hand
    }

    pub fn zid(&self) -> ZenohId {
        self.parameters.zid
    }

    /// Returns the agreed parameters after the handshake.
    pub fn agreed(&self) -> &Established {
        self.agreed.as_ref().expect("introduced")
    }

    /// Performs the whole handshake with the current parameters; it must succeed.
    pub fn introduce(&mut self) {
        let agreed = self.try_introduce().expect("the router lets it in");
        self.next_sn = [agreed.initial_sn_tx; 8];
        self.agreed = Some(agreed);
    }

    /// Performs the whole handshake; returns false if the router refuses.
    pub fn is_let_in(&mut self) -> bool {
        self.is_let_in_with(|_| ())
    }

    /// Sends the InitSyn, and nothing else.
    pub fn begin_introduction(&mut self) {
        let mut opener = Opener::new(self.parameters.clone(), None);
        let mut out = Vec::new();
        opener.start(&mut out);
        self.send(&out);
    }

    /// Sends a keep-alive; returns true if the socket accepted it.
    pub fn is_kept_alive(&mut self) -> bool {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut framed = Vec::new();
        frame(&bytes(&KeepAlive), &mut framed);
        (&self.stream).write_all(&framed).is_ok()
    }

    /// Reads and discards the available input.
    pub fn swallow(&mut self) {
        let mut buffer = [0; 1 << 16];
        let _ = self.stream.set_nonblocking(true);
        while matches!(self.stream.read(&mut buffer), Ok(1..)) {}
        let _ = self.stream.set_nonblocking(false);
    }

    /// Performs the whole handshake; `Err` holds the router's last batch if it refused.
    pub fn try_introduce(&mut self) -> Result<Established, Vec<u8>> {
        self.introduce_with(|_| ())
    }

    /// Performs the whole handshake, in which `tamper` may change each batch of either side; `Err` holds the router's last
    /// batch if it refused.
    fn introduce_with(
        &mut self,
        mut tamper: impl FnMut(&mut Vec<u8>),
    ) -> Result<Established, Vec<u8>> {
        let mut opener = Opener::new(self.parameters.clone(), None);
        let mut out = Vec::new();
        opener.start(&mut out);
        loop {
            std::thread::sleep(self.delay);
            tamper(&mut out);
            self.send(&out);
            let mut batch = self.receive().ok_or_else(Vec::new)?;
            tamper(&mut batch);
            match opener.handle_batch(&batch, &mut out) {
                Ok(OpenStep::Continue) => {}
                Ok(OpenStep::Done(agreed)) => return Ok(agreed),
                Err(_) => return Err(batch),
            }
        }
    }

    /// Performs the whole handshake like [`Hand::is_let_in`], in which `tamper` may change each batch of either side.
    pub fn is_let_in_with(&mut self, tamper: impl FnMut(&mut Vec<u8>)) -> bool {
        let Ok(agreed) = self.introduce_with(tamper) else {
            return false;
        };
        self.next_sn = [agreed.initial_sn_tx; 8];
        self.agreed = Some(agreed);
        true
    }

    /// Sends one batch behind its length.
    pub fn send(&mut self, batch: &[u8]) {
        let mut bytes = Vec::new();
        frame(batch, &mut bytes);
        self.raw(&bytes);
    }

    /// Sends these bytes and nothing else. The router may close the link while they are on their
    /// way.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.try_raw(bytes);
    }

    /// Returns true if the socket accepted the bytes.
    pub fn try_raw(&mut self, bytes: &[u8]) -> bool {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        match (&self.stream).write_all(bytes) {
            Ok(()) => true,
            Err(error) => {
                let gone = [
                    ErrorKind::BrokenPipe,
                    ErrorKind::ConnectionReset,
                    ErrorKind::ConnectionAborted,
                ];
                assert!(gone.contains(&error.kind()), "{error}");
                false
            }
        }
    }

    /// Returns another hand on the same connection, to send while the first one reads.
    pub fn other(&self) -> Hand {
        Hand {
            stream: self.stream.try_clone().expect("a socket"),
            parameters: self.parameters.clone(),
            agreed: self.agreed.clone(),
            next_sn: self.next_sn,
            next_request: self.next_request,
            writing: Arc::clone(&self.writing),
            delay: self.delay,
        }
    }

    /// Takes the next sequence number of a reliable channel.
    pub fn sn(&mut self, priority: Priority) -> u32 {
        let mask = self.agreed().sn_mask;
        let next = &mut self.next_sn[priority as usize];
        let sn = *next;
        *next = sn.wrapping_add(1) & mask;
        sn
    }

    /// Sends a frame with these bytes as its messages.
    pub fn frame(&mut self, messages: &[u8]) -> bool {
        self.frame_on(Priority::Data, messages)
    }

    /// Sends a frame in the lane of a priority.
    pub fn frame_on(&mut self, priority: Priority, messages: &[u8]) -> bool {
        let sn = self.sn(priority);
        self.frame_of(priority, sn, messages)
    }

    /// Sends a frame with a sequence number of the test's choice.
    pub fn frame_numbered(&mut self, messages: &[u8], sn: Option<u32>) -> bool {
        let priority = Priority::Data;
        let sn = sn.unwrap_or_else(|| self.sn(priority));
        self.frame_of(priority, sn, messages)
    }

    fn frame_of(&mut self, priority: Priority, sn: u32, messages: &[u8]) -> bool {
        let mut batch = bytes(&FrameHeader {
            reliability: Reliability::Reliable,
            priority,
            sn,
        });
        batch.extend_from_slice(messages);
        let mut framed = Vec::new();
        frame(&batch, &mut framed);
        self.try_raw(&framed)
    }

    /// Sends the messages in as many frames as they need.
    pub fn messages(&mut self, messages: impl IntoIterator<Item = Vec<u8>>) -> bool {
        let mut pending = Vec::new();
        for message in messages {
            if pending.len() + message.len() > 60_000 {
                if !self.frame(&pending) {
                    return false;
                }
                pending.clear();
            }
            pending.extend_from_slice(&message);
        }
        self.frame(&pending)
    }

    /// Sends one fragment in a batch of its own.
    pub fn fragment(&mut self, fragment: &Fragment<'_>) -> bool {
        let mut framed = Vec::new();
        frame(&bytes(fragment), &mut framed);
        self.try_raw(&framed)
    }

    pub fn declare(&mut self, body: Declaration<'_>) -> bool {
        self.frame(&bytes(&Declare::new(body)))
    }

    pub fn subscribe(&mut self, id: u32, key: &str) {
        assert!(self.declare(Declaration::Subscriber {
            id,
            wire_expr: WireExpr::full(key)
        }));
    }

    /// Returns the next batch, or `None` if the router closed the link.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        let mut prefix = [0; 2];
        let mut fill = |buffer: &mut [u8]| match self.stream.read_exact(buffer) {
            Ok(()) => Some(()),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ) =>
            {
                None
            }
            Err(error) => panic!("no answer: {error}"),
        };
        fill(&mut prefix)?;
        let mut batch = vec![0; usize::from(u16::from_le_bytes(prefix))];
        fill(&mut batch)?;
        Some(batch)
    }

    /// Reads one batch and passes its messages to `look`. Returns false if the router closed the
    /// link.
    pub fn read_batch(&mut self, mut look: impl FnMut(&NetworkMessage<'_>)) -> bool {
        let Some(batch) = self.receive() else {
            return false;
        };
        let mut reader = Reader::new(&batch);
        while !reader.is_empty() {
            let message = TransportMessage::decode(&mut reader);
            if let TransportMessage::Close(_) = message.expect("the router speaks properly") {
                return false;
            }
            while reader.peek().is_some_and(NetworkMessage::starts) {
                look(&NetworkMessage::decode(&mut reader).expect("the router speaks properly"));
            }
        }
        true
    }

    /// Reads and passes every message to `look` until that returns true. Returns false if the
    /// router closed the link before.
    pub fn read_until(&mut self, mut look: impl FnMut(&NetworkMessage<'_>) -> bool) -> bool {
        while let Some(batch) = self.receive() {
            let mut reader = Reader::new(&batch);
            while !reader.is_empty() {
                match TransportMessage::decode(&mut reader).expect("the router speaks properly") {
                    TransportMessage::Frame(_) => {}
                    TransportMessage::Close(_) => return false,
                    _ => continue,
                }
                let mut seen = false;
                while reader.peek().is_some_and(NetworkMessage::starts) {
                    seen |= look(
                        &NetworkMessage::decode(&mut reader).expect("the router speaks properly"),
                    );
                }
                if seen {
                    return true;
                }
            }
        }
        false
    }

    /// Returns true if the link works: the router answers a query with its end.
    pub fn is_served(&mut self) -> bool {
        let rid = self.next_request;
        self.next_request += 1;
        let query = Request::new(rid, WireExpr::full("nothing/like/this"), Query::default());
        self.frame(&bytes(&query))
            && self.read_until(
                |message| matches!(message, NetworkMessage::ResponseFinal(end) if end.rid == rid),
            )
    }

    /// Returns true once the router has ended the connection, after reading its last batches.
    pub fn is_hung_up_on(&mut self) -> bool {
        let mut rest = [0; 4096];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::ConnectionReset,
            }
        }
    }

    /// Resets the connection without a Close.
    pub fn reset(self) {
        SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .expect("a socket");
    }
}
