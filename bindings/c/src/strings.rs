// SPDX-License-Identifier: MIT OR Apache-2.0

//! Owned and shown texts and slices, and arrays of texts.
//!
//! A view is an owned value that shows memory of the program. A clone of either one has its own copy.

use std::ffi::{c_char, c_int, c_void};

use bytes::Bytes;
use zonda::Config;
use zonda::config::Roles;

use crate::bytes::{buffer, copied, copied_text, filled, given_away, text_given_away};
use crate::code::{Code, Failure, INVALID, OrFail, PARSE, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, write};
use crate::text::{self, CText, Deleter, OwnedSlice, OwnedString, Start, StartMut};

mechanical!(OwnedSlice:
    null z_internal_slice_null,
    null z_slice_empty,
    null z_view_slice_empty,
    drop z_slice_drop,
    loan z_slice_loan,
    loan z_view_slice_loan,
);

mechanical!(OwnedString:
    null z_internal_string_null,
    null z_string_empty,
    null z_view_string_empty,
    drop z_string_drop,
    loan z_string_loan,
    loan z_view_string_loan,
    loan z_string_as_slice,
);

/// Returns the address of the first byte. Without bytes it is that of a terminating zero, so that a
/// program may read it as a text.
fn data(this: Loan<'_, Bytes>) -> *const u8 {
    match lent(this) {
        Some(bytes) if !bytes.is_empty() => bytes.as_ptr(),
        _ => c"".as_ptr().cast(),
    }
}

/// Returns true if the slice has at least one byte.
#[unsafe(no_mangle)]
pub extern "C" fn z_internal_slice_check(this: Loan<'_, Bytes>) -> bool {
    filled(this)
}

/// Copies a slice.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_clone(clone: Out<'_, OwnedSlice>, this: Loan<'_, Bytes>) {
    shielded((), || fill(clone, Some(copied(this))));
}

/// Copies bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_copy_from_buf(
    this: Out<'_, OwnedSlice>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(start, len).map(Bytes::copy_from_slice)))
}

/// Takes bytes of the program, which the deleter frees.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_from_buf(
    this: Out<'_, OwnedSlice>,
    start: StartMut<'_>,
    len: usize,
    deleter: Deleter,
    context: *mut c_void,
) -> Code {
    answer(|| write(this, given_away(start, len, deleter, context)))
}

/// Returns the address of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_data(this: Loan<'_, Bytes>) -> *const u8 {
    data(this)
}

/// Returns the number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_len(this: Loan<'_, Bytes>) -> usize {
    lent(this).map_or(0, Bytes::len)
}

/// Returns true if there are no bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_slice_is_empty(this: Loan<'_, Bytes>) -> bool {
    !filled(this)
}

/// Makes a view of bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_slice_from_buf(
    this: Out<'_, OwnedSlice>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(start, len).map(shown)))
}

fn shown(bytes: &[u8]) -> Bytes {
    Bytes::from_static(text::outliving(bytes))
}

/// Returns true if there are no bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_slice_is_empty(this: Loan<'_, Bytes>) -> bool {
    !filled(this)
}

/// Returns true if the text has at least one byte.
#[unsafe(no_mangle)]
pub extern "C" fn z_internal_string_check(this: Loan<'_, Bytes>) -> bool {
    filled(this)
}

/// Copies a text.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_clone(clone: Out<'_, OwnedString>, this: Loan<'_, Bytes>) {
    shielded((), || fill(clone, Some(copied(this))));
}

/// Copies a text of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_copy_from_str(this: Out<'_, OwnedString>, text: CText<'_>) -> Code {
    answer(|| write(this, Ok(copied_text(text))))
}

/// Copies a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_copy_from_substr(
    this: Out<'_, OwnedString>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(start, len).map(Bytes::copy_from_slice)))
}

/// Takes a text of the program, which the deleter frees.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_from_str(
    this: Out<'_, OwnedString>,
    text: CText<'_>,
    deleter: Deleter,
    context: *mut c_void,
) -> Code {
    answer(|| write(this, text_given_away(text, deleter, context)))
}

/// Returns the address of the text, which no zero terminates.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_data(this: Loan<'_, Bytes>) -> *const c_char {
    data(this).cast()
}

/// Returns the number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_len(this: Loan<'_, Bytes>) -> usize {
    lent(this).map_or(0, Bytes::len)
}

/// Returns true if the text is empty.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_is_empty(this: Loan<'_, Bytes>) -> bool {
    !filled(this)
}

/// Makes a view of a text of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_string_from_str(this: Out<'_, OwnedString>, text: CText<'_>) -> Code {
    answer(|| write(this, Ok(shown(text.bytes().unwrap_or_default()))))
}

/// Makes a view of a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_string_from_substr(
    this: Out<'_, OwnedString>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(start, len).map(shown)))
}

/// Returns true if the text is empty.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_string_is_empty(this: Loan<'_, Bytes>) -> bool {
    !filled(this)
}

place!(
    /// Texts, one after another.
    OwnedStringArray = Vec<OwnedString>, size 24, align 8
);

mechanical!(OwnedStringArray:
    null z_internal_string_array_null,
    null z_string_array_new,
    drop z_string_array_drop,
    loan z_string_array_loan,
    loan_mut z_string_array_loan_mut,
);

/// Returns true if the array has at least one text.
#[unsafe(no_mangle)]
pub extern "C" fn z_internal_string_array_check(this: Loan<'_, Vec<OwnedString>>) -> bool {
    !z_string_array_is_empty(this)
}

/// Copies an array with its texts.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_clone(
    clone: Out<'_, OwnedStringArray>,
    this: Loan<'_, Vec<OwnedString>>,
) {
    shielded((), || {
        let texts = lent(this).into_iter().flatten();
        let texts = texts.map(|text| Some(copied(Some(text))));
        fill(clone, Some(texts.collect()));
    });
}

/// Lends a text; null if the array has no such one.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_get(
    this: Loan<'_, Vec<OwnedString>>,
    index: usize,
) -> Option<&OwnedString> {
    lent(this)?.get(index)
}

/// Returns the number of texts.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_len(this: Loan<'_, Vec<OwnedString>>) -> usize {
    lent(this).map_or(0, Vec::len)
}

/// Returns true if there are no texts.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_is_empty(this: Loan<'_, Vec<OwnedString>>) -> bool {
    lent(this).is_none_or(Vec::is_empty)
}

/// Appends a copy of a text; returns the number of texts.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_push_by_copy(
    this: Moved<'_, Vec<OwnedString>>,
    value: Loan<'_, Bytes>,
) -> usize {
    shielded(0, || push(this, copied(value)))
}

/// Appends a view of a text, which must outlive the array; returns the number of texts.
#[unsafe(no_mangle)]
pub extern "C" fn z_string_array_push_by_alias(
    this: Moved<'_, Vec<OwnedString>>,
    value: Loan<'_, Bytes>,
) -> usize {
    shielded(0, || {
        push(
            this,
            lent(value).map(|text| shown(text)).unwrap_or_default(),
        )
    })
}

fn push(array: Moved<'_, Vec<OwnedString>>, text: Bytes) -> usize {
    let Some(array) = array else { return 0 };
    let array = array.get_or_insert_default();
    array.push(Some(text));
    array.len()
}

/// Makes a view of the names of roles (1 router, 2 peer, 4 client), joined by `|`.
#[unsafe(no_mangle)]
pub extern "C" fn z_whatami_to_view_string(roles: c_int, names: Out<'_, OwnedString>) -> Code {
    answer(|| {
        let names_of = |bits: u8| shown(Roles::from_bits(bits).to_str().as_bytes());
        let roles = u8::try_from(roles).ok().filter(|bits| *bits <= 0b111);
        let result = roles
            .map(names_of)
            .ok_or_else(|| Failure::new(INVALID, "argument `whatami` is no set of roles"));
        write(names, result)
    })
}

/// Writes a configuration in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn zc_config_to_string(
    config: Loan<'_, Box<Config>>,
    json: Out<'_, OwnedString>,
) -> Code {
    answer(|| {
        let config = lent(config).required("config");
        let read = || config?.to_json("").or_fail(PARSE);
        write(json, read().map(Bytes::from))
    })
}
