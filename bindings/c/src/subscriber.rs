// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers.

use std::ffi::c_int;

use zonda::pubsub::Subscriber;
use zonda::{Session, Wait};

use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{Loan, Out, fill, lent, mechanical, place, write};
use crate::qos;
use crate::query::ending;
use crate::sample::OwnedSample;
use crate::values::EntityGlobalId;

place!(
    /// A subscriber.
    OwnedSubscriber = Box<Declared>, size 48, align 8
);

mechanical!(OwnedSubscriber:
    null z_internal_subscriber_null,
    check z_internal_subscriber_check,
    loan z_subscriber_loan,
);

closure!(OwnedClosureSample of OwnedSample:
    new z_closure_sample,
    null z_internal_closure_sample_null,
    check z_internal_closure_sample_check,
    drop z_closure_sample_drop,
    call z_closure_sample_call,
    loan z_closure_sample_loan,
    loan_mut z_closure_sample_loan_mut
);

/// A subscriber, and its key in the form that C reads.
pub struct Declared {
    subscriber: Subscriber<()>,
    key: OwnedKeyExpr,
}

impl Declared {
    pub fn new(subscriber: Subscriber<()>) -> Declared {
        let key = Some(Key::from(subscriber.key_expr().as_str()));
        Declared { subscriber, key }
    }

    /// Keeps it declared until its session ends.
    pub fn set_background(&mut self) {
        self.subscriber.set_background(true);
    }
}

/// Options of [`z_declare_subscriber`].
#[repr(C)]
pub struct SubscriberOptions {
    allowed_origin: c_int,
}

impl SubscriberOptions {
    /// The defaults.
    pub const DEFAULT: SubscriberOptions = SubscriberOptions { allowed_origin: 0 };

    /// Returns the origin of samples that the subscriber gets.
    pub fn origin(&self) -> zonda::sample::Locality {
        qos::locality(self.allowed_origin)
    }
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_subscriber_options_default(this: Out<'_, SubscriberOptions>) {
    fill(this, SubscriberOptions::DEFAULT);
}

/// Declares a subscriber: the closure is called with each sample.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_subscriber(
    session: Loan<'_, Session>,
    subscriber: Out<'_, OwnedSubscriber>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&SubscriberOptions>,
) -> Code {
    answer(|| {
        write(
            subscriber,
            declare(session, key, callback, options).map(Box::new),
        )
    })
}

/// Declares a subscriber that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_background_subscriber(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&SubscriberOptions>,
) -> Code {
    answer(|| {
        declare(session, key, callback, options)?.set_background();
        Ok(())
    })
}

fn declare(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&SubscriberOptions>,
) -> Result<Declared, Failure> {
    let callback = callback.required("callback")?.take();
    let key = lent(key).required("key_expr")?;
    let mut builder = lent(session)
        .required("session")?
        .declare_subscriber(key.owned());
    if let Some(options) = options {
        builder = builder.allowed_origin(options.origin());
    }
    let subscriber = builder
        .callback(move |sample| callback.give(sample.into()))
        .wait()
        .or_fail(GENERIC)?;
    Ok(Declared::new(subscriber))
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_subscriber_keyexpr(
    subscriber: Loan<'_, Box<Declared>>,
) -> Option<&OwnedKeyExpr> {
    Some(&lent(subscriber)?.key)
}

/// Returns the id of the subscriber.
#[unsafe(no_mangle)]
pub extern "C" fn z_subscriber_id(subscriber: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(subscriber).map_or_else(EntityGlobalId::default, |declared| {
        declared.subscriber.id().into()
    })
}

ending!(OwnedSubscriber: drop z_subscriber_drop, undeclare z_undeclare_subscriber,
    |declared| declared.subscriber.undeclare());
