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
