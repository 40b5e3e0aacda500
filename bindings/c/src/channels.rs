// SPDX-License-Identifier: MIT OR Apache-2.0

//! Channels: a closure that queues the values that it is called with, and a handler that takes them.
//! The queues are those of the library.

use std::ffi::c_void;

use zonda::handlers::{
    Callback, FifoChannel, FifoChannelHandler, IntoHandler, RecvError, RingChannel,
    RingChannelHandler, Stored,
};

use crate::closure::Closure;
use crate::code::{CHANNEL_CLOSED, CHANNEL_EMPTY, Code, NULL, OK, shielded};
use crate::get::{OwnedClosureReply, OwnedReply, Reply};
use crate::place::{Loan, Out, fill, lent, mechanical, place};
use crate::query::{OwnedClosureQuery, OwnedQuery, Query};
use crate::sample::{OwnedSample, Sample};
use crate::subscriber::OwnedClosureSample;

/// Queues the value that it is called with.
///
/// # Safety
/// The context is one that [`sending`] made for this type.
unsafe extern "C" fn send<T>(value: &mut Option<T>, context: *mut c_void) {
    shielded((), || {
        // SAFETY: `sending` made the context of such a callback, and `end` has not been called yet.
        let callback = unsafe { &*context.cast::<Callback<T>>() };
        if let Some(value) = value.take() {
            callback.call(value);
        }
    });
}

/// Drops the sending side of a channel.
///
/// # Safety
/// The context is one that [`sending`] made for this type, and is not used any more.
unsafe extern "C" fn end<T>(context: *mut c_void) {
    shielded((), || {
        // SAFETY: `sending` made the context of such a box, which nothing else drops.
        drop(unsafe { Box::from_raw(context.cast::<Callback<T>>()) });
    });
}

/// Returns the closure of the sending side of a channel.
fn sending<T>(callback: Callback<T>) -> Closure<Option<T>> {
    let context = Box::into_raw(Box::new(callback)).cast();
    Closure::new(context, Some(send::<T>), Some(end::<T>))
}

/// Makes both sides of a channel.
fn channel<T, C: IntoHandler<T>>(
    channel: C,
    closure: Out<'_, Closure<Option<T>>>,
    handler: Out<'_, Option<Box<C::Handler>>>,
) {
    shielded((), || {
        let (callback, receiving) = channel.into_handler();
        fill(closure, sending(callback));
        fill(handler, Some(Box::new(receiving)));
    });
}

/// The receiving side of a channel.
trait Receive<T> {
    fn wait(&self) -> Result<Option<T>, RecvError>;
    fn poll(&self) -> Result<Option<T>, RecvError>;
}

impl<T> Receive<T> for FifoChannelHandler<T> {
    fn wait(&self) -> Result<Option<T>, RecvError> {
        self.recv().map(Some)
    }

    fn poll(&self) -> Result<Option<T>, RecvError> {
        self.try_recv()
    }
}

impl<T> Receive<T> for RingChannelHandler<T> {
    fn wait(&self) -> Result<Option<T>, RecvError> {
        self.recv().map(Some)
    }

    fn poll(&self) -> Result<Option<T>, RecvError> {
        self.try_recv()
    }
}

/// Writes what the handler gives to a place. The states of a channel are no errors, and not logged.
fn receive<T, H>(
    handler: Loan<'_, Box<H>>,
    place: Out<'_, Option<T>>,
    take: impl FnOnce(&H) -> Result<Option<T>, RecvError>,
) -> Code {
    let received = shielded(Ok(None), || {
        lent(handler).map(|handler| take(handler)).transpose()
    });
    let (value, code) = match received {
        Ok(Some(Some(value))) => (Some(value), OK),
        Ok(Some(None)) => (None, CHANNEL_EMPTY),
        Ok(None) => (None, NULL),
        Err(_) => (None, CHANNEL_CLOSED),
    };
    fill(place, value);
    code
}

/// Exports the functions of the two channels of a type of values.
macro_rules! channels {
    ($value:ident of $owned:ident, closure $closure:ident, asks $asks:literal:
        $($channel:ident with $receiving:ident as $handler:ident:
            new $new:ident, null $null:ident, check $check:ident, drop $drop:ident, loan $loan:ident,
            recv $recv:ident, try_recv $try_recv:ident,)+
    ) => {
        impl Stored for $value {
            const ASKS: bool = $asks;
        }
        $(
            place!(
                /// The receiving side of a channel.
                $handler = Box<$receiving<$value>>, size 8, align 8
            );

            mechanical!($handler: null $null, check $check, drop $drop, loan $loan,);

            /// Makes both sides of a channel.
            #[unsafe(no_mangle)]
            pub extern "C" fn $new(
                callback: Out<'_, $closure>,
                handler: Out<'_, $handler>,
                capacity: usize,
            ) {
                channel($channel::new(capacity), callback, handler);
            }

            /// Takes the oldest value; waits for one. Returns 1 if the channel is closed and empty.
            #[unsafe(no_mangle)]
            pub extern "C" fn $recv(
                this: Loan<'_, Box<$receiving<$value>>>,
                value: Out<'_, $owned>,
            ) -> Code {
                receive(this, value, Receive::wait)
            }

            /// Takes the oldest value. Returns 1 if the channel is closed and empty, 2 if it is empty.
            #[unsafe(no_mangle)]
            pub extern "C" fn $try_recv(
                this: Loan<'_, Box<$receiving<$value>>>,
                value: Out<'_, $owned>,
            ) -> Code {
                receive(this, value, Receive::poll)
            }
        )+
    };
}

channels! {
    Sample of OwnedSample, closure OwnedClosureSample, asks false:
    FifoChannel with FifoChannelHandler as FifoHandlerSample:
        new z_fifo_channel_sample_new,
        null z_internal_fifo_handler_sample_null,
        check z_internal_fifo_handler_sample_check,
        drop z_fifo_handler_sample_drop,
        loan z_fifo_handler_sample_loan,
        recv z_fifo_handler_sample_recv,
        try_recv z_fifo_handler_sample_try_recv,
    RingChannel with RingChannelHandler as RingHandlerSample:
        new z_ring_channel_sample_new,
        null z_internal_ring_handler_sample_null,
        check z_internal_ring_handler_sample_check,
        drop z_ring_handler_sample_drop,
        loan z_ring_handler_sample_loan,
        recv z_ring_handler_sample_recv,
        try_recv z_ring_handler_sample_try_recv,
}

channels! {
    Query of OwnedQuery, closure OwnedClosureQuery, asks true:
    FifoChannel with FifoChannelHandler as FifoHandlerQuery:
        new z_fifo_channel_query_new,
        null z_internal_fifo_handler_query_null,
        check z_internal_fifo_handler_query_check,
        drop z_fifo_handler_query_drop,
        loan z_fifo_handler_query_loan,
        recv z_fifo_handler_query_recv,
        try_recv z_fifo_handler_query_try_recv,
    RingChannel with RingChannelHandler as RingHandlerQuery:
        new z_ring_channel_query_new,
        null z_internal_ring_handler_query_null,
        check z_internal_ring_handler_query_check,
        drop z_ring_handler_query_drop,
        loan z_ring_handler_query_loan,
        recv z_ring_handler_query_recv,
        try_recv z_ring_handler_query_try_recv,
}

channels! {
    Reply of OwnedReply, closure OwnedClosureReply, asks true:
    FifoChannel with FifoChannelHandler as FifoHandlerReply:
        new z_fifo_channel_reply_new,
        null z_internal_fifo_handler_reply_null,
        check z_internal_fifo_handler_reply_check,
        drop z_fifo_handler_reply_drop,
        loan z_fifo_handler_reply_loan,
        recv z_fifo_handler_reply_recv,
        try_recv z_fifo_handler_reply_try_recv,
    RingChannel with RingChannelHandler as RingHandlerReply:
        new z_ring_channel_reply_new,
        null z_internal_ring_handler_reply_null,
        check z_internal_ring_handler_reply_check,
        drop z_ring_handler_reply_drop,
        loan z_ring_handler_reply_loan,
        recv z_ring_handler_reply_recv,
        try_recv z_ring_handler_reply_try_recv,
}
