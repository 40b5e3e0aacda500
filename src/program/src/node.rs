// SPDX-License-Identifier: MIT OR Apache-2.0
//! A node without a session above it: the level that the examples `net_*` measure. It lacks the
//! session's work for each message, above all the owned sample and its handler.

use std::sync::Arc;
use std::time::Duration;

use zonda_codec::payload::shared_part;
use zonda_codec::{CongestionControl, KeyExpr, Payload, Priority, PushBody, Qos, Reliability};
use zonda_router::node::{
    Delivery, Node, OpenError, Opened, Outcome, Plain, PublishError, PublisherFace, Receive,
    SubscriberId, Value, Wait,
};

use crate::{Connection, Failure};

/// Limit of the wait of a put for a slow neighbour: the default of a session.
const PUT_LIMIT: Duration = Duration::from_secs(5);

/// Limit of the time that closing takes.
const CLOSE_LIMIT: Duration = Duration::from_secs(10);

/// Opens a node by the flags.
///
/// # Blocking
/// Until it listens and, for a client, the first endpoint has answered.
pub fn open(connection: &Connection) -> Result<Node, Failure> {
    let config = connection.to_config()?;
    crate::log();
    zonda_runtime::block_on(Node::open(config)).map_err(|error| match error {
        OpenError::Config { .. } | OpenError::NoEndpoint => Failure::Usage(error.to_string()),
        _ => Failure::from(error),
    })
}

/// Closes a node: queued messages are sent first.
///
/// # Blocking
/// At most ten seconds.
pub fn close(node: &Node) -> Result<(), Failure> {
    Ok(node.close_blocking(CLOSE_LIMIT)?)
}

/// A publisher on one key.
pub struct Publisher {
    face: PublisherFace,
    qos: Qos,
    reliability: Reliability,
}

impl Publisher {
    /// Declares it, with congestion control Block.
    pub fn declare(
        node: &Node,
        key: &'static str,
        priority: Priority,
        express: bool,
    ) -> Result<Self, Failure> {
        let qos = Qos::new(priority, CongestionControl::Block, express);
        Publisher::with(node, key, qos, Reliability::Reliable)
    }

    /// Declares it with all options of its messages.
    pub fn with(
        node: &Node,
        key: &'static str,
        qos: Qos,
        reliability: Reliability,
    ) -> Result<Self, Failure> {
        let key = KeyExpr::try_from(key)?;
        Ok(Publisher {
            face: node.declare_publisher(&key)?,
            qos,
            reliability,
        })
    }

    /// Publishes a value. The bytes are shared, or copied if they are few.
    ///
    /// # Blocking
    /// While a neighbour does not keep up, at most five seconds.
    #[inline]
    pub fn put(&self, payload: &Payload) -> Result<Outcome, PublishError> {
        self.put_value(Value::Shared(payload))
    }

    /// Publishes a value that is shared or borrowed.
    ///
    /// # Blocking
    /// Publishes like [`Publisher::put`].
    #[inline]
    pub fn put_value(&self, payload: Value<'_>) -> Result<Outcome, PublishError> {
        let plain = Plain {
            payload,
            encoding: 0,
            qos: self.qos,
            reliability: self.reliability,
        };
        let wait = match self.qos.congestion_control() {
            CongestionControl::Block => Wait::AtMost(PUT_LIMIT),
            _ => Wait::Never,
        };
        self.face.publish_plain(&plain, None, wait).into_result()
    }
}

/// A subscriber that calls a function with the deliveries on a key, until it is dropped.
pub struct Subscriber {
    node: Node,
    id: SubscriberId,
}

impl Subscriber {
    /// Declares it. `receive` is called on the task that reads the socket.
    pub fn declare(
        node: &Node,
        key: &'static str,
        receive: impl Fn(&Delivery<'_>) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let key = KeyExpr::try_from(key)?;
        let function: Opened = Arc::new(Box::new(receive));
        let id = node.declare_subscriber(&key, Arc::new(Function(function)))?;
        let node = node.clone();
        Ok(Subscriber { node, id })
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.node.undeclare_subscriber(self.id);
    }
}

/// A function that the node keeps as long as it knows its subscriber.
struct Function(Opened);

impl Receive for Function {
    fn open(&self) -> Option<Opened> {
        Some(Arc::clone(&self.0))
    }
}

/// Returns the payload of a delivery, sharing the buffer that it came in; empty for a deletion.
#[inline]
pub fn payload(delivery: &Delivery<'_>) -> Payload {
    match &delivery.push.body {
        PushBody::Put(put) => Payload::from(shared_part(delivery.block, put.payload)),
        PushBody::Del(_) => Payload::empty(),
    }
}
