// SPDX-License-Identifier: MIT OR Apache-2.0

//! How operations are carried out: every builder is a future to `.await` and has a blocking [`Wait::wait`].

use std::future::{Future, IntoFuture, Ready, ready};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;

use zonda_codec::Locator;

/// Carries an operation out on the calling thread.
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// session.put("demo/key", "value").wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
pub trait Wait {
    /// What the operation gives.
    type To;

    /// Carries the operation out.
    ///
    /// # Blocking
    /// Until it is done; each builder says how long that can be. Do not use it on a thread that drives the runtime
    /// the session itself runs on (a current-thread runtime handed over with `Config::with_runtime_handle`): `.await`
    /// there.
    fn wait(self) -> Self::To;
}

/// An operation; the reference's name of what [`Wait`] says of its result.
pub trait Resolvable {
    /// What the operation gives.
    type To;
}

impl<T: Wait> Resolvable for T {
    type To = <T as Wait>::To;
}

/// An operation that gives `Output`, by `.await` or `.wait()`.
///
/// ```
/// use zonda::{PublishError, Resolve, Session, Wait};
///
/// fn hello(session: &Session) -> impl Resolve<Result<(), PublishError>> {
///     session.put("demo/key", "hello")
/// }
/// ```
pub trait Resolve<Output>: Wait<To = Output> + IntoFuture<Output = Output> {}

impl<T, Output> Resolve<Output> for T where T: Wait<To = Output> + IntoFuture<Output = Output> {}

/// Makes a builder whose [`Wait::wait`] never blocks a future that is ready at once: `[generics] builder`.
macro_rules! ready_at_once {
    ([$($generics:tt)*] $builder:ty) => {
        impl<$($generics)*> std::future::IntoFuture for $builder {
            type Output = <Self as $crate::wait::Wait>::To;
            type IntoFuture = std::future::Ready<Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                std::future::ready($crate::wait::Wait::wait(self))
            }
        }
    };
}

pub(crate) use ready_at_once;

/// A future behind a pointer, as [`IntoFuture`] of builders needs a type that can be named.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A list that can be used as it is, or waited for as if it were not there yet.
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

impl<T> Wait for Listed<T> {
    type To = std::vec::IntoIter<T>;

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

/// Where a session listens: a list that can be used as it is, or waited for as if it were not there yet.
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

impl Wait for Locators {
    type To = Vec<Locator>;

    fn wait(self) -> Self::To {
        self.0
    }
}

ready_at_once!([] Locators);

/// The result of an operation that is done already and only looks like one that has to be waited for.
#[derive(Debug)]
#[must_use = "await it or call wait()"]
pub struct Done<T>(pub(crate) T);

impl<T> Wait for Done<T> {
    type To = T;

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
