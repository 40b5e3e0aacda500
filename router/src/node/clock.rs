// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system's clock, as the protocol counts time.

use std::time::{SystemTime, UNIX_EPOCH};

use zonda_codec::Ntp64;

/// The system's clock as the protocol counts time. A clock before 1970 counts as 1970.
pub(crate) fn ntp64_now() -> Ntp64 {
    Ntp64::from_unix(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

/// The time in ms since 1970 by the system's clock, which the counts of a router's changes begin with. A clock before 1970 counts as
/// 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
