// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handlers of a subscriber, a queryable or a get: an inline [`Callback`], a bounded queue ([`FifoChannel`], the default) or a ring of
//! the latest values ([`RingChannel`]). Anything that implements [`IntoHandler`] will do.
//!
//! | handler | runs on | when full |
//! |---|---|---|
//! | callback | the receiving task (or the publishing thread, within one session) | it never is; while it runs, its link is not read |
//! | [`FifoChannel`] | your thread or task | waits, so the link is not read (back-pressure); or drops the newest and counts |
//! | [`RingChannel`] | your thread or task | drops the oldest and counts |
//!
//! A task of the session's runtime calls liveliness subscribers, queries for tokens and matching
//! listeners instead; a full queue makes that task alone wait.
//!
//! A callback may call anything of its session: put, declare, undeclare (itself too), close. No lock is held while it
//! runs, nor while it is dropped. A panic in it is logged and costs that one message.
//!
//! A callback that changes what it has captured is given to `callback_mut`, and called by one
//! thread at a time; other ones wait. A value that comes from inside of the call waits until the
//! call has returned, and is then delivered even if the callback has undeclared itself. Two such
//! callbacks that cause each other's calls, as by publishing on the key that the other subscribes
//! to, can wait for each other for ever when they run on two threads: give one of them to
//! `callback`, or let it read a queue.

mod callback;
mod fifo;
mod fifo_reading;
mod flume_channels;
mod in_turn;
mod patient;
mod ring;
pub(crate) mod room;
#[cfg(test)]
mod tests;

pub use callback::{Callback, CallbackDrop};
pub use fifo::{FifoChannel, FifoChannelHandler, Overflow};
pub use fifo_reading::{FifoIntoIter, FifoIntoStream, FifoIter, FifoRecv, FifoStream};
pub use patient::{Patient, Taken};
pub use ring::{RingChannel, RingChannelHandler};

/// Dereferences a type with a field `handler` to that handler.
macro_rules! used_as_handler {
    ($handle:ident) => {
        impl<H> std::ops::Deref for $handle<H> {
            type Target = H;

            fn deref(&self) -> &H {
                &self.handler
            }
        }

        impl<H> std::ops::DerefMut for $handle<H> {
            fn deref_mut(&mut self) -> &mut H {
                &mut self.handler
            }
        }
    };
}

/// Defines the setters of a builder with a field `handler`: a function, one that changes what it
/// has captured, or any handler. The text above the builder is that of `callback`, as builders
/// differ in where the function runs.
macro_rules! handler_setters {
    ($(#[$where:meta])+ $builder:ident($($param:tt),*) of $value:ident keeps $($field:ident),+) => {
        $(#[$where])+
        pub fn callback<F>(self, callback: F) -> $builder<$($param,)* $crate::handlers::Callback<$value>>
        where
            F: Fn($value) + Send + Sync + 'static,
        {
            self.with($crate::handlers::Callback::from(callback))
        }

        /// Takes a function that changes what it has captured. It is [called by one thread at a
        /// time](crate::handlers).
        pub fn callback_mut<F>(
            self,
            callback: F,
        ) -> $builder<$($param,)* $crate::handlers::Callback<$value>>
        where
            F: FnMut($value) + Send + 'static,
        {
            self.with($crate::handlers::Callback::in_turn(callback))
        }

        /// Sets the handler of every value, in place of the default one.
        pub fn with<H: $crate::handlers::IntoHandler<$value>>(
            self,
            handler: H,
        ) -> $builder<$($param,)* H> {
            $builder {
                $($field: self.$field,)+
                handler,
            }
        }
    };
}

pub(crate) use {handler_setters, used_as_handler};

/// The handler of a subscriber, queryable or get that names none.
pub type DefaultHandler = FifoChannel;

/// A conversion to the two sides of a handler: the callback for the received values, and the part
/// that the application keeps.
pub trait IntoHandler<T> {
    /// The part that the application keeps; reached through the subscriber, which dereferences to it.
    type Handler;

    /// Set if values outlive the call. They are then prepared by [`Stored::before_storing`].
    const STORES: bool = true;

    /// Creates the callback and the handler.
    fn into_handler(self) -> (Callback<T>, Self::Handler);

    /// Creates the handler for values that a separate task delivers, such as changes of liveliness:
    /// where the callback would block its thread until there is room, this one waits without
    /// blocking.
    fn into_patient(self) -> (Patient<T>, Self::Handler)
    where
        Self: Sized,
        T: 'static,
    {
        let (callback, handler) = self.into_handler();
        (callback.into(), handler)
    }
}

/// A value that can be prepared for being kept for a while.
pub trait Stored: Sized {
    /// Releases large shared buffers that a small value would keep alive.
    #[must_use]
    fn before_storing(self) -> Self {
        self
    }

    /// Set for queries and replies, with which a full [`FifoChannel`] waits no longer than the
    /// query lives.
    const ASKS: bool = false;

    /// Handles a value that a queue has no room for, instead of just dropping it.
    fn turn_away(self) {}
}

/// Error of receiving from a handler.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// No value is left, and none will come: the get has ended, the subscriber or queryable is
    /// undeclared, or the session is closed.
    #[error("no more values will arrive: the sender has ended or is closed")]
    Closed,
    /// The process was forked after the session was opened; no value will come here.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
}

zonda_codec::debug_as_text!(RecvError);

impl<T> IntoHandler<T> for (std::sync::mpsc::SyncSender<T>, std::sync::mpsc::Receiver<T>)
where
    T: Send + 'static,
{
    type Handler = std::sync::mpsc::Receiver<T>;

    /// Creates a handler of a standard channel; the callback waits when it is full.
    fn into_handler(self) -> (Callback<T>, Self::Handler) {
        let (sender, receiver) = self;
        let callback = Callback::from(move |value| {
            // The receiver may be gone: then no reader is left for the value.
            let _ = sender.send(value);
        });
        (callback, receiver)
    }
}
