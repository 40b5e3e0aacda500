// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wire that can be read: a proxy that forwards all bytes, and records the messages of the two
//! ends.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use zonda_codec::{
    Declaration, Declare, Mapping, NetworkMessage, Reader, TransportMessage, WireExpr,
};

/// A proxy to an endpoint, for one connection.
pub struct Proxy {
    pub endpoint: String,
    said: [Arc<Mutex<Vec<u8>>>; 2],
}

/// An end of the wire.
#[derive(Clone, Copy)]
pub enum Speaker {
    /// The end that connected to the proxy.
    Dialler,
    /// The end that the proxy connected to.
    Listener,
}

/// A key in its form on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spelling {
    /// Key id, or 0.
    pub scope: u16,
    pub suffix: String,
    /// True if the speaker declared the id.
    pub own: bool,
}

impl Spelling {
    fn of(expr: &WireExpr<'_>) -> Spelling {
        Spelling {
            scope: expr.scope,
            suffix: expr.suffix.to_owned(),
            own: expr.mapping == Mapping::Sender,
        }
    }
}

/// A recorded message of one end, as far as it is about keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A declaration of a key id.
    Id {
        id: u16,
        text: String,
    },
    Subscriber(Spelling),
    Push(Spelling),
    KeepAlive,
    /// The end has closed its session.
    Close,
}

impl Proxy {
    /// Starts a proxy of this endpoint.
    pub fn to(endpoint: &str) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let own = listener.local_addr().expect("its address");
        let target = endpoint.strip_prefix("tcp/").unwrap_or(endpoint);
        let target: SocketAddr = target.parse().expect("an address");
        let proxy = Proxy {
            endpoint: format!("tcp/{own}"),
            said: Default::default(),
        };
        let said = proxy.said.clone();
        thread::spawn(move || {
            let (dialler, _) = listener.accept().expect("somebody connects");
            let listener = TcpStream::connect(target).expect("somebody listens");
            let copy = |s: &TcpStream| s.try_clone().expect("a second handle");
            let (to_listener, to_dialler) = (copy(&listener), copy(&dialler));
            let [by_dialler, by_listener] = said;
            thread::spawn(move || pass_on(dialler, to_listener, &by_dialler));
            pass_on(listener, to_dialler, &by_listener);
        });
        proxy
    }

    /// Returns all messages of an end so far.
    ///
    /// # Panics
    /// It said something that is not of the protocol.
    pub fn said(&self, speaker: Speaker) -> Vec<Said> {
        let bytes = self.said[speaker as usize]
            .lock()
            .expect("nobody panics with it");
        let mut rest = bytes.as_slice();
        let mut said = Vec::new();
        while let Some((len, after)) = rest.split_first_chunk() {
            let len = usize::from(u16::from_le_bytes(*len));
            let Some((batch, after)) = after.split_at_checked(len) else {
                break;
            };
            said_in_batch(batch, &mut said);
            rest = after;
        }
        said
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, record: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        // recorded first: a message that has arrived can be examined
        record
            .lock()
            .expect("nobody panics with it")
            .extend_from_slice(&buffer[..len]);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    // an error means that this direction has ended already
    let _ = to.shutdown(Shutdown::Write);
}

fn said_in_batch(batch: &[u8], said: &mut Vec<Said>) {
    let mut reader = Reader::new(batch);
    while let Some(first) = reader.peek() {
        if NetworkMessage::starts(first) {
            let message = NetworkMessage::decode(&mut reader);
            said.extend(of_message(&message.expect("a network message")));
        } else {
            let message = TransportMessage::decode(&mut reader).expect("a transport message");
            match message {
                TransportMessage::Close(_) => said.push(Said::Close),
                TransportMessage::KeepAlive => said.push(Said::KeepAlive),
                _ => {}
            }
        }
    }
}

fn of_message(message: &NetworkMessage<'_>) -> Option<Said> {
    match message {
        NetworkMessage::Push(push) => Some(Said::Push(Spelling::of(&push.wire_expr))),
        NetworkMessage::Declare(Declare { body, .. }) => match body {
            Declaration::KeyExpr { id, wire_expr } => Some(Said::Id {
                id: *id,
                text: wire_expr.suffix.to_owned(),
            }),
            Declaration::Subscriber { wire_expr, .. } => {
                Some(Said::Subscriber(Spelling::of(wire_expr)))
            }
            _ => None,
        },
        _ => None,
    }
}
