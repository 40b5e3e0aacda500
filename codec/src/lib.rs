// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Zenoh 1.x wire protocol (version 0x09): bytes to messages and back.
//!
//! Everything here is a plain function of its input: no I/O, no clock, no async, no thread, no `unsafe`.
//!
//! - **Decoding** borrows. A message is a view into the bytes it was read from; payloads, texts and
//!   extensions are slices of the input. Nothing is allocated and nothing panics, whatever the bytes are.
//! - **Encoding** writes straight into the caller's buffer through a [`Writer`] and reports [`EncodeError::NoRoom`]
//!   without side effects when the message does not fit.
//!
//! ```
//! use zonda_codec::{Encode, NetworkMessage, Push, Put, PushBody, Reader, WireExpr, Writer};
//!
//! let push = Push::new(WireExpr::full("demo/a"), PushBody::Put(Put::new(b"hello")));
//! let mut batch = [0; 64];
//! let mut writer = Writer::new(&mut batch);
//! push.encode(&mut writer)?;
//!
//! let mut reader = Reader::new(writer.written());
//! assert_eq!(NetworkMessage::decode(&mut reader)?, NetworkMessage::Push(push));
//! assert!(reader.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Map of the modules, from the bottom up: [`reader`] and [`writer`] are the only code that indexes
//! bytes; [`id`], [`qos`], [`timestamp`], [`encoding`], [`wire_expr`] and [`extension`] are the shared
//! parts; [`body`], [`network`], [`transport`], [`scouting`] and [`linkstate`] hold one message per file,
//! each below a picture of its bytes. [`key_expr`], [`locator`] and [`payload`] are the value types that
//! the layers above share. [`shared`] changes messages whose payloads lie in shared memory to and from plain ones.
#![forbid(unsafe_code)]

pub mod body;
pub mod civil;
pub mod encoding;
pub mod error;
pub mod extension;
pub mod id;
pub mod key_expr;
pub mod linkstate;
pub mod locator;
mod masked;
pub mod network;
pub mod payload;
pub mod qos;
pub mod reader;
pub mod scouting;
pub mod shared;
pub mod short;
pub mod slice;
mod texts;
pub mod timestamp;
pub mod transport;
pub mod wire_expr;
pub mod writer;

pub use body::{Consolidation, Del, ErrBody, PushBody, Put, Query, QueryBody, Reply, ResponseBody};
pub use encoding::Encoding;
pub use error::DecodeError;
pub use extension::RawExtensions;
pub use id::{EntityGlobalId, IdError, Roles, SourceInfo, WhatAmI, ZenohId};
pub use key_expr::{
    KeyExpr, KeyExprError, OwnedNonWildKeyExpr, SetIntersectionLevel, keyexpr, nonwild_keyexpr,
};
pub use linkstate::{LinkState, LinkStateList, LinkStates, Numbers};
pub use locator::{Endpoint, EndpointError, Locator};
pub use masked::masked;
pub use network::{
    Copied, Declaration, Declare, HeadBlock, HeaderTemplate, Interest, InterestMode,
    InterestOptions, NetworkMessage, NewHead, NodeId, NumberedFront, NumberedHead, Oam, OamBody,
    PassedHead, PreparedHead, Push, PushHead, PushRun, QueryableInfo, Request, Response,
    ResponseFinal, ResponseHead, RunItem, ShortHead, StackedHead, Target, TsStack, TsStackBuf,
};
pub use payload::Payload;
pub use qos::{CongestionControl, Priority, Qos, Reliability};
pub use reader::Reader;
pub use scouting::{Hello, Locators, Scout, ScoutingMessage};
pub use slice::{SliceBuffer, ZSlice};
pub use timestamp::{Ntp64, Timestamp};
pub use transport::{
    Close, Fragment, FrameHeader, InitAck, InitExt, InitSyn, Join, NextSn, OpenAck, OpenExt,
    OpenSyn, QosLink, RemoteBound, Resolution, TransportMessage, TransportOam,
};
pub use wire_expr::{Mapping, WireExpr};
pub use writer::{Encode, EncodeError, Writer};

/// The protocol version of this crate, sent in INIT, JOIN, SCOUT and HELLO.
pub const PROTOCOL_VERSION: u8 = 9;
