// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tokens that end gets early.

use zonda::Wait;
use zonda::cancellation::CancellationToken;

use crate::code::{Code, GENERIC, OrFail, Required, answer};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place};

place!(
    /// A token; clones are the same token.
    OwnedCancellationToken = CancellationToken, size 24, align 8
);

mechanical!(OwnedCancellationToken:
    null z_internal_cancellation_token_null,
    check z_internal_cancellation_token_check,
    drop z_cancellation_token_drop,
    loan z_cancellation_token_loan,
    loan_mut z_cancellation_token_loan_mut,
    clone z_cancellation_token_clone,
);

/// Makes a token.
#[unsafe(no_mangle)]
pub extern "C" fn z_cancellation_token_new(this: Out<'_, OwnedCancellationToken>) -> Code {
    answer(|| {
        fill(this, Some(CancellationToken::default()));
        Ok(())
    })
}

/// Ends the gets that have the token, and waits for their callbacks. A later get with it is refused.
#[unsafe(no_mangle)]
pub extern "C" fn z_cancellation_token_cancel(this: Moved<'_, CancellationToken>) -> Code {
    answer(|| {
        let token = this.and_then(|place| place.as_ref()).required("this")?;
        token.cancel().wait().or_fail(GENERIC)
    })
}

/// Returns true if the token is cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn z_cancellation_token_is_cancelled(this: Loan<'_, CancellationToken>) -> bool {
    lent(this).is_some_and(CancellationToken::is_cancelled)
}
