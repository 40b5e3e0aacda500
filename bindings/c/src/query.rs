// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables, and the queries that they answer.

use std::ffi::c_int;
use std::sync::Arc;

use bytes::Bytes;
use zonda::bytes::{Encoding, ZBytes};
use zonda::query::{Query as Asked, Queryable, ReplyKeyExpr};
use zonda::{Session, Wait};

use crate::bytes::{OwnedBytes, payload_of};
use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::encoding::OwnedEncoding;
use crate::generation::{SourceLoan, SourceOption, lend_source};
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{
    Loan, Moved, Out, fill, given, lent, lent_mut, mechanical, place, taken, write,
};
use crate::qos::{self, BLOCK, MATCHING_REPLIES, PRIORITY_DATA};
use crate::text::{self, OwnedString};
use crate::values::{EntityGlobalId, SourceInfo, Timestamp};

place!(
    /// A query. The asker learns of the end of the answer when the last clone is dropped.
    OwnedQuery = Query, size 144, align 8
);

mechanical!(OwnedQuery:
    null z_internal_query_null,
    check z_internal_query_check,
    drop z_query_drop,
    loan z_query_loan,
    loan_mut z_query_loan_mut,
    clone z_query_clone,
    take z_query_take_from_loaned,
);

closure!(OwnedClosureQuery of OwnedQuery:
    new z_closure_query,
    null z_internal_closure_query_null,
    check z_internal_closure_query_check,
    drop z_closure_query_drop,
    call z_closure_query_call,
    loan z_closure_query_loan,
    loan_mut z_closure_query_loan_mut
);

/// A query in the form that C reads. Clones share all but what a program may change.
#[derive(Clone)]
pub struct Query {
    shared: Arc<Shared>,
    payload: OwnedBytes,
    attachment: OwnedBytes,
}

struct Shared {
    query: Asked,
    key: OwnedKeyExpr,
    encoding: OwnedEncoding,
    source: Option<SourceInfo>,
}

impl From<Asked> for Query {
    fn from(mut query: Asked) -> Query {
        let owned = |bytes: &mut ZBytes| Bytes::from(std::mem::take(bytes));
        let payload = query.payload_mut().map(owned);
        let attachment = query.attachment_mut().map(owned);
        let shared = Shared {
            key: Some(Key::from(query.key_expr().as_str())),
            encoding: query.encoding().cloned(),
            source: query.source_info().as_ref().map(SourceInfo::from),
            query,
        };
        Query {
            shared: Arc::new(shared),
            payload,
            attachment,
        }
    }
}

fn shared(this: Loan<'_, Query>) -> Option<&Shared> {
    Some(&lent(this)?.shared)
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_keyexpr(this: Loan<'_, Query>) -> Option<&OwnedKeyExpr> {
    Some(&shared(this)?.key)
}

/// Makes a view of the parameters.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_parameters(this: Loan<'_, Query>, parameters: Out<'_, OwnedString>) {
    let given = shared(this).map_or("", |shared| shared.query.parameters().as_str());
    text::view(parameters, given.as_bytes());
}

/// Lends the payload; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_payload(this: Loan<'_, Query>) -> Option<&OwnedBytes> {
    Some(&lent(this)?.payload).filter(|payload| payload.is_some())
}

/// Lends the payload for changes; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_payload_mut(this: Moved<'_, Query>) -> Option<&mut OwnedBytes> {
    Some(&mut lent_mut(this)?.payload).filter(|payload| payload.is_some())
}

/// Lends the attachment; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_attachment(this: Loan<'_, Query>) -> Option<&OwnedBytes> {
    Some(&lent(this)?.attachment).filter(|attachment| attachment.is_some())
}

/// Lends the attachment for changes; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_attachment_mut(this: Moved<'_, Query>) -> Option<&mut OwnedBytes> {
    Some(&mut lent_mut(this)?.attachment).filter(|attachment| attachment.is_some())
}

/// Lends the encoding of the payload; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_encoding(this: Loan<'_, Query>) -> Option<&OwnedEncoding> {
    Some(&shared(this)?.encoding).filter(|encoding| encoding.is_some())
}

/// Lends the source.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_source_info(this: Loan<'_, Query>) -> Option<&SourceLoan> {
    lend_source(&shared(this)?.source)
}

/// Returns the keys that replies may have: 0 any, 1 those that intersect the query's.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_accepts_replies(this: Loan<'_, Query>) -> c_int {
    match shared(this).map(|shared| shared.query.accepts_replies()) {
        Some(ReplyKeyExpr::Any) => 0,
        _ => MATCHING_REPLIES,
    }
}

/// Options of [`z_query_reply`]. The query decides on congestion control, priority and batching.
#[repr(C)]
pub struct ReplyOptions<'a> {
    encoding: Moved<'a, Encoding>,
    _congestion_control: c_int,
    _priority: c_int,
    express: bool,
    timestamp: Option<&'a Timestamp>,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
}
const _: () = assert!(size_of::<ReplyOptions<'_>>() == 48);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply_options_default(this: Out<'_, ReplyOptions<'static>>) {
    let defaults = ReplyOptions {
        encoding: None,
        _congestion_control: BLOCK,
        _priority: PRIORITY_DATA,
        express: false,
        timestamp: None,
        source: SourceOption::NONE,
        attachment: None,
    };
    fill(this, defaults);
}

/// Replies with a value. The key has to intersect the query's, unless the query accepts any.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply(
    this: Loan<'_, Query>,
    key: Loan<'_, Key>,
    payload: Moved<'_, Bytes>,
    options: Option<&mut ReplyOptions<'_>>,
) -> Code {
    answer(|| {
        let payload = payload.map(payload_of);
        let given = options.map(|options| {
            (
                taken(options.encoding.take()),
                taken(options.attachment.take()),
                options.source.take(),
                options,
            )
        });
        let key = lent(key).required("key_expr")?;
        let query = &shared(this).required("query")?.query;
        let mut reply = query.reply(key.borrowed(), ZBytes::from(payload.required("payload")?));
        if let Some((encoding, attachment, source, options)) = given {
            reply = reply.express(options.express);
            given!(reply: encoding = encoding, attachment = attachment.map(ZBytes::from),
                timestamp = options.timestamp.and_then(Timestamp::inner),
                source_info = source);
        }
        reply.wait().or_fail(GENERIC)
    })
}

/// Options of [`z_query_reply_del`]. The query decides on congestion control, priority and batching.
#[repr(C)]
pub struct ReplyDelOptions<'a> {
    _congestion_control: c_int,
    _priority: c_int,
    express: bool,
    timestamp: Option<&'a Timestamp>,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
}
const _: () = assert!(size_of::<ReplyDelOptions<'_>>() == 40);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply_del_options_default(this: Out<'_, ReplyDelOptions<'static>>) {
    let defaults = ReplyDelOptions {
        _congestion_control: BLOCK,
        _priority: PRIORITY_DATA,
        express: false,
        timestamp: None,
        source: SourceOption::NONE,
        attachment: None,
    };
    fill(this, defaults);
}

/// Replies that the key has no value any more.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply_del(
    this: Loan<'_, Query>,
    key: Loan<'_, Key>,
    options: Option<&mut ReplyDelOptions<'_>>,
) -> Code {
    answer(|| {
        let given = options.map(|options| {
            (
                taken(options.attachment.take()),
                options.source.take(),
                options,
            )
        });
        let key = lent(key).required("key_expr")?;
        let query = &shared(this).required("query")?.query;
        let mut reply = query.reply_del(key.borrowed());
        if let Some((attachment, source, options)) = given {
            reply = reply.express(options.express);
            given!(reply: attachment = attachment.map(ZBytes::from),
                timestamp = options.timestamp.and_then(Timestamp::inner),
                source_info = source);
        }
        reply.wait().or_fail(GENERIC)
    })
}

/// Options of [`z_query_reply_err`].
#[repr(C)]
#[derive(Default)]
pub struct ReplyErrOptions<'a> {
    encoding: Moved<'a, Encoding>,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply_err_options_default(this: Out<'_, ReplyErrOptions<'static>>) {
    fill(this, ReplyErrOptions::default());
}

/// Replies with an error.
#[unsafe(no_mangle)]
pub extern "C" fn z_query_reply_err(
    this: Loan<'_, Query>,
    payload: Moved<'_, Bytes>,
    options: Option<&mut ReplyErrOptions<'_>>,
) -> Code {
    answer(|| {
        let payload = payload.map(payload_of);
        let encoding = options.and_then(|options| taken(options.encoding.take()));
        let query = &shared(this).required("query")?.query;
        let mut reply = query.reply_err(ZBytes::from(payload.required("payload")?));
        given!(reply: encoding = encoding);
        reply.wait().or_fail(GENERIC)
    })
}

place!(
    /// A queryable.
    OwnedQueryable = Box<Declared>, size 16, align 8
);

mechanical!(OwnedQueryable:
    null z_internal_queryable_null,
    check z_internal_queryable_check,
    loan z_queryable_loan,
);

/// A queryable, and its key in the form that C reads.
pub struct Declared {
    queryable: Queryable<()>,
    key: OwnedKeyExpr,
}

/// Options of [`z_declare_queryable`].
#[repr(C)]
pub struct QueryableOptions {
    complete: bool,
    allowed_origin: c_int,
}
const _: () = assert!(size_of::<QueryableOptions>() == 8);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_queryable_options_default(this: Out<'_, QueryableOptions>) {
    let defaults = QueryableOptions {
        complete: false,
        allowed_origin: 0,
    };
    fill(this, defaults);
}

/// Declares a queryable: the closure is called with each query.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_queryable(
    session: Loan<'_, Session>,
    queryable: Out<'_, OwnedQueryable>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureQuery>,
    options: Option<&QueryableOptions>,
) -> Code {
    answer(|| {
        let declared = declare(session, key, callback, options);
        write(queryable, declared.map(Box::new))
    })
}

/// Declares a queryable that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_background_queryable(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureQuery>,
    options: Option<&QueryableOptions>,
) -> Code {
    answer(|| {
        let mut declared = declare(session, key, callback, options)?;
        declared.queryable.set_background(true);
        Ok(())
    })
}

fn declare(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    callback: Option<&mut OwnedClosureQuery>,
    options: Option<&QueryableOptions>,
) -> Result<Declared, Failure> {
    let callback = callback.required("callback")?.take();
    let key = lent(key).required("key_expr")?;
    let mut builder = lent(session)
        .required("session")?
        .declare_queryable(key.owned());
    if let Some(options) = options {
        builder = builder
            .complete(options.complete)
            .allowed_origin(qos::locality(options.allowed_origin));
    }
    let queryable = builder
        .callback(move |query| callback.give(query.into()))
        .wait()
        .or_fail(GENERIC)?;
    Ok(Declared {
        queryable,
        key: Some(Key::from(key.as_str())),
    })
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_queryable_keyexpr(queryable: Loan<'_, Box<Declared>>) -> Option<&OwnedKeyExpr> {
    Some(&lent(queryable)?.key)
}

/// Returns the id of the queryable.
#[unsafe(no_mangle)]
pub extern "C" fn z_queryable_id(queryable: Loan<'_, Box<Declared>>) -> EntityGlobalId {
    lent(queryable).map_or_else(EntityGlobalId::default, |declared| {
        declared.queryable.id().into()
    })
}

/// Exports the two functions that end a declared thing and wait for its callbacks. They do nothing if
/// the place is empty.
macro_rules! ending {
    ($owned:ty: drop $drop:ident, undeclare $undeclare:ident, |$value:ident| $end:expr) => {
        /// Undeclares it, and waits for a callback that runs.
        #[unsafe(no_mangle)]
        pub extern "C" fn $drop(this: Option<&mut $owned>) {
            $undeclare(this);
        }

        /// Undeclares it; waits for a callback that runs.
        #[unsafe(no_mangle)]
        pub extern "C" fn $undeclare(this: Option<&mut $owned>) -> $crate::code::Code {
            $crate::code::answer(|| match $crate::place::taken(this) {
                Some($value) => {
                    $crate::code::OrFail::or_fail(zonda::Wait::wait($end), $crate::code::GENERIC)
                }
                None => Ok(()),
            })
        }
    };
}
pub(crate) use ending;

ending!(OwnedQueryable: drop z_queryable_drop, undeclare z_undeclare_queryable,
    |declared| declared.queryable.undeclare());
