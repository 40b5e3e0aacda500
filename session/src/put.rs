// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishing on a key without declaring a publisher: the builder of [`Session::put`] and [`Session::delete`].

use std::future::{IntoFuture, Ready, ready};

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{Outcome, PublishError, Wait as Limit};

use crate::bytes::ZBytes;
use crate::publication::{Message, forgive_drop, message_setters, service_setters};
use crate::session::Session;
use crate::wait::Wait;

/// A put or delete under construction; made by [`Session::put`] and [`Session::delete`].
///
/// `.wait()` and `.await` give an [`Outcome`]: sent, queued, or (congestion control `Drop`) dropped for a slow peer.
#[derive(Debug)]
#[must_use = "nothing is published before .await or .wait()"]
pub struct SessionPutBuilder<'a, 'b> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(crate) message: Message,
}

/// A delete under construction; the same builder.
pub type SessionDeleteBuilder<'a, 'b> = SessionPutBuilder<'a, 'b>;

impl SessionPutBuilder<'_, '_> {
    message_setters!();
    service_setters!(message.delivery);

    /// Publishes without waiting, whatever the congestion control.
    ///
    /// # Errors
    /// [`PublishError::WouldBlock`] or [`PublishError::Dropped`] with the slow peer, when a queue is full.
    pub fn try_publish(self) -> Result<Outcome, PublishError> {
        self.publish(Limit::Never)
    }

    fn publish(self, limit: Limit) -> Result<Outcome, PublishError> {
        self.session
            .node()
            .publish(&self.key?, &self.message.view()?, limit)
    }
}

impl Wait for SessionPutBuilder<'_, '_> {
    type To = Result<Outcome, PublishError>;

    /// Publishes.
    ///
    /// # Blocking
    /// Under congestion control `Drop` never; else at most the timeout of the builder.
    fn wait(self) -> Self::To {
        let limit = self.message.patience();
        forgive_drop(self.publish(limit))
    }
}

impl IntoFuture for SessionPutBuilder<'_, '_> {
    type Output = Result<Outcome, PublishError>;
    type IntoFuture = Ready<Self::Output>;

    /// Publishes like [`Wait::wait`]; under congestion control `Block` a declared publisher's put waits by waker,
    /// this one holds the thread.
    fn into_future(self) -> Self::IntoFuture {
        ready(self.wait())
    }
}

/// What can be an attachment: anything that can be a payload, or an option of it.
pub trait IntoAttachment {
    /// The attachment, if any.
    fn into_attachment(self) -> Option<ZBytes>;
}

impl<T: Into<ZBytes>> IntoAttachment for T {
    fn into_attachment(self) -> Option<ZBytes> {
        Some(self.into())
    }
}

impl<T: Into<ZBytes>> IntoAttachment for Option<T> {
    fn into_attachment(self) -> Option<ZBytes> {
        self.map(Into::into)
    }
}
