// SPDX-License-Identifier: MIT OR Apache-2.0

//! Inline callbacks, called where the message arrives.

use std::fmt;
use std::sync::Arc;

use super::IntoHandler;

/// A function that is called with every value, inline. Cloning shares it.
pub struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Callback<T> {
    /// Wraps a function that is shared already. One that is not becomes a callback by [`From`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use zonda::handlers::Callback;
    ///
    /// let shared = Callback::new(Arc::new(|number: u8| println!("{number}")));
    /// let own = Callback::from(|number: u8| println!("{number}"));
    /// shared.call(1);
    /// own.call(2);
    /// ```
    pub fn new(function: Arc<dyn Fn(T) + Send + Sync>) -> Callback<T> {
        Callback(function)
    }

    /// Calls the function.
    #[inline]
    pub fn call(&self, value: T) {
        (self.0)(value);
    }

    /// Returns the function itself, for a caller that calls it many times.
    #[inline]
    pub(crate) fn function(&self) -> &(dyn Fn(T) + Send + Sync) {
        &*self.0
    }
}

impl<T, F: Fn(T) + Send + Sync + 'static> From<F> for Callback<T> {
    fn from(function: F) -> Self {
        Callback(Arc::new(function))
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Callback(self.0.clone())
    }
}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl<T> IntoHandler<T> for Callback<T> {
    type Handler = ();
    const STORES: bool = false;

    fn into_handler(self) -> (Callback<T>, ()) {
        (self, ())
    }
}

impl<T, H> IntoHandler<T> for (Callback<T>, H) {
    type Handler = H;
    const STORES: bool = false;

    /// Returns a callback, and a handle that the subscriber dereferences to.
    fn into_handler(self) -> (Callback<T>, H) {
        self
    }
}

/// A callback with a second function that runs once when the subscriber is gone.
///
/// ```
/// use zonda::handlers::CallbackDrop;
/// # let session = zonda::Wait::wait(zonda::open(zonda::Config::peer().listen([] as [&str; 0]))).unwrap();
/// use zonda::Wait;
/// let subscriber = session
///     .declare_subscriber("demo/**")
///     .with(CallbackDrop {
///         callback: |sample: zonda::sample::Sample| println!("{}", sample.key_expr()),
///         drop: || println!("no more samples"),
///     })
///     .wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CallbackDrop<F, D>
where
    D: FnMut() + Send + Sync + 'static,
{
    /// The function for every value.
    pub callback: F,
    /// The function for the end, after the last call of `callback`.
    pub drop: D,
}

impl<T, F, D> IntoHandler<T> for CallbackDrop<F, D>
where
    F: Fn(T) + Send + Sync + 'static,
    D: FnMut() + Send + Sync + 'static,
{
    type Handler = ();
    const STORES: bool = false;

    fn into_handler(self) -> (Callback<T>, ()) {
        let CallbackDrop { callback, drop } = self;
        let at_end = AtEnd(drop);
        let callback = Callback::from(move |value| {
            // Named so that the closure owns the whole guard.
            let _guard = &at_end;
            callback(value);
        });
        (callback, ())
    }
}

struct AtEnd<D: FnMut()>(D);

impl<D: FnMut()> Drop for AtEnd<D> {
    fn drop(&mut self) {
        (self.0)();
    }
}
