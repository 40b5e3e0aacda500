// SPDX-License-Identifier: MIT OR Apache-2.0

//! End of callbacks: no call of one runs any more, and it has been dropped.

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use event_listener::{Event, Listener};
use zonda_codec::KeyExpr;

use crate::wait::{Pending, Resolvable, Wait};

/// A group of callbacks; reports when all that have [entered](GroupMembership::of) are dropped.
#[derive(Clone, Default)]
pub(crate) struct CallbackGroup(Arc<RunningCallbacks>);

#[derive(Default)]
struct RunningCallbacks {
    here: AtomicUsize,
    went: Event,
}

/// Membership of a callback in its groups; stored with the callback and dropped after it.
pub(crate) struct GroupMembership([Option<CallbackGroup>; 3]);

impl GroupMembership {
    /// Enters a callback into these groups.
    pub fn of(groups: [Option<&CallbackGroup>; 3]) -> GroupMembership {
        GroupMembership(groups.map(|group| {
            let group = group?;
            group.0.here.fetch_add(1, Ordering::Relaxed);
            Some(group.clone())
        }))
    }
}

impl Drop for GroupMembership {
    fn drop(&mut self) {
        for group in self.0.iter().flatten() {
            if group.0.here.fetch_sub(1, Ordering::AcqRel) == 1 {
                group.0.went.notify(usize::MAX);
            }
        }
    }
}

impl CallbackGroup {
    pub fn is_gone(&self) -> bool {
        self.0.here.load(Ordering::Acquire) == 0
    }

    /// Waits until the callbacks are dropped; returns at once inside of a callback, as the thread
    /// would wait for itself.
    pub fn wait(&self) {
        if is_inside() {
            return;
        }
        while !self.is_gone() {
            let went = self.0.went.listen();
            if !self.is_gone() {
                went.wait();
            }
        }
    }

    /// Waits by waker. The caller has to know whether the thread is inside of a callback.
    pub async fn wait_async(&self) {
        while !self.is_gone() {
            let went = self.0.went.listen();
            if !self.is_gone() {
                went.await;
            }
        }
    }
}

thread_local! {
    /// Callbacks of sessions that this thread is inside of.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Returns true if this thread is inside of a callback.
pub(crate) fn is_inside() -> bool {
    INSIDE.with(Cell::get) > 0
}

/// Marks the thread as inside of a callback, until it is dropped.
pub(crate) struct InsideCallback(());

impl InsideCallback {
    #[inline(always)]
    pub fn enter() -> InsideCallback {
        INSIDE.with(|inside| inside.set(inside.get() + 1));
        InsideCallback(())
    }
}

impl Drop for InsideCallback {
    #[inline(always)]
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.set(inside.get() - 1));
    }
}

/// Error of a key that was not undeclared.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndeclareError {
    /// The session has not declared this key, and it is no clone of a declared one.
    #[error("this session has not declared key {0}")]
    Unknown(KeyExpr<'static>),
}

zonda_codec::debug_as_text!(UndeclareError);

/// The end of a callback: no call of it begins any more. Waiting for this waits until no call runs
/// any more and the callback has been dropped; a caller that does not want to wait drops it. Inside
/// of a callback the wait returns at once, as the thread would wait for itself.
///
/// ```
/// # use std::sync::Arc;
/// # use zonda::{Config, Wait};
/// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let seen = Arc::new(());
/// let kept = seen.clone();
/// let subscriber = session.declare_subscriber("demo/**").callback(move |_| drop(kept.clone())).wait()?;
/// subscriber.undeclare().wait()?;
/// assert_eq!(Arc::strong_count(&seen), 1);
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "it has ended, but a call may still run: .await or .wait() waits for that"]
pub struct Ended<E = Infallible> {
    refused: Option<E>,
    waits: Option<CallbackGroup>,
    upon_asking: Option<CallbackGroup>,
}

impl Ended {
    /// Creates the end of an entity that has no callback, or one without a caller that waits.
    pub(crate) fn now() -> Ended {
        Ended {
            refused: None,
            waits: None,
            upon_asking: None,
        }
    }

    /// Creates an end whose wait waits for this group in any case.
    pub(crate) fn waiting(gone: CallbackGroup) -> Ended {
        Ended {
            waits: Some(gone),
            ..Ended::now()
        }
    }

    /// Creates an end whose wait waits for this group only after [`Ended::wait_callbacks`].
    pub(crate) fn upon_asking(gone: CallbackGroup) -> Ended {
        Ended {
            upon_asking: Some(gone),
            ..Ended::now()
        }
    }

    /// Converts it to one that can fail.
    pub(crate) fn fallible<E>(self) -> Ended<E> {
        Ended {
            refused: None,
            waits: self.waits,
            upon_asking: self.upon_asking,
        }
    }
}

impl<E> Ended<E> {
    /// Creates the result of an end that was refused with this error.
    pub(crate) fn refused(error: E) -> Ended<E> {
        Ended {
            refused: Some(error),
            ..Ended::now().fallible()
        }
    }

    /// Waits for every callback: also for one that fills a queue with a reader elsewhere, for the
    /// gets of a querier and for listeners in the background.
    ///
    /// # Blocking
    /// For ever if no reader takes from such a queue.
    pub fn wait_callbacks(mut self) -> Self {
        self.waits = self.upon_asking.take().or(self.waits);
        self
    }

    fn result(self) -> crate::Result<()>
    where
        E: Into<crate::Error>,
    {
        self.refused.map_or(Ok(()), |refused| Err(refused.into()))
    }
}

impl<E> fmt::Debug for Ended<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended").finish_non_exhaustive()
    }
}

impl<E: Into<crate::Error>> Resolvable for Ended<E> {
    type To = crate::Result<()>;
}

impl<E: Into<crate::Error>> Wait for Ended<E> {
    /// Waits until the callback is gone.
    ///
    /// # Blocking
    /// Until no call of the callback runs; inside of a callback never.
    fn wait(self) -> Self::To {
        if let Some(gone) = &self.waits {
            gone.wait();
        }
        self.result()
    }
}

impl<E: Into<crate::Error> + Send + 'static> IntoFuture for Ended<E> {
    type Output = crate::Result<()>;
    type IntoFuture = Pending<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let is_inside = is_inside();
        Box::pin(async move {
            if let Some(gone) = self.waits.as_ref().filter(|_| !is_inside) {
                gone.wait_async().await;
            }
            self.result()
        })
    }
}
