// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mio_pub SIZE ENDPOINT`: sends messages of SIZE bytes as fast as message-io accepts them, until
//! the receiver leaves.

use message_io::network::SendStatus;
use message_io::node;
use message_io_peers::{argument, end_with_parent, endpoint, fail, line, number};

fn main() {
    end_with_parent();
    let (size, to): (usize, _) = (number(1, "the size"), argument(2, "where to connect"));
    let (transport, address) = endpoint(&to);
    let (handler, listener) = node::split::<()>();
    let _task = listener.for_each_async(|_| ());
    let (peer, _) = handler
        .network()
        .connect_sync(transport, address)
        .unwrap_or_else(|e| fail(&to, e));
    line(format_args!(r#"{{"event":"ready","listening":[]}}"#));
    let message = vec![0xff; size];
    // as message-io's own benchmark does; messages that UDP could not take are lost
    while handler.network().send(peer, &message) != SendStatus::ResourceNotFound {}
}
