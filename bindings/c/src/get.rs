// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gets, and their replies.

use std::ffi::c_int;
use std::time::Duration;

use bytes::Bytes;
use zonda::bytes::Encoding;
use zonda::cancellation::CancellationToken;
use zonda::query::{Reply as Replied, Selector};
use zonda::{Session, Wait};

use crate::bytes::OwnedBytes;
use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, INVALID, OrFail, Required, answer};
use crate::encoding::OwnedEncoding;
use crate::generation::{ReplierId, SourceOption, TokenOption};
use crate::keys::Key;
use crate::place::{Loan, Moved, Out, fill, lent, lent_mut, mechanical, place, taken};
use crate::qos::{BLOCK, CONSOLIDATION_AUTO, MATCHING_REPLIES, PRIORITY_DATA};
use crate::sample::OwnedSample;
use crate::text::{CText, Start, utf8};

place!(
    /// A reply: a sample, or an error.
    OwnedReply = Reply, size 248, align 8
);

mechanical!(OwnedReply:
    null z_internal_reply_null,
    check z_internal_reply_check,
    drop z_reply_drop,
    loan z_reply_loan,
    loan_mut z_reply_loan_mut,
    clone z_reply_clone,
    take z_reply_take_from_loaned,
);

place!(
    /// An error that a queryable replied.
    OwnedReplyErr = ReplyErr, size 88, align 8
);

mechanical!(OwnedReplyErr:
    null z_internal_reply_err_null,
    check z_internal_reply_err_check,
    drop z_reply_err_drop,
    loan z_reply_err_loan,
    loan_mut z_reply_err_loan_mut,
    clone z_reply_err_clone,
);

closure!(OwnedClosureReply of OwnedReply:
    new z_closure_reply,
    null z_internal_closure_reply_null,
    check z_internal_closure_reply_check,
    drop z_closure_reply_drop,
    call z_closure_reply_call,
    loan z_closure_reply_loan,
    loan_mut z_closure_reply_loan_mut
);

/// A reply in the form that C reads.
#[derive(Clone)]
pub struct Reply {
    answer: Answer,
    replier: Option<ReplierId>,
}

#[derive(Clone)]
enum Answer {
    Ok(OwnedSample),
    Err(OwnedReplyErr),
}

/// An error in the form that C reads.
#[derive(Clone)]
pub struct ReplyErr {
    payload: OwnedBytes,
    encoding: OwnedEncoding,
}

impl From<Replied> for Reply {
    fn from(reply: Replied) -> Reply {
        let replier = reply.replier_id();
        let answer = match reply.into_result() {
            Ok(sample) => Answer::Ok(Some(sample.into())),
            Err(mut error) => Answer::Err(Some(ReplyErr {
                payload: Some(Bytes::from(std::mem::take(error.payload_mut()))),
                encoding: Some(error.encoding().clone()),
            })),
        };
        Reply {
            answer,
            replier: replier.map(ReplierId::from),
        }
    }
}

/// Returns the function of a get that calls the closure with each reply.
pub fn caller(callback: OwnedClosureReply) -> impl Fn(Replied) + Send + Sync + 'static {
    move |reply| {
        // The reference has no such error: its gets end without a reply.
        if !reply.tells_lost_link() {
            callback.give(reply.into());
        }
    }
}

/// Mode in which replies are merged.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Consolidation {
    mode: c_int,
}

impl Consolidation {
    pub const AUTO: Consolidation = Consolidation {
        mode: CONSOLIDATION_AUTO,
    };
    pub const NONE: Consolidation = Consolidation { mode: 0 };

    /// Returns the library's mode.
    pub fn mode(self) -> zonda::query::ConsolidationMode {
        crate::qos::consolidation(self.mode)
    }
}

/// Exports functions that return a consolidation.
macro_rules! consolidations {
    ($($name:ident = $mode:expr;)+) => {$(
        /// Returns this mode.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> Consolidation {
            Consolidation { mode: $mode }
        }
    )+};
}

consolidations! {
    z_query_consolidation_auto = CONSOLIDATION_AUTO;
    z_query_consolidation_default = CONSOLIDATION_AUTO;
    z_query_consolidation_none = 0;
    z_query_consolidation_monotonic = 1;
    z_query_consolidation_latest = 2;
}

/// Options of [`z_get`].
#[repr(C)]
pub struct GetOptions<'a> {
    pub target: c_int,
    pub consolidation: Consolidation,
    payload: Moved<'a, Bytes>,
    encoding: Moved<'a, Encoding>,
    pub congestion_control: c_int,
    pub express: bool,
    pub allowed_destination: c_int,
    pub accept_replies: c_int,
    pub priority: c_int,
    source: SourceOption<'a>,
    attachment: Moved<'a, Bytes>,
    /// The time to wait for, in milliseconds; 0 for that of the configuration.
    pub timeout_ms: u64,
    token: TokenOption<'a>,
}
const _: () = assert!(size_of::<GetOptions<'_>>() == 72 + size_of::<TokenOption<'_>>());

/// The payload of a get and what goes with it, taken out of the memory of C.
#[derive(Default)]
pub struct Matter {
    pub payload: Option<Bytes>,
    pub encoding: Option<Encoding>,
    pub source: Option<zonda::sample::SourceInfo>,
    pub attachment: Option<Bytes>,
    pub token: Option<CancellationToken>,
}

impl GetOptions<'_> {
    /// Takes what the program gives away.
    pub fn take(&mut self) -> Matter {
        Matter {
            payload: taken(self.payload.take()),
            encoding: taken(self.encoding.take()),
            source: self.source.take(),
            attachment: taken(self.attachment.take()),
            token: self.token.take(),
        }
    }
}

/// Sets the payload of a get and what goes with it.
macro_rules! with_matter {
    ($builder:ident, $matter:expr) => {
        let matter = $matter;
        $crate::place::given!($builder: payload = matter.payload.map(zonda::bytes::ZBytes::from),
            encoding = matter.encoding,
            attachment = matter.attachment.map(zonda::bytes::ZBytes::from),
            source_info = matter.source, cancellation_token = matter.token);
    };
}
pub(crate) use with_matter;

/// Sets the options that a get and a querier have in common.
macro_rules! with_manner {
    ($builder:ident, $options:expr) => {
        $builder = $builder
            .target($crate::qos::target($options.target))
            .consolidation($options.consolidation.mode())
            .congestion_control($crate::qos::congestion_control($options.congestion_control))
            .express($options.express)
            .allowed_destination($crate::qos::locality($options.allowed_destination))
            .accept_replies($crate::qos::accepted_replies($options.accept_replies))
            .priority($crate::qos::priority($options.priority));
        $crate::place::given!($builder: timeout = $crate::get::limit($options.timeout_ms));
    };
}
pub(crate) use with_manner;

/// Returns the timeout that options have; `None` for 0, which means the default.
pub fn limit(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_get_options_default(this: Out<'_, GetOptions<'static>>) {
    let defaults = GetOptions {
        target: 0,
        consolidation: Consolidation::AUTO,
        payload: None,
        encoding: None,
        congestion_control: BLOCK,
        express: false,
        allowed_destination: 0,
        accept_replies: MATCHING_REPLIES,
        priority: PRIORITY_DATA,
        source: SourceOption::NONE,
        attachment: None,
        timeout_ms: 0,
        token: TokenOption::default(),
    };
    fill(this, defaults);
}

/// Returns the parameters in a C string, which may be null.
pub fn parameters(text: CText<'_>) -> Result<&str, Failure> {
    valid(text.bytes().unwrap_or_default())
}

/// Returns the parameters of so many bytes.
pub fn parameters_of(start: Start<'_>, len: usize) -> Result<&str, Failure> {
    let bytes = start.bytes(len);
    valid(bytes.ok_or_else(|| Failure::new(INVALID, "argument `parameters` is null"))?)
}

fn valid(bytes: &[u8]) -> Result<&str, Failure> {
    utf8(bytes, "parameters").map_err(|_| Failure::new(INVALID, "the parameters are not UTF-8"))
}

/// Asks the queryables on matching keys; the closure is called with each reply, and dropped at the end.
#[unsafe(no_mangle)]
pub extern "C" fn z_get(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    parameters: CText<'_>,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut GetOptions<'_>>,
) -> Code {
    answer(|| {
        get(
            session,
            key,
            self::parameters(parameters),
            callback,
            options,
        )
    })
}

/// Asks as [`z_get`] does, with parameters of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_get_with_parameters_substr(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    parameters: Start<'_>,
    len: usize,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut GetOptions<'_>>,
) -> Code {
    answer(|| {
        get(
            session,
            key,
            parameters_of(parameters, len),
            callback,
            options,
        )
    })
}

fn get(
    session: Loan<'_, Session>,
    key: Loan<'_, Key>,
    parameters: Result<&str, Failure>,
    callback: Option<&mut OwnedClosureReply>,
    options: Option<&mut GetOptions<'_>>,
) -> Result<(), Failure> {
    let callback = callback.map(OwnedClosureReply::take);
    let given = options.map(|options| (options.take(), options));
    let callback = callback.required("callback")?;
    let key = lent(key).required("key_expr")?;
    let selector = Selector::from((key.borrowed(), parameters?));
    let mut get = lent(session)
        .required("session")?
        .get(selector)
        .callback(caller(callback));
    if let Some((matter, options)) = given {
        with_manner!(get, options);
        with_matter!(get, matter);
    }
    get.wait().or_fail(GENERIC)
}

/// Returns true if the reply is a sample.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_is_ok(this: Loan<'_, Reply>) -> bool {
    lent(this).is_some_and(|reply| matches!(reply.answer, Answer::Ok(_)))
}

/// Lends the sample; null if the reply is an error.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_ok(this: Loan<'_, Reply>) -> Option<&OwnedSample> {
    match &lent(this)?.answer {
        Answer::Ok(sample) => Some(sample),
        Answer::Err(_) => None,
    }
}

/// Lends the sample for changes; null if the reply is an error.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_ok_mut(this: Moved<'_, Reply>) -> Option<&mut OwnedSample> {
    match &mut lent_mut(this)?.answer {
        Answer::Ok(sample) => Some(sample),
        Answer::Err(_) => None,
    }
}

/// Lends the error; null if the reply is a sample.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_err(this: Loan<'_, Reply>) -> Option<&OwnedReplyErr> {
    match &lent(this)?.answer {
        Answer::Err(error) => Some(error),
        Answer::Ok(_) => None,
    }
}

/// Lends the error for changes; null if the reply is a sample.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_err_mut(this: Moved<'_, Reply>) -> Option<&mut OwnedReplyErr> {
    match &mut lent_mut(this)?.answer {
        Answer::Err(error) => Some(error),
        Answer::Ok(_) => None,
    }
}

/// Writes the id of the queryable that replied; returns false if it is not known.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_replier_id(this: Loan<'_, Reply>, id: Out<'_, ReplierId>) -> bool {
    match lent(this).and_then(|reply| reply.replier) {
        Some(replier) => {
            fill(id, replier);
            true
        }
        None => false,
    }
}

/// Lends the payload, which describes the error.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_err_payload(this: Loan<'_, ReplyErr>) -> Option<&OwnedBytes> {
    Some(&lent(this)?.payload)
}

/// Lends the payload for changes.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_err_payload_mut(this: Moved<'_, ReplyErr>) -> Option<&mut OwnedBytes> {
    Some(&mut lent_mut(this)?.payload)
}

/// Lends the encoding of the payload.
#[unsafe(no_mangle)]
pub extern "C" fn z_reply_err_encoding(this: Loan<'_, ReplyErr>) -> Option<&OwnedEncoding> {
    Some(&lent(this)?.encoding)
}
