// SPDX-License-Identifier: MIT OR Apache-2.0

//! Payloads: bytes that stay where they are when their value moves or is cloned.

use bytes::Bytes;

use crate::place::{mechanical, place};

place!(
    /// A payload or an attachment.
    OwnedBytes = Bytes, size 40, align 8
);

mechanical!(OwnedBytes:
    null z_internal_bytes_null,
    check z_internal_bytes_check,
    drop z_bytes_drop,
    loan z_bytes_loan,
    loan_mut z_bytes_loan_mut,
    clone z_bytes_clone,
);
