// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two levels at which workers use a node: by a session as applications do, or by the node's
//! own calls below it. The difference is the cost of the session.

use zonda::bytes::ZBytes;
use zonda::handlers::Callback;
use zonda::pubsub;
use zonda::sample::Sample;
use zonda::{Outcome, PublishError, Session, Wait};
use zonda_codec::{Payload, PushBody, Qos, Reliability};
use zonda_program::{Connection, Failure, node};
use zonda_router::node::{LinkStatus, Node, Value};

use crate::event::Event;

/// An open node, at one of the levels.
pub enum OpenNode {
    /// A session.
    Session(Session),
    /// A node without a session.
    Node(Node),
}

/// A subscriber, until it is dropped.
pub enum Subscriber {
    /// A subscriber of the session.
    Session(#[expect(dead_code, reason = "kept until dropped")] pubsub::Subscriber<Handler>),
    /// A subscriber of the node.
    Node(#[expect(dead_code, reason = "kept until dropped")] node::Subscriber),
}

type Handler = <Callback<Sample> as zonda::handlers::IntoHandler<Sample>>::Handler;

/// A publisher.
pub enum Publisher {
    /// A publisher of the session.
    Session(pubsub::Publisher<'static>),
    /// A publisher of the node.
    Node(node::Publisher),
}

impl OpenNode {
    /// Opens a node as the flags request, with or without a session above it.
    pub fn open(connection: &Connection, is_node: bool) -> Result<OpenNode, Failure> {
        match is_node {
            false => connection.open().map(OpenNode::Session),
            true => node::open(connection).map(OpenNode::Node),
        }
    }

    /// Returns the session, if there is one.
    pub fn session(&self) -> Option<&Session> {
        match self {
            OpenNode::Session(session) => Some(session),
            OpenNode::Node(_) => None,
        }
    }

    /// Prints the addresses to connect to.
    pub fn ready(&self) {
        let locators = match self {
            OpenNode::Session(session) => session.info().locators().into(),
            OpenNode::Node(node) => node.locators(),
        };
        let listening = locators.iter().map(ToString::to_string).collect();
        Event::Ready { listening }.say();
    }

    /// Returns every live link.
    pub fn links(&self) -> Vec<LinkStatus> {
        match self {
            OpenNode::Session(session) => session.info().links().into(),
            OpenNode::Node(node) => node.links(),
        }
    }

    /// Calls a function with each payload received on a key, on the task that reads the link.
    pub fn subscribe(
        &self,
        key: &'static str,
        receive: impl Fn(&[u8]) + Send + Sync + 'static,
    ) -> Result<Subscriber, Failure> {
        match self {
            OpenNode::Session(session) => {
                let subscriber = session.declare_subscriber(key);
                let subscriber =
                    subscriber.callback(move |sample| receive(sample.payload().as_slice()));
                Ok(Subscriber::Session(subscriber.wait()?))
            }
            OpenNode::Node(node) => node::Subscriber::declare(node, key, move |delivery| {
                if let PushBody::Put(put) = &delivery.push.body {
                    receive(put.payload);
                }
            })
            .map(Subscriber::Node),
        }
    }

    /// Declares a publisher.
    pub fn publisher(
        &self,
        key: &'static str,
        qos: Qos,
        reliability: Reliability,
    ) -> Result<Publisher, Failure> {
        match self {
            OpenNode::Session(session) => {
                let publisher = session
                    .declare_publisher(key)
                    .priority(qos.priority())
                    .congestion_control(qos.congestion_control())
                    .express(qos.is_express())
                    .reliability(reliability);
                Ok(Publisher::Session(publisher.wait()?))
            }
            OpenNode::Node(node) => {
                let publisher = node::Publisher::with(node, key, qos, reliability);
                publisher.map(Publisher::Node)
            }
        }
    }
}

impl Publisher {
    /// Publishes a value.
    #[inline]
    pub fn put(&self, payload: ZBytes) -> Result<Outcome, PublishError> {
        match self {
            Publisher::Session(publisher) => publisher.put(payload).outcome().wait(),
            Publisher::Node(publisher) => put_by_node(publisher, payload),
        }
    }
}

/// Publishes bytes of the session by the node: short ones are copied, longer ones shared.
#[inline(always)]
pub fn put_by_node(publisher: &node::Publisher, payload: ZBytes) -> Result<Outcome, PublishError> {
    /// Size from which payloads have memory that can be shared.
    const SHARED_BYTES_MIN: usize = 64;
    if payload.len() < SHARED_BYTES_MIN {
        publisher.put_value(Value::Borrowed(payload.as_slice()))
    } else {
        publisher.put(&Payload::from(payload))
    }
}
