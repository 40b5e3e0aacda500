// SPDX-License-Identifier: MIT OR Apache-2.0

//! A publisher as the end of a stream of samples.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_sink::Sink;

use super::Publisher;
use crate::sample::{Sample, SampleFields, SampleKind};
use crate::wait::Wait;

/// Publishes samples on its own key, with their payloads, encodings, attachments and timestamps.
///
/// ```
/// # async fn forward() -> zonda::Result<()> {
/// # let session = zonda::open(zonda::Config::default()).await?;
/// use futures_util::StreamExt;
///
/// let subscriber = session.declare_subscriber("from").await?;
/// let publisher = session.declare_publisher("to").await?;
/// subscriber.stream().map(Ok).forward(publisher).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Blocking
/// Under congestion control `Block` a sample waits for slow neighbours on the thread that sends it.
impl Sink<Sample> for Publisher<'_> {
    type Error = crate::Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<crate::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(self: Pin<&mut Self>, sample: Sample) -> crate::Result<()> {
        let sample = SampleFields::from(sample);
        match sample.kind {
            SampleKind::Put => self
                .put(sample.payload)
                .encoding(sample.encoding)
                .attachment(sample.attachment)
                .timestamp(sample.timestamp)
                .wait(),
            SampleKind::Delete => self
                .delete()
                .attachment(sample.attachment)
                .timestamp(sample.timestamp)
                .wait(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<crate::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<crate::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
