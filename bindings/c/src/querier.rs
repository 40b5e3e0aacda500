// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queriers: a key and options for many gets.

use std::ffi::c_int;

use bytes::Bytes;
use zonda::bytes::Encoding;
use zonda::query::Querier;
use zonda::{Session, Wait};

use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::generation::{SourceOption, TokenOption};
use crate::get::{
    Consolidation, Matter, OwnedClosureReply, caller, parameters_of, with_manner, with_matter,
};
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, taken, write};
use crate::qos::{BLOCK, MATCHING_REPLIES, PRIORITY_DATA};
use crate::query::ending;
use crate::text::{CText, Start};
use crate::values::EntityGlobalId;

place!(
    /// A querier.
    OwnedQuerier = Box<Declared>, size 80, align 8
);

mechanical!(OwnedQuerier:
    null z_internal_querier_null,
    check z_internal_querier_check,
    loan z_querier_loan,
    loan_mut z_querier_loan_mut,
);

/// A querier, and its key in the form that C reads.
pub struct Declared {
    pub querier: Querier<'static>,
    key: OwnedKeyExpr,
}

/// Options of [`z_declare_querier`].
#[repr(C)]
pub struct QuerierOptions {
    target: c_int,
    consolidation: Consolidation,
    congestion_control: c_int,
    express: bool,
    allowed_destination: c_int,
    accept_replies: c_int,
    priority: c_int,
    timeout_ms: u64,
}
const _: () = assert!(size_of::<QuerierOptions>() == 40);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_options_default(this: Out<'_, QuerierOptions>) {
    let defaults = QuerierOptions {
        target: 0,
        consolidation: Consolidation::AUTO,
        congestion_control: BLOCK,
        express: false,
        allowed_destination: 0,
        accept_replies: MATCHING_REPLIES,
        priority: PRIORITY_DATA,
        timeout_ms: 0,
    };
    fill(this, defaults);
}

/// Declares a querier.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_querier(
    session: Loan<'_, Session>,
    querier: Out<'_, OwnedQuerier>,
    key: Loan<'_, Key>,
    options: Option<&QuerierOptions>,
) -> Code {
    answer(|| {
        let declare = || {
            let key = lent(key).required("key_expr")?;
            let mut builder = lent(session)
                .required("session")?
                .declare_querier(key.owned());
            if let Some(options) = options {
                with_manner!(builder, options);
            }
            Ok(Box::new(Declared {
                querier: builder.wait().or_fail(GENERIC)?,
                key: Some(Key::from(key.as_str())),
            }))
        };
        write(querier, declare())
    })
}

/// Options of [`z_querier_get`].
#[repr(C)]
#[derive(Default)]
pub struct QuerierGetOptions<'a> {
    payload: Moved<'a, Bytes>,
    encoding: Moved<'a, Encoding>,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
    token: TokenOption<'a>,
}
const _: () = assert!(size_of::<QuerierGetOptions<'_>>() == 32 + size_of::<TokenOption<'_>>());

impl QuerierGetOptions<'_> {
    /// Takes what the program gives away.
    fn take(&mut self) -> Matter {
        Matter {
            payload: taken(self.payload.take()),
            encoding: taken(self.encoding.take()),
            source: self.source.take(),
            attachment: taken(self.attachment.take()),
            token: self.token.take(),
        }
    }
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_get_options_default(this: Out<'_, QuerierGetOptions<'static>>) {
    fill(this, QuerierGetOptions::default());
}

/// Asks; the closure is called with each reply, and dropped at the end.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_get(
    querier: Loan<'_, Box<Declared>>,
    parameters: CText<'_>,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut QuerierGetOptions<'_>>,
) -> Code {
    answer(|| {
        get(
            querier,
            crate::get::parameters(parameters),
            callback,
            options,
        )
    })
}

/// Asks as [`z_querier_get`] does, with parameters of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_get_with_parameters_substr(
    querier: Loan<'_, Box<Declared>>,
    parameters: Start<'_>,
    len: usize,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut QuerierGetOptions<'_>>,
) -> Code {
    answer(|| get(querier, parameters_of(parameters, len), callback, options))
}

fn get(
    querier: Loan<'_, Box<Declared>>,
    parameters: Result<&str, Failure>,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut QuerierGetOptions<'_>>,
) -> Result<(), Failure> {
    let callback = callback.map(OwnedClosureReply::take);
    let matter = options.map(QuerierGetOptions::take).unwrap_or_default();
    let callback = callback.required("callback")?;
    let querier = &lent(querier).required("querier")?.querier;
    let mut get = querier
        .get()
        .parameters(parameters?.to_owned())
        .callback(caller(callback));
    with_matter!(get, matter);
    get.wait().or_fail(GENERIC)
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_keyexpr(querier: Loan<'_, Box<Declared>>) -> Option<&OwnedKeyExpr> {
    Some(&lent(querier)?.key)
}

/// Returns the id of the querier.
#[unsafe(no_mangle)]
pub extern "C" fn z_querier_id(querier: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(querier).map_or_else(EntityGlobalId::default, |declared| {
        declared.querier.id().into()
    })
}

ending!(OwnedQuerier: drop z_querier_drop, undeclare z_undeclare_querier,
    |declared| declared.querier.undeclare());
