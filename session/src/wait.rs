// SPDX-License-Identifier: MIT OR Apache-2.0

//! Execution of operations: every builder is a future to `.await` and has a blocking
//! [`Wait::wait`].

use std::future::{Future, IntoFuture, Ready, ready};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll};

use zonda_codec::Locator;

use crate::error::Refusal;

/// Carries an operation out on the calling thread.
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// session.put("demo/key", "value").wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
pub trait Wait: Resolvable {
    /// Carries the operation out.
    ///
    /// # Blocking
    /// Blocks until the operation is done; each builder documents how long that can be. Do not use
    /// it on a thread that drives the runtime the session itself runs on (a current-thread runtime
    /// handed over with `Config::with_runtime_handle`): `.await` there.
    fn wait(self) -> Self::To;
}

/// An operation that runs by [`Wait::wait`] or by `.await`.
pub trait Resolvable {
    /// Result of the operation.
    type To;
}

/// An operation that returns `Output`, by `.await` or `.wait()`.
///
/// ```
/// use zonda::{Resolve, Session};
///
/// fn hello(session: &Session) -> impl Resolve<zonda::Result<()>> {
///     session.put("demo/key", "hello")
/// }
/// ```
pub trait Resolve<Output>: Wait<To = Output> + IntoFuture<Output = Output> {}

impl<T, Output> Resolve<Output> for T where T: Wait<To = Output> + IntoFuture<Output = Output> {}

/// An operation with its own type of error. [`Wait::wait`] and `.await` return [any
/// error](crate::Error), so that each of them can stand last in a function that returns
/// [`crate::Result`]; [`typed`](Operation::typed) returns the operation's own.
///
/// ```
/// use zonda::{Config, Operation, PublishError, Session, Wait};
///
/// fn hello(session: &Session) -> zonda::Result<()> {
///     session.put("demo/key", "hello").wait()
/// }
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// hello(&session)?;
/// session.close().wait()?;
/// assert_eq!(session.put("demo/key", "hello").typed().wait(), Err(PublishError::Closed));
/// assert!(hello(&session).unwrap_err().is::<zonda::session::SessionClosedError>());
/// # Ok::<(), zonda::Error>(())
/// ```
pub trait Operation: Sized {
    /// Value that the operation returns.
    type Given;
    /// Error of the operation.
    type Refusal: Refusal;

    /// Carries the operation out; equivalent to `.typed().wait()`.
    ///
    /// # Errors
    /// The errors of the builder.
    ///
    /// # Blocking
    /// Blocks as [`Wait::wait`] does.
    fn perform(self) -> Result<Self::Given, Self::Refusal>;

    /// Performs the operation and boxes its error; [`Wait::wait`] calls this.
    #[doc(hidden)]
    #[inline(always)]
    fn perform_any(self) -> crate::Result<Self::Given> {
        self.perform().map_err(Refusal::into_any)
    }

    /// Converts to an operation whose `.wait()` and `.await` return its own error.
    fn typed(self) -> Typed<Self> {
        Typed(self)
    }
}

/// An [`Operation`] that can be awaited.
pub trait OperationLater: Operation {
    /// Future of the operation.
    type Later: Future<Output = Result<Self::Given, Self::Refusal>> + Unpin;

    /// Carries the operation out, waiting by waker; equivalent to `.typed().into_future()`.
    fn perform_later(self) -> Self::Later;
}

impl<O: Operation> Resolvable for O {
    type To = crate::Result<O::Given>;
}

impl<O: Operation> Wait for O {
    #[inline(always)]
    fn wait(self) -> Self::To {
        self.perform_any()
    }
}

/// An operation with its own error; made by [`Operation::typed`].
#[derive(Debug)]
#[must_use = "nothing is done before .await or .wait()"]
pub struct Typed<O>(O);

impl<O: Operation> Resolvable for Typed<O> {
    type To = Result<O::Given, O::Refusal>;
}

impl<O: Operation> Wait for Typed<O> {
    #[inline(always)]
    fn wait(self) -> Self::To {
        self.0.perform()
    }
}

impl<O: OperationLater> IntoFuture for Typed<O> {
    type Output = Result<O::Given, O::Refusal>;
    type IntoFuture = O::Later;

    fn into_future(self) -> Self::IntoFuture {
        self.0.perform_later()
    }
}

/// The future of an operation: its value, or any error.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Performing<F>(pub(crate) F);

impl<F, T, E> Future for Performing<F>
where
    F: Future<Output = Result<T, E>> + Unpin,
    E: Refusal,
{
    type Output = crate::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map_err(Refusal::into_any)
    }
}

/// Implements `.await` for an [`OperationLater`]: `[generics] builder`, and `where` its bounds.
macro_rules! awaited {
    ([$($generics:tt)*] $builder:ty $(where $($bounds:tt)+)?) => {
        impl<$($generics)*> std::future::IntoFuture for $builder $(where $($bounds)+)? {
            type Output = $crate::Result<<Self as $crate::wait::Operation>::Given>;
            type IntoFuture =
                $crate::wait::Performing<<Self as $crate::wait::OperationLater>::Later>;

            fn into_future(self) -> Self::IntoFuture {
                $crate::wait::Performing($crate::wait::OperationLater::perform_later(self))
            }
        }
    };
}

pub(crate) use awaited;

/// Implements `.await` for an [`Operation`] that never blocks, by a future that is ready at once:
/// `[generics] builder`.
macro_rules! ready_at_once {
    ([$($generics:tt)*] $builder:ty) => {
        impl<$($generics)*> $crate::wait::OperationLater for $builder {
            type Later = std::future::Ready<
                Result<
                    <Self as $crate::wait::Operation>::Given,
                    <Self as $crate::wait::Operation>::Refusal,
                >,
            >;

            fn perform_later(self) -> Self::Later {
                std::future::ready($crate::wait::Operation::perform(self))
            }
        }

        $crate::wait::awaited!([$($generics)*] $builder);
    };
}

pub(crate) use ready_at_once;

/// A future behind a pointer, as [`IntoFuture`] of builders needs a type that can be named.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A list that can be used as it is, or awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T>(pub(crate) Vec<T>);

impl<T> Deref for Listed<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Listed<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> IntoIterator for Listed<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Listed<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> From<Listed<T>> for Vec<T> {
    fn from(listed: Listed<T>) -> Vec<T> {
        listed.0
    }
}

impl<T> Resolvable for Listed<T> {
    type To = std::vec::IntoIter<T>;
}

impl<T> Wait for Listed<T> {
    fn wait(self) -> Self::To {
        self.0.into_iter()
    }
}

impl<T> IntoFuture for Listed<T> {
    type Output = std::vec::IntoIter<T>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.0.into_iter())
    }
}

/// Locators of a session's listeners: a list that can be used as it is, or awaited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locators(pub(crate) Vec<Locator>);

impl Deref for Locators {
    type Target = Vec<Locator>;

    fn deref(&self) -> &Vec<Locator> {
        &self.0
    }
}

impl DerefMut for Locators {
    fn deref_mut(&mut self) -> &mut Vec<Locator> {
        &mut self.0
    }
}

impl IntoIterator for Locators {
    type Item = Locator;
    type IntoIter = std::vec::IntoIter<Locator>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Locators> for Vec<Locator> {
    fn from(locators: Locators) -> Self {
        locators.0
    }
}

impl Resolvable for Locators {
    type To = Vec<Locator>;
}

impl Wait for Locators {
    fn wait(self) -> Self::To {
        self.0
    }
}

impl IntoFuture for Locators {
    type Output = Vec<Locator>;
    type IntoFuture = Ready<Vec<Locator>>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.0)
    }
}

/// The result of an operation that is done already, in the form of one that can be awaited.
#[derive(Debug)]
#[must_use = "await it or call wait()"]
pub struct Done<T>(pub(crate) T);

impl<T> Resolvable for Done<T> {
    type To = T;
}

impl<T> Wait for Done<T> {
    fn wait(self) -> T {
        self.0
    }
}

impl<T> IntoFuture for Done<T> {
    type Output = T;
    type IntoFuture = Ready<T>;

    fn into_future(self) -> Ready<T> {
        ready(self.0)
    }
}
