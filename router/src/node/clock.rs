// SPDX-License-Identifier: MIT OR Apache-2.0

//! System clock in the units of the protocol.

use std::time::{SystemTime, UNIX_EPOCH};

use zonda_codec::Ntp64;

/// Returns the time of the system clock in the protocol's format. A clock before 1970 counts as
/// 1970.
pub(crate) fn ntp64_now() -> Ntp64 {
    Ntp64::from_unix(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

/// Returns the time of the system clock in ms since 1970, the start of the count of a router's
/// changes. A clock before 1970 counts as 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
