// SPDX-License-Identifier: MIT OR Apache-2.0

//! Encodings.

use zonda::bytes::Encoding;

use crate::place::{mechanical, place};

place!(
    /// An encoding: the number of a format, and a schema.
    OwnedEncoding = Encoding, size 48, align 8
);

mechanical!(OwnedEncoding:
    null z_internal_encoding_null,
    check z_internal_encoding_check,
    drop z_encoding_drop,
    loan z_encoding_loan,
    loan_mut z_encoding_loan_mut,
    clone z_encoding_clone,
);
