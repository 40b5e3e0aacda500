// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection between two nodes of this process, over a real socket, whose bytes this thread moves.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use zonda::config::{Config, WhatAmI};
use zonda_codec::ZSlice;
use zonda_router::node::{End, Node};

/// Result whose error is a sentence.
pub type Outcome<T> = Result<T, String>;

/// A connection of two ends in this process.
pub struct Wire {
    pub near: Side,
    pub far: Side,
}

/// One end and the bytes it has read so far.
pub struct Side {
    pub end: End,
    socket: TcpStream,
    /// Bytes that came in and are not processed.
    unread: Vec<u8>,
    /// Number of bytes that ever came in.
    read: u64,
}

impl Side {
    fn new(node: &Node, socket: TcpStream, peer: &Node, role: WhatAmI) -> Outcome<Side> {
        let end = node
            .attach(&socket, (peer.zid(), role))
            .map_err(|e| e.to_string())?;
        Ok(Side {
            end,
            socket,
            unread: Vec::new(),
            read: 0,
        })
    }

    /// Returns the number of bytes that its node has written to the socket.
    fn sent(&self) -> u64 {
        self.end.outbox().counters().bytes.load(Ordering::Relaxed)
    }

    /// Reads until it has all `sent` bytes of the other end. Blocks only for bytes that are on
    /// their way.
    fn read(&mut self, sent: u64) -> Outcome<()> {
        let mut block = vec![0; 256 * 1024];
        while self.read < sent {
            let count = self.socket.read(&mut block).map_err(|e| e.to_string())?;
            if count == 0 {
                return Err("the socket was shut down".into());
            }
            self.read += count as u64;
            self.unread
                .extend_from_slice(block.get(..count).unwrap_or_default());
        }
        Ok(())
    }

    /// Takes the whole batches that came in, without their prefixes.
    fn take_batches(&mut self) -> Vec<Vec<u8>> {
        let mut batches = Vec::new();
        while let [low, high, rest @ ..] = self.unread.as_slice() {
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            let Some(batch) = rest.get(..length) else {
                break;
            };
            batches.push(batch.to_vec());
            self.unread.drain(..length + 2);
        }
        batches
    }
}

/// A batch in a block of its own.
pub struct Batch {
    pub block: ZSlice,
    pub bytes: Arc<Vec<u8>>,
}

impl Batch {
    pub fn new(bytes: Vec<u8>) -> Batch {
        let bytes = Arc::new(bytes);
        let block = ZSlice::from(Arc::clone(&bytes));
        Batch { block, bytes }
    }
}

impl Wire {
    /// Connects two nodes, which see each other in these roles.
    pub fn new(near: (&Node, WhatAmI), far: (&Node, WhatAmI)) -> Outcome<Wire> {
        let words = |e: std::io::Error| e.to_string();
        let listener = TcpListener::bind("127.0.0.1:0").map_err(words)?;
        let address = listener.local_addr().map_err(words)?;
        let near_socket = TcpStream::connect(address).map_err(words)?;
        let (far_socket, _) = listener.accept().map_err(words)?;
        for socket in [&near_socket, &far_socket] {
            socket.set_nodelay(true).map_err(words)?;
        }
        Ok(Wire {
            near: Side::new(near.0, near_socket, far.0, far.1)?,
            far: Side::new(far.0, far_socket, near.0, near.1)?,
        })
    }

    /// Moves messages between both sides until neither side has one left to send.
    pub fn settle(&mut self) -> Outcome<()> {
        loop {
            let moved = self.carry(true)? + self.carry(false)?;
            if moved == 0 {
                return Ok(());
            }
        }
    }

    /// Moves batches to the far side, or to the near one.
    fn carry(&mut self, outwards: bool) -> Outcome<usize> {
        let (from, to) = match outwards {
            true => (&mut self.near, &mut self.far),
            false => (&mut self.far, &mut self.near),
        };
        from.end.outbox().flush();
        to.read(from.sent())?;
        let batches = to.take_batches();
        let count = batches.len();
        for batch in batches {
            let batch = Batch::new(batch);
            let delivered = to.end.deliver(&batch.bytes, &batch.block);
            delivered.map_err(|e| e.to_string())?;
        }
        to.end.end_burst();
        Ok(count)
    }

    /// Takes the batches that the near side has sent since the last call; the far side does not get
    /// them.
    pub fn taken(&mut self) -> Outcome<Vec<Vec<u8>>> {
        self.near.end.outbox().flush();
        self.far.read(self.near.sent())?;
        Ok(self.far.take_batches())
    }
}

/// Creates a node without connections of its own.
pub fn node(role: WhatAmI) -> Outcome<Node> {
    opened(role, false)
}

/// Creates a node without connections of its own that stamps its publications.
pub fn stamping_node(role: WhatAmI) -> Outcome<Node> {
    opened(role, true)
}

fn opened(role: WhatAmI, stamps: bool) -> Outcome<Node> {
    let mut config = Config::peer()
        .listen([] as [&str; 0])
        .with("scouting/multicast/enabled", "false");
    if stamps {
        config = config.with("timestamping/enabled", "true");
    }
    config.set_mode(role);
    zonda_runtime::block_on(Node::open(config)).map_err(|e| e.to_string())
}
