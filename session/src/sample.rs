// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Sample`]: what a subscriber receives.

use zonda_codec::payload::shared_part;
use zonda_codec::{
    CongestionControl, Del, KeyExpr, Priority, PushBody, Put, Reliability, Timestamp,
};
use zonda_router::node::Delivery;

use crate::bytes::{Encoding, ZBytes};

pub use zonda_codec::{EntityGlobalId, SourceInfo};
pub use zonda_router::forwarding::Locality;
pub use zonda_router::node::SampleKind;

/// The reference's name of the number of a message in its source.
pub type SourceSn = u32;

/// A value (or its deletion) for a key, with everything its publisher said about it.
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
#[derive(Debug, Clone)]
pub struct Sample {
    fields: SampleFields,
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
    /// How to read the payload.
    pub encoding: Encoding,
    /// When the value was made, if its publisher or a router stamped it.
    pub timestamp: Option<Timestamp>,
    /// Priority.
    pub priority: Priority,
    /// What its publisher wanted under congestion.
    pub congestion_control: CongestionControl,
    /// Whether it was not to wait for company in a batch.
    pub express: bool,
    /// Whether it came on the reliable channel.
    pub reliability: Reliability,
    /// Who published it.
    pub source_info: Option<SourceInfo>,
    /// The publisher's own bytes beside the payload.
    pub attachment: Option<ZBytes>,
}

impl Sample {
    /// The key the sample was published on: never the subscriber's pattern.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.fields.key_expr
    }

    /// The value; empty for a deletion.
    pub fn payload(&self) -> &ZBytes {
        &self.fields.payload
    }

    /// Put or delete.
    pub fn kind(&self) -> SampleKind {
        self.fields.kind
    }

    /// How to read the payload.
    pub fn encoding(&self) -> &Encoding {
        &self.fields.encoding
    }

    /// When the value was made, if its publisher or a router stamped it.
    pub fn timestamp(&self) -> Option<&Timestamp> {
        self.fields.timestamp.as_ref()
    }

    /// The priority it was sent with.
    pub fn priority(&self) -> Priority {
        self.fields.priority
    }

    /// What its publisher wanted under congestion.
    pub fn congestion_control(&self) -> CongestionControl {
        self.fields.congestion_control
    }

    /// Whether it was not to wait for company in a batch.
    pub fn express(&self) -> bool {
        self.fields.express
    }

    /// Whether it came on the reliable channel.
    pub fn reliability(&self) -> Reliability {
        self.fields.reliability
    }

    /// Who published it, if the publisher said so.
    pub fn source_info(&self) -> Option<&SourceInfo> {
        self.fields.source_info.as_ref()
    }

    /// The publisher's own bytes beside the payload.
    pub fn attachment(&self) -> Option<&ZBytes> {
        self.fields.attachment.as_ref()
    }

    /// The same with another key.
    pub(crate) fn renamed(mut self, key: KeyExpr<'static>) -> Sample {
        self.fields.key_expr = key;
        self
    }

    /// Shares the delivery's buffer; copies only what is small.
    ///
    /// Each field is written where it will be read: building the parts one by one and moving them together costs more
    /// than all the rest.
    #[inline(always)]
    pub(crate) fn new(delivery: &Delivery<'_>) -> Sample {
        match &delivery.push.body {
            PushBody::Put(put) => Sample::of_put(delivery, put),
            PushBody::Del(del) => Sample::of_del(delivery, del),
        }
    }

    /// The usual put is built from constants beside what it has; the rich one moves more than it needs to.
    #[inline(always)]
    fn of_put(delivery: &Delivery<'_>, put: &Put<'_>) -> Sample {
        let plain =
            put.encoding.schema.is_none() && put.source_info.is_none() && put.attachment.is_none();
        if !plain {
            return Sample::of_rich_put(delivery, put);
        }
        let qos = delivery.push.qos;
        Sample {
            fields: SampleFields {
                payload: ZBytes::of_block(delivery.block, put.payload),
                key_expr: delivery.key.clone(),
                kind: SampleKind::Put,
                encoding: Encoding::from_parts(put.encoding.id, None),
                timestamp: put.timestamp,
                priority: qos.priority(),
                congestion_control: qos.congestion_control(),
                express: qos.is_express(),
                reliability: delivery.reliability,
                source_info: None,
                attachment: None,
            },
        }
    }

    #[inline(never)]
    fn of_rich_put(delivery: &Delivery<'_>, put: &Put<'_>) -> Sample {
        let (block, qos) = (delivery.block, delivery.push.qos);
        let schema = put.encoding.schema.map(|part| shared_part(block, part));
        Sample {
            fields: SampleFields {
                key_expr: delivery.key.clone(),
                payload: ZBytes::of_block(block, put.payload),
                kind: SampleKind::Put,
                encoding: Encoding::from_parts(put.encoding.id, schema),
                timestamp: put.timestamp,
                priority: qos.priority(),
                congestion_control: qos.congestion_control(),
                express: qos.is_express(),
                reliability: delivery.reliability,
                source_info: put.source_info,
                attachment: put.attachment.map(|part| ZBytes::of_block(block, part)),
            },
        }
    }

    /// That a liveliness token came or went.
    pub(crate) fn of_token(key: KeyExpr<'static>, alive: bool) -> Sample {
        let kind = match alive {
            true => SampleKind::Put,
            false => SampleKind::Delete,
        };
        Sample {
            fields: SampleFields {
                key_expr: key,
                payload: ZBytes::new(),
                kind,
                encoding: Encoding::default(),
                timestamp: None,
                priority: Priority::default(),
                congestion_control: CongestionControl::default(),
                express: false,
                reliability: Reliability::default(),
                source_info: None,
                attachment: None,
            },
        }
    }

    #[cold]
    fn of_del(delivery: &Delivery<'_>, del: &Del<'_>) -> Sample {
        let (block, qos) = (delivery.block, delivery.push.qos);
        Sample {
            fields: SampleFields {
                key_expr: delivery.key.clone(),
                payload: ZBytes::new(),
                kind: SampleKind::Delete,
                encoding: Encoding::default(),
                timestamp: del.timestamp,
                priority: qos.priority(),
                congestion_control: qos.congestion_control(),
                express: qos.is_express(),
                reliability: delivery.reliability,
                source_info: del.source_info,
                attachment: del.attachment.map(|part| ZBytes::of_block(block, part)),
            },
        }
    }
}

impl From<Sample> for SampleFields {
    fn from(sample: Sample) -> SampleFields {
        sample.fields
    }
}

impl crate::handlers::Stored for Sample {
    /// Small parts get buffers of their own, so that a queue of small samples does not hold large receive buffers.
    fn before_storing(mut self) -> Sample {
        self.fields.payload = self.fields.payload.detached();
        self.fields.attachment = self.fields.attachment.map(|a| a.detached());
        self.fields.encoding.detach();
        self
    }
}
