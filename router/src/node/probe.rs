// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access for counting instructions: connections without tasks and without a handshake. The holder
//! of an [`End`] moves its bytes, so that one thread does all the work in a fixed order. Not part
//! of the public interface; it exists with the feature `probe` only.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    sync::{Arc, atomic::AtomicBool},
};

use zonda_codec::{Locator, WhatAmI, ZSlice, ZenohId};
use zonda_transport::{
    driver::Handler,
    link::{LinkAddress, Protocol},
    outbox::{DirectSocket, Outbox},
    protocol::{
        parameters::Established,
        rx::{Flow, PeerMisbehaved, Receiver},
    },
};

use crate::{
    flow::inbound::Inbound,
    model::LinkStatus,
    node::handle::Node,
    peers::admit::{NewNeighbour, QUEUE_BYTES_MAX},
};

/// End of a connection whose bytes its holder moves.
pub struct End {
    established: Established,
    message_size_max: usize,
    receiver: Receiver,
    inbound: Inbound,
    outbox: Arc<Outbox>,
}

impl Node {
    /// Makes a face of a connection to `peer`, as if the handshake were over. Messages to the face
    /// are written to `socket`.
    ///
    /// # Errors
    /// The operating system has no descriptor left.
    pub fn attach(&self, socket: &TcpStream, peer: (ZenohId, WhatAmI)) -> io::Result<End> {
        let shared = &self.shared;
        let (zid, whatami) = peer;
        // the result of a handshake with this node's own parameters
        let parameters = shared.parameters();
        let established = Established {
            batch_size: parameters.batch_size,
            qos: parameters.qos,
            patch: parameters.patch,
            ..Established::plain(zid, whatami)
        };
        // the status of the link
        let place = |address: SocketAddr| -> io::Result<Locator> {
            let address = LinkAddress::internet(Protocol::Tcp, address);
            address.locator().ok_or(io::ErrorKind::InvalidInput.into())
        };
        let status = LinkStatus {
            zid,
            whatami,
            local: place(socket.local_addr()?)?,
            remote: place(socket.peer_addr()?)?,
            dialed: false,
            batch_size: established.batch_size,
            is_qos: established.qos,
            sent: Default::default(),
            priorities: Vec::new(),
            received: Default::default(),
            ignored: Default::default(),
            discarded: Default::default(),
            held: 0,
            options: Default::default(),
        };
        // the face, as after an admission
        let direct = DirectSocket::beside(socket)?;
        let outbox = Arc::new(Outbox::new(&established, QUEUE_BYTES_MAX, direct));
        let spoken = Arc::new(AtomicBool::new(false));
        let holding = shared.memory.holding();
        let arrived = NewNeighbour {
            outbox: Arc::clone(&outbox),
            dialed: false,
            lease: established.remote_lease,
            spoken: Arc::clone(&spoken),
            holding: holding.clone(),
            keeps_order: true,
        };
        let face = shared.update(|state| state.add_face(status, arrived));
        // the receiving half, which the holder drives
        Ok(End {
            receiver: Receiver::new(&established, parameters.message_size_max),
            message_size_max: parameters.message_size_max,
            inbound: Inbound::new(
                Arc::clone(shared),
                face,
                Arc::clone(&outbox),
                spoken,
                holding.routes,
            ),
            established,
            outbox,
        })
    }
}

impl End {
    /// Returns the sending half.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Delivers one batch, without its length prefix, like the reading task. `block` is the buffer
    /// that contains `batch`.
    ///
    /// # Errors
    /// The bytes are no batch.
    pub fn deliver(&mut self, batch: &[u8], block: &ZSlice) -> Result<(), PeerMisbehaved> {
        let mut flow = self
            .receiver
            .handle_batch(batch, block, &mut self.inbound)?;
        // the first message of a route may take several slices, more so where instructions are
        // counted
        while let Flow::Paused(pause) = flow {
            self.end_burst();
            let inbound = &mut self.inbound;
            flow = self.receiver.resume_batch(pause, batch, block, inbound)?;
        }
        Ok(())
    }

    /// Does the work of the reading task at the end of a read.
    pub fn end_burst(&mut self) {
        zonda_runtime::block_on(self.inbound.burst_end());
    }

    /// Expects the frame of that number next, so that a batch can be delivered again.
    pub fn expect_frame(&mut self, sn: u32) {
        self.established.initial_sn_rx = sn;
        self.receiver = Receiver::new(&self.established, self.message_size_max);
    }
}
