// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Sample`], which a subscriber receives.

mod beside;
mod builder;

use zonda_codec::payload::shared_part;
use zonda_codec::{
    CongestionControl, Del, KeyExpr, Priority, PushBody, Put, Qos, Reliability, Timestamp, keyexpr,
};
use zonda_router::node::Delivery;

use crate::bytes::{Encoding, ZBytes};
use crate::timestamp_stack::TimestampStack;
use beside::Beside;

pub use builder::{SampleBuilder, SampleBuilderAny, SampleBuilderDelete, SampleBuilderPut};
pub use zonda_codec::{EntityGlobalId, SourceInfo};
pub use zonda_router::node::SampleKind;
pub use zonda_router::table::Locality;

/// The reference's name of the number of a message in its source.
pub type SourceSn = u32;

/// A value (or its deletion) for a key, with all metadata of its publisher.
///
/// ```
/// use zonda::sample::{Sample, SampleKind};
///
/// fn show(sample: &Sample) {
///     match sample.kind() {
///         SampleKind::Put => println!("{} = {:?}", sample.key_expr(), sample.payload()),
///         SampleKind::Delete => println!("{} is gone", sample.key_expr()),
///     }
/// }
/// ```
// In this order each field ends where the next one begins, so that the compiler writes them to their place at once.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Sample {
    key_expr: KeyExpr<'static>,
    payload: ZBytes,
    timestamp: Option<Timestamp>,
    attachment: Beside,
    encoding: Encoding,
    source_info: Option<SourceInfo>,
    /// Priority, congestion control and express flag, decoded on access.
    qos: Qos,
    kind: SampleKind,
    reliability: Reliability,
}

/// The parts of a [`Sample`], to take it apart without copies.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampleFields {
    /// The key.
    pub key_expr: KeyExpr<'static>,
    /// The value; empty for a deletion.
    pub payload: ZBytes,
    /// Put or delete.
    pub kind: SampleKind,
    /// Encoding of the payload.
    pub encoding: Encoding,
    /// Time at which the value was made, if its publisher or a router stamped it.
    pub timestamp: Option<Timestamp>,
    /// Priority.
    pub priority: Priority,
    /// Congestion control that its publisher chose.
    pub congestion_control: CongestionControl,
    /// Set if it was sent at once instead of in a common batch.
    pub express: bool,
    /// Reliability of the channel that it came on.
    pub reliability: Reliability,
    /// The publisher and the number of the sample.
    pub source_info: Option<SourceInfo>,
    /// The publisher's own bytes that accompany the payload.
    pub attachment: Option<ZBytes>,
    /// Times at which it passed nodes, if its publisher asked for them.
    pub timestamp_stack: Option<TimestampStack>,
}

impl Sample {
    /// Returns the key the sample was published on: never the subscriber's pattern.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.key_expr
    }

    /// Returns the value; empty for a deletion.
    pub fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// Returns the value, mutably.
    pub fn payload_mut(&mut self) -> &mut ZBytes {
        &mut self.payload
    }

    /// Returns the kind: put or delete.
    pub fn kind(&self) -> SampleKind {
        self.kind
    }

    /// Returns the encoding of the payload.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Returns the time at which the value was made, if its publisher or a router stamped it.
    pub fn timestamp(&self) -> Option<&Timestamp> {
        self.timestamp.as_ref()
    }

    /// Returns the priority it was sent with.
    pub fn priority(&self) -> Priority {
        self.qos.priority()
    }

    /// Returns the congestion control that its publisher chose.
    pub fn congestion_control(&self) -> CongestionControl {
        self.qos.congestion_control()
    }

    /// Returns true if it was sent at once instead of in a common batch.
    pub fn express(&self) -> bool {
        self.qos.is_express()
    }

    /// Returns the reliability of the channel that it came on.
    pub fn reliability(&self) -> Reliability {
        self.reliability
    }

    /// Returns the publisher and the number of the sample, if the publisher sent them.
    pub fn source_info(&self) -> Option<&SourceInfo> {
        self.source_info.as_ref()
    }

    /// Returns the publisher's own bytes that accompany the payload.
    pub fn attachment(&self) -> Option<&ZBytes> {
        self.attachment.attachment()
    }

    /// Returns the publisher's own bytes that accompany the payload, mutably.
    pub fn attachment_mut(&mut self) -> Option<&mut ZBytes> {
        self.attachment.attachment_mut()
    }

    /// Returns the [times](crate::timestamp_stack) at which it passed nodes, if its publisher asked
    /// for them.
    pub fn timestamp_stack(&self) -> Option<&TimestampStack> {
        self.attachment.stack()
    }

    /// Replaces the key.
    pub(crate) fn renamed(mut self, key: KeyExpr<'static>) -> Sample {
        self.key_expr = key;
        self
    }

    /// Shares the delivery's buffer; copies only what is small.
    #[inline(always)]
    pub(crate) fn new(delivery: &Delivery<'_>) -> Sample {
        match (&delivery.push.body, Model::of(delivery)) {
            (PushBody::Put(put), Some(model)) => {
                let payload = ZBytes::of_block(delivery.block, put.payload);
                model.sample(delivery.key.clone(), payload, &put.timestamp)
            }
            (PushBody::Put(put), None) => Sample::of_rich_put(delivery, put),
            (PushBody::Del(del), _) => Sample::of_del(delivery, del),
        }
    }

    #[inline(never)]
    fn of_rich_put(delivery: &Delivery<'_>, put: &Put<'_>) -> Sample {
        let block = delivery.block;
        let schema = put.encoding.schema.map(|part| shared_part(block, part));
        Sample {
            key_expr: delivery.key.clone(),
            payload: ZBytes::of_block(block, put.payload),
            encoding: Encoding::from_parts(put.encoding.id, schema),
            timestamp: put.timestamp,
            source_info: put.source_info,
            attachment: beside(delivery, put.attachment),
            qos: delivery.push.qos,
            kind: SampleKind::Put,
            reliability: delivery.reliability,
        }
    }

    /// Creates the sample of a liveliness token that came or went.
    pub(crate) fn of_token(key: KeyExpr<'static>, alive: bool) -> Sample {
        match alive {
            true => Sample::bare(key, SampleKind::Put),
            false => Sample::bare(key, SampleKind::Delete),
        }
    }

    /// Creates a put of nothing on the key `empty`, for a place that needs a sample.
    pub fn empty() -> Sample {
        Sample::bare(keyexpr::constant("empty").into(), SampleKind::Put)
    }

    /// Creates a sample without optional fields.
    fn bare(key_expr: KeyExpr<'static>, kind: SampleKind) -> Sample {
        Sample {
            key_expr,
            payload: ZBytes::new(),
            encoding: Encoding::default(),
            timestamp: None,
            source_info: None,
            attachment: Beside::bytes(None),
            qos: Qos::default(),
            kind,
            reliability: Reliability::default(),
        }
    }

    #[cold]
    fn of_del(delivery: &Delivery<'_>, del: &Del<'_>) -> Sample {
        Sample {
            key_expr: delivery.key.clone(),
            payload: ZBytes::new(),
            encoding: Encoding::default(),
            timestamp: del.timestamp,
            source_info: del.source_info,
            attachment: beside(delivery, del.attachment),
            qos: delivery.push.qos,
            kind: SampleKind::Delete,
            reliability: delivery.reliability,
        }
    }
}

/// Returns the parts of a delivery beside its value.
fn beside(delivery: &Delivery<'_>, attachment: Option<&[u8]>) -> Beside {
    Beside::new(
        attachment.map(|part| ZBytes::of_block(delivery.block, part)),
        delivery.push.ts_stack.map(TimestampStack::read),
    )
}

/// The common fields of puts that have only a payload and perhaps a timestamp.
///
/// Each field of a sample is written where it will be read: building the parts one by one and moving them together costs
/// more than all the rest.
pub(crate) struct Model {
    encoding: u16,
    qos: Qos,
    reliability: Reliability,
}

impl Model {
    /// Returns the common fields; `None` for messages that have more.
    #[inline(always)]
    pub fn of(like: &Delivery<'_>) -> Option<Model> {
        let PushBody::Put(put) = &like.push.body else {
            return None;
        };
        let plain = put.encoding.schema.is_none()
            && put.source_info.is_none()
            && put.attachment.is_none()
            && like.push.ts_stack.is_none();
        plain.then_some(Model {
            encoding: put.encoding.id,
            qos: like.push.qos,
            reliability: like.reliability,
        })
    }

    /// Returns the sample with this key and payload.
    #[inline(always)]
    pub fn sample(
        &self,
        key_expr: KeyExpr<'static>,
        payload: ZBytes,
        timestamp: &Option<Timestamp>,
    ) -> Sample {
        Sample {
            key_expr,
            payload,
            encoding: Encoding::from_parts(self.encoding, None),
            timestamp: *timestamp,
            source_info: None,
            attachment: Beside::bytes(None),
            qos: self.qos,
            kind: SampleKind::Put,
            reliability: self.reliability,
        }
    }
}

impl From<Sample> for SampleFields {
    fn from(sample: Sample) -> SampleFields {
        let qos = sample.qos;
        let (attachment, timestamp_stack) = sample.attachment.into_parts();
        SampleFields {
            priority: qos.priority(),
            congestion_control: qos.congestion_control(),
            express: qos.is_express(),
            key_expr: sample.key_expr,
            payload: sample.payload,
            kind: sample.kind,
            encoding: sample.encoding,
            timestamp: sample.timestamp,
            reliability: sample.reliability,
            source_info: sample.source_info,
            attachment,
            timestamp_stack,
        }
    }
}

impl crate::handlers::Stored for Sample {
    /// Copies small parts into their own buffers, so that a queue of small samples does not hold
    /// large receive buffers.
    fn before_storing(mut self) -> Sample {
        self.payload = self.payload.detached();
        self.attachment = self.attachment.detached();
        self.encoding.detach();
        self
    }
}
