// SPDX-License-Identifier: MIT OR Apache-2.0

//! The enumerations of C for service, locality and queries. A number that an enumeration does not have
//! means its default.

use std::ffi::c_int;

use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::query::{ConsolidationMode, QueryTarget, ReplyKeyExpr};
use zonda::sample::{Locality, SampleKind};

pub const BLOCK: c_int = 0;
pub const DROP: c_int = 1;
pub const PRIORITY_DATA: c_int = 5;
pub const RELIABLE: c_int = 1;
pub const CONSOLIDATION_AUTO: c_int = -1;
pub const MATCHING_REPLIES: c_int = 1;

#[inline]
pub fn congestion_control(number: c_int) -> CongestionControl {
    match number {
        BLOCK => CongestionControl::Block,
        2 => CongestionControl::BlockFirst,
        _ => CongestionControl::Drop,
    }
}

#[inline]
pub fn congestion_number(control: CongestionControl) -> c_int {
    match control {
        CongestionControl::Block => BLOCK,
        CongestionControl::BlockFirst => 2,
        _ => DROP,
    }
}

#[inline]
pub fn priority(number: c_int) -> Priority {
    let priority = u8::try_from(number).ok();
    priority
        .and_then(|number| Priority::try_from(number).ok())
        .unwrap_or(Priority::Data)
}

#[inline]
pub fn reliability(number: c_int) -> Reliability {
    match number {
        0 => Reliability::BestEffort,
        _ => Reliability::Reliable,
    }
}

#[inline]
pub fn locality(number: c_int) -> Locality {
    match number {
        1 => Locality::SessionLocal,
        2 => Locality::Remote,
        _ => Locality::Any,
    }
}

pub fn target(number: c_int) -> QueryTarget {
    match number {
        1 => QueryTarget::All,
        2 => QueryTarget::AllComplete,
        _ => QueryTarget::BestMatching,
    }
}

pub fn consolidation(number: c_int) -> ConsolidationMode {
    match number {
        0 => ConsolidationMode::None,
        1 => ConsolidationMode::Monotonic,
        2 => ConsolidationMode::Latest,
        _ => ConsolidationMode::Auto,
    }
}

pub fn accepted_replies(number: c_int) -> ReplyKeyExpr {
    match number {
        0 => ReplyKeyExpr::Any,
        _ => ReplyKeyExpr::MatchingQuery,
    }
}

#[inline]
pub fn kind_number(kind: SampleKind) -> c_int {
    match kind {
        SampleKind::Put => 0,
        SampleKind::Delete => 1,
    }
}

/// Exports functions that return a default.
macro_rules! defaults {
    ($($name:ident = $value:expr;)+) => {$(
        /// Returns the default.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            $value
        }
    )+};
}

defaults! {
    z_internal_congestion_control_default_push = DROP;
    z_internal_congestion_control_default_request = BLOCK;
    z_internal_congestion_control_default_response = BLOCK;
    z_priority_default = PRIORITY_DATA;
    z_reliability_default = RELIABLE;
    z_locality_default = 0;
    zc_locality_default = 0;
    z_query_target_default = 0;
    z_reply_keyexpr_default = MATCHING_REPLIES;
    zc_reply_keyexpr_default = MATCHING_REPLIES;
}
