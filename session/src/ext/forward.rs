// SPDX-License-Identifier: MIT OR Apache-2.0

//! Forwarding from a subscriber straight to a publisher.

use crate::handlers::FifoChannelHandler;
use crate::pubsub::{Publisher, Subscriber};
use crate::sample::{Sample, SampleFields, SampleKind};
use crate::wait::Pending;

/// Forwarding of all samples that a subscriber receives, on another key.
///
/// ```no_run
/// # async fn forward() -> zonda::Result<()> {
/// use zonda::ext::SubscriberForward;
///
/// let session = zonda::open(zonda::Config::default()).await?;
/// let mut subscriber = session.declare_subscriber("from/here").await?;
/// let publisher = session.declare_publisher("to/there").await?;
/// subscriber.forward(publisher).await?;
/// # Ok(())
/// # }
/// ```
pub trait SubscriberForward<'a, S> {
    /// Completes when the subscriber ends, or with the first sample that cannot be published.
    type Output;

    /// Publishes all samples that come from now on, deletions too, with payload, encoding,
    /// attachment and timestamp as they are.
    fn forward(&'a mut self, sink: S) -> Self::Output;
}

impl<'a, 'b: 'a> SubscriberForward<'a, Publisher<'b>> for Subscriber<FifoChannelHandler<Sample>> {
    type Output = Pending<'a, crate::Result<()>>;

    fn forward(&'a mut self, publisher: Publisher<'b>) -> Self::Output {
        Box::pin(async move {
            while let Ok(sample) = self.recv_async().await {
                let fields = SampleFields::from(sample);
                let put = match fields.kind {
                    SampleKind::Put => publisher.put(fields.payload).encoding(fields.encoding),
                    SampleKind::Delete => publisher.delete(),
                };
                let put = put
                    .attachment(fields.attachment)
                    .timestamp(fields.timestamp);
                put.await?;
            }
            Ok(())
        })
    }
}
