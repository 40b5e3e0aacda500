// SPDX-License-Identifier: MIT OR Apache-2.0

//! Channels of flume as handlers. Programs for Zenoh have flume 0.11, newer ones 0.12, and the types of the two are not the same.

use super::{Callback, IntoHandler, Patient, Taken};

/// Implements [`IntoHandler`] for the channels of one version of flume.
macro_rules! channels_of {
    ($flume:ident) => {
        impl<T> IntoHandler<T> for ($flume::Sender<T>, $flume::Receiver<T>)
        where
            T: Send + 'static,
        {
            type Handler = $flume::Receiver<T>;

            /// Creates a handler of a flume channel; the callback waits when a bounded one is full.
            fn into_handler(self) -> (Callback<T>, Self::Handler) {
                let (sender, receiver) = self;
                let callback = Callback::from(move |value| {
                    // The receiver may be gone: then no reader is left for the value.
                    let _ = sender.send(value);
                });
                (callback, receiver)
            }

            fn into_patient(self) -> (Patient<T>, Self::Handler) {
                let (sender, receiver) = self;
                let patient = Patient::new(move |value| match sender.try_send(value) {
                    Err($flume::TrySendError::Full(value)) => {
                        let taken = sender.clone().into_send_async(value);
                        Some(Box::pin(async move { drop(taken.await) }) as Taken)
                    }
                    _ => None,
                });
                (patient, receiver)
            }
        }
    };
}

channels_of!(flume);
#[cfg(feature = "flume-0-11")]
channels_of!(flume_0_11);
