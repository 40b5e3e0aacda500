// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness: tokens that exist as long as their session is reachable.

use std::time::Duration;

use zonda::liveliness::LivelinessToken;
use zonda::{Session, Wait};

use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::generation::TokenOption;
use crate::get::{OwnedClosureReply, caller};
use crate::keys::Key;
use crate::place::{Loan, Out, fill, given, lent, mechanical, place, write};
use crate::query::ending;
use crate::subscriber::{Declared, OwnedClosureSample, OwnedSubscriber};

place!(
    /// A declared token.
    OwnedLivelinessToken = Box<LivelinessToken>, size 16, align 8
);

mechanical!(OwnedLivelinessToken:
    null z_internal_liveliness_token_null,
    check z_internal_liveliness_token_check,
    loan z_liveliness_token_loan,
);

/// Options of [`z_liveliness_declare_token`]: none so far.
#[repr(C)]
pub struct TokenOptions {
    _unused: u8,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_token_options_default(this: Out<'_, TokenOptions>) {
    fill(this, TokenOptions { _unused: 0 });
}

/// Declares a token.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_declare_token(
    session: Loan<'_, Session>,
    token: Out<'_, OwnedLivelinessToken>,
    key: Loan<'_, Key>,
    _options: Option<&TokenOptions>,
) -> Code {
    answer(|| {
        let declare = || {
            let key = lent(key).required("key_expr")?.owned();
            let liveliness = lent(session).required("session")?.liveliness();
            let token = liveliness.declare_token(key).wait().or_fail(GENERIC)?;
            Ok(Box::new(token))
        };
        write(token, declare())
    })
}

ending!(OwnedLivelinessToken: drop z_liveliness_token_drop, undeclare z_liveliness_undeclare_token,
    |token| token.undeclare());

/// Options of [`z_liveliness_declare_subscriber`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LivelinessSubscriberOptions {
    /// True for the tokens that exist already, too.
    pub history: bool,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_subscriber_options_default(
    this: Out<'_, LivelinessSubscriberOptions>,
) {
    fill(this, LivelinessSubscriberOptions { history: false });
}

/// Declares a subscriber to the coming and going of tokens: a put is a new one, a deletion a lost one.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_declare_subscriber(
    session: Loan<'_, Session>,
    subscriber: Out<'_, OwnedSubscriber>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&LivelinessSubscriberOptions>,
) -> Code {
    answer(|| {
        let declared = declare(session, key, callback, options);
        write(subscriber, declared.map(Box::new))
    })
}

/// Declares a subscriber to tokens that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_declare_background_subscriber(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureSample>,
    options: Option<&LivelinessSubscriberOptions>,
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
    options: Option<&LivelinessSubscriberOptions>,
) -> Result<Declared, Failure> {
    let callback = callback.required("callback")?.take();
    let key = lent(key).required("key_expr")?;
    let subscriber = lent(session)
        .required("session")?
        .liveliness()
        .declare_subscriber(key.owned())
        .history(options.is_some_and(|options| options.history))
        .callback(move |sample| callback.give(sample.into()))
        .wait()
        .or_fail(GENERIC)?;
    Ok(Declared::new(subscriber))
}

/// Options of [`z_liveliness_get`].
#[repr(C)]
pub struct LivelinessGetOptions<'a> {
    timeout_ms: u64,
    token: TokenOption<'a>,
}
const _: () = assert!(size_of::<LivelinessGetOptions<'_>>() == 8 + size_of::<TokenOption<'_>>());

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_get_options_default(this: Out<'_, LivelinessGetOptions<'static>>) {
    let defaults = LivelinessGetOptions {
        timeout_ms: 10_000,
        token: TokenOption::default(),
    };
    fill(this, defaults);
}

/// Asks for the tokens on matching keys; the closure is called with each as a reply.
#[unsafe(no_mangle)]
pub extern "C" fn z_liveliness_get(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut LivelinessGetOptions<'_>>,
) -> Code {
    answer(|| {
        let callback = callback.map(OwnedClosureReply::take);
        let given = options.map(|options| (options.token.take(), options.timeout_ms));
        let callback = callback.required("callback")?;
        let key = lent(key).required("key_expr")?;
        let liveliness = lent(session).required("session")?.liveliness();
        let mut get = liveliness.get(key.borrowed()).callback(caller(callback));
        if let Some((token, timeout_ms)) = given {
            get = get.timeout(Duration::from_millis(timeout_ms));
            given!(get: cancellation_token = token);
        }
        get.wait().or_fail(GENERIC)
    })
}
