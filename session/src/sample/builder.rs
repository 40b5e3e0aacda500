// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`SampleBuilder`]: samples that no session received, for tests and for code that works on
//! samples.

use std::marker::PhantomData;

use zonda_codec::{CongestionControl, KeyExpr, Priority, Qos, Reliability, SourceInfo, Timestamp};

use super::{Sample, SampleKind};
use crate::bytes::{Encoding, OptionZBytes, ZBytes};
use crate::error::Error;
use crate::timestamp_stack::{TimestampInstrumentation, TimestampStack};

/// Marker of a [`SampleBuilder`] that builds a put.
#[derive(Debug, Clone)]
pub struct SampleBuilderPut(());

/// Marker of a [`SampleBuilder`] that builds a deletion.
#[derive(Debug, Clone)]
pub struct SampleBuilderDelete(());

/// Marker of a [`SampleBuilder`] that builds a put or a deletion.
#[derive(Debug, Clone)]
pub struct SampleBuilderAny(());

/// A sample under construction: a new one, or a changed one.
///
/// ```
/// use zonda::key_expr::KeyExpr;
/// use zonda::sample::{Sample, SampleBuilder, SampleKind};
///
/// let key = KeyExpr::new("demo/key")?;
/// let sample: Sample = SampleBuilder::put(key, "21.5").attachment("celsius").into();
/// assert_eq!(sample.payload().try_to_string()?, "21.5");
/// let other: Sample = SampleBuilder::try_from(sample)?.payload("22").into();
/// assert!(other.attachment().is_some() && other.kind() == SampleKind::Put);
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "it becomes a sample by into()"]
pub struct SampleBuilder<T> {
    sample: Sample,
    kind: PhantomData<T>,
}

impl<T> SampleBuilder<T> {
    fn of(sample: Sample) -> Self {
        SampleBuilder {
            sample,
            kind: PhantomData,
        }
    }

    /// Sets the key.
    pub fn keyexpr(mut self, key: impl Into<KeyExpr<'static>>) -> Self {
        self.sample.key_expr = key.into();
        self
    }

    /// Sets the time at which the value was made. Default: none.
    pub fn timestamp(mut self, timestamp: impl Into<Option<Timestamp>>) -> Self {
        self.sample.timestamp = timestamp.into();
        self
    }

    /// Sets the publisher and the number of the sample. Default: none.
    pub fn source_info(mut self, source: impl Into<Option<SourceInfo>>) -> Self {
        self.sample.source_info = source.into();
        self
    }

    /// Sets the application's own bytes that accompany the payload. Default: none.
    pub fn attachment(mut self, attachment: impl Into<OptionZBytes>) -> Self {
        self.sample.attachment = self
            .sample
            .attachment
            .with_attachment(attachment.into().into());
        self
    }

    /// Sets the [points](crate::timestamp_stack) of its time-stamp stack, which is empty. Default:
    /// no stack.
    pub fn timestamp_instrumentation(
        mut self,
        instrumentation: impl Into<Option<TimestampInstrumentation>>,
    ) -> Self {
        let stack = instrumentation.into().map(TimestampStack::new);
        self.sample.attachment = self.sample.attachment.with_stack(stack);
        self
    }

    /// Sets the priority. Default: data.
    pub fn priority(self, priority: Priority) -> Self {
        let (congestion, express) = (self.sample.congestion_control(), self.sample.express());
        self.qos(Qos::new(priority, congestion, express))
    }

    /// Sets the congestion control. Default: `Drop`.
    pub fn congestion_control(self, congestion: CongestionControl) -> Self {
        let (priority, express) = (self.sample.priority(), self.sample.express());
        self.qos(Qos::new(priority, congestion, express))
    }

    /// Sets the express flag. Default: no.
    pub fn express(self, express: bool) -> Self {
        let (priority, congestion) = (self.sample.priority(), self.sample.congestion_control());
        self.qos(Qos::new(priority, congestion, express))
    }

    /// Sets the reliability. Default: reliable.
    pub fn reliability(mut self, reliability: Reliability) -> Self {
        self.sample.reliability = reliability;
        self
    }

    fn qos(mut self, qos: Qos) -> Self {
        self.sample.qos = qos;
        self
    }
}

impl SampleBuilder<SampleBuilderPut> {
    /// Builds a put of this value on this key.
    pub fn put(key: impl Into<KeyExpr<'static>>, payload: impl Into<ZBytes>) -> Self {
        SampleBuilder::of(Sample::bare(key.into(), SampleKind::Put)).payload(payload)
    }

    /// Sets the value.
    pub fn payload(mut self, payload: impl Into<ZBytes>) -> Self {
        self.sample.payload = payload.into();
        self
    }

    /// Sets the encoding of the payload. Default: plain bytes.
    pub fn encoding(mut self, encoding: impl Into<Encoding>) -> Self {
        self.sample.encoding = encoding.into();
        self
    }
}

impl SampleBuilder<SampleBuilderDelete> {
    /// Builds a deletion: this key has no value any more.
    pub fn delete(key: impl Into<KeyExpr<'static>>) -> Self {
        SampleBuilder::of(Sample::bare(key.into(), SampleKind::Delete))
    }
}

impl<T> From<SampleBuilder<T>> for Sample {
    fn from(builder: SampleBuilder<T>) -> Sample {
        builder.sample
    }
}

impl From<Sample> for SampleBuilder<SampleBuilderAny> {
    fn from(sample: Sample) -> Self {
        SampleBuilder::of(sample)
    }
}

impl TryFrom<Sample> for SampleBuilder<SampleBuilderPut> {
    type Error = Error;

    fn try_from(sample: Sample) -> Result<Self, Error> {
        match sample.kind {
            SampleKind::Put => Ok(SampleBuilder::of(sample)),
            SampleKind::Delete => Err("the sample is a deletion and no put".into()),
        }
    }
}

impl TryFrom<Sample> for SampleBuilder<SampleBuilderDelete> {
    type Error = Error;

    fn try_from(sample: Sample) -> Result<Self, Error> {
        match sample.kind {
            SampleKind::Delete => Ok(SampleBuilder::of(sample)),
            SampleKind::Put => Err("the sample is a put and no deletion".into()),
        }
    }
}
