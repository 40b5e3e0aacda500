// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples.

use std::cell::RefCell;
use std::ffi::c_int;

use bytes::Bytes;
use zonda::bytes::Encoding;
use zonda::qos::Reliability;

use crate::bytes::OwnedBytes;
use crate::encoding::OwnedEncoding;
use crate::generation::{SourceLoan, lend_source};
use crate::keys::{Key, OwnedKeyExpr};
use crate::place::{Loan, Moved, lent, lent_mut, mechanical, place};
use crate::qos::{congestion_number, kind_number};
use crate::values::{SourceInfo, Timestamp};

place!(
    /// A sample.
    OwnedSample = Sample, size 224, align 8
);

mechanical!(OwnedSample:
    null z_internal_sample_null,
    check z_internal_sample_check,
    drop z_sample_drop,
    loan z_sample_loan,
    loan_mut z_sample_loan_mut,
    clone z_sample_clone,
    take z_sample_take_from_loaned,
);

/// A sample in the form that C reads: its parts are owned values in their places, as a program may take
/// the address of one for an owned value.
#[derive(Clone)]
#[repr(C)]
pub struct Sample {
    key: OwnedKeyExpr,
    payload: OwnedBytes,
    attachment: OwnedBytes,
    encoding: OwnedEncoding,
    timestamp: Option<Timestamp>,
    source: Option<SourceInfo>,
    service: Service,
}

/// The service of a sample, in the numbers of C.
#[derive(Clone, Copy)]
struct Service {
    kind: u8,
    priority: u8,
    congestion_control: u8,
    express: bool,
    reliable: bool,
}

thread_local! {
    /// The key of the last sample of this thread. Most samples of a subscriber have the key of the one
    /// before, whose text they then share.
    static LAST_KEY: RefCell<Option<Key>> = const { RefCell::new(None) };
}

/// Returns a key with this text.
fn shared_key(text: &str) -> Key {
    LAST_KEY.with_borrow_mut(|last| match last {
        Some(key) if key.as_str() == text => key.clone(),
        _ => last.insert(Key::from(text)).clone(),
    })
}

impl From<zonda::sample::Sample> for Sample {
    fn from(mut sample: zonda::sample::Sample) -> Sample {
        let key = shared_key(sample.key_expr().as_str());
        let payload = Bytes::from(std::mem::take(sample.payload_mut()));
        let attachment = sample
            .attachment_mut()
            .map(|bytes| Bytes::from(std::mem::take(bytes)));
        let service = Service {
            kind: kind_number(sample.kind()) as u8,
            priority: sample.priority() as u8,
            congestion_control: congestion_number(sample.congestion_control()) as u8,
            express: sample.express(),
            reliable: sample.reliability() == Reliability::Reliable,
        };
        Sample {
            key: Some(key),
            payload: Some(payload),
            attachment,
            encoding: Some(sample.encoding().clone()),
            timestamp: sample.timestamp().map(Timestamp::from),
            source: sample.source_info().map(SourceInfo::from),
            service,
        }
    }
}

/// Lends the key.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_keyexpr(this: Loan<'_, Sample>) -> Option<&OwnedKeyExpr> {
    Some(&lent(this)?.key)
}

/// Lends the payload.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_payload(this: Loan<'_, Sample>) -> Option<&OwnedBytes> {
    Some(&lent(this)?.payload)
}

/// Lends the payload for changes.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_payload_mut(this: Moved<'_, Sample>) -> Option<&mut OwnedBytes> {
    Some(&mut lent_mut(this)?.payload)
}

/// Lends the attachment; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_attachment(this: Loan<'_, Sample>) -> Option<&OwnedBytes> {
    Some(&lent(this)?.attachment).filter(|attachment| attachment.is_some())
}

/// Lends the encoding.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_encoding(this: Loan<'_, Sample>) -> Option<&Option<Encoding>> {
    Some(&lent(this)?.encoding)
}

/// Returns the timestamp; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_timestamp(this: Loan<'_, Sample>) -> Option<&Timestamp> {
    lent(this)?.timestamp.as_ref()
}

/// Lends the source.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_source_info(this: Loan<'_, Sample>) -> Option<&SourceLoan> {
    lend_source(&lent(this)?.source)
}

/// Returns the service of a sample that C lends.
fn service(this: Loan<'_, Sample>) -> Option<Service> {
    Some(lent(this)?.service)
}

/// Returns 0 for a put, 1 for a deletion.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_kind(this: Loan<'_, Sample>) -> c_int {
    service(this).map_or(0, |service| service.kind.into())
}

/// Returns the priority, 1 to 7.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_priority(this: Loan<'_, Sample>) -> c_int {
    service(this).map_or(crate::qos::PRIORITY_DATA, |service| service.priority.into())
}

/// Returns the congestion control.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_congestion_control(this: Loan<'_, Sample>) -> c_int {
    service(this).map_or(crate::qos::DROP, |service| {
        service.congestion_control.into()
    })
}

/// Returns true if the sample was sent without waiting for more to send with it.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_express(this: Loan<'_, Sample>) -> bool {
    service(this).is_some_and(|service| service.express)
}

/// Returns the reliability: 0 best effort, 1 reliable.
#[unsafe(no_mangle)]
pub extern "C" fn z_sample_reliability(this: Loan<'_, Sample>) -> c_int {
    service(this).map_or(crate::qos::RELIABLE, |service| service.reliable.into())
}
