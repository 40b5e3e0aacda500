// SPDX-License-Identifier: MIT OR Apache-2.0

//! Texts and slices of C: pointers with a length or with a terminating zero, and the owned types
//! `z_owned_string_t` and `z_owned_slice_t`.

use std::ffi::{CStr, c_char, c_void};
use std::fmt::Display;
use std::marker::PhantomData;
use std::slice;

use bytes::Bytes;

use crate::code::{Failure, INVALID, NOT_UTF8, shielded};
use crate::place::{Out, fill, place};

place!(
    /// A text, not terminated by a zero.
    OwnedString = Bytes, size 32, align 8
);
place!(
    /// Bytes with a length.
    OwnedSlice = Bytes, size 32, align 8
);

/// An argument `const char *`: null, or a text that a zero terminates.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct CText<'a>(*const c_char, PhantomData<&'a c_char>);

impl<'a> CText<'a> {
    /// Returns the bytes before the zero; `None` for null.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: C passes a text that a zero terminates, and that lives as long as the call.
        Some(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    /// Returns the text.
    ///
    /// # Errors
    /// The pointer is null, or the text is not UTF-8.
    pub fn str(self, name: &str) -> Result<&'a str, Failure> {
        utf8(self.bytes().ok_or_else(|| Failure::null(name))?, name)
    }
}

/// An argument `const uint8_t *` or `const char *` beside a length.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Start<'a>(*const u8, PhantomData<&'a u8>);

impl<'a> Start<'a> {
    /// Returns true for null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns so many bytes from here on; `None` for null beside a length above 0, and for more bytes
    /// than any object has.
    pub fn bytes(self, len: usize) -> Option<&'a [u8]> {
        match (self.0.is_null(), len) {
            (_, 0) => Some(&[]),
            (true, _) => None,
            (false, _) if len > isize::MAX as usize => None,
            // SAFETY: C passes a pointer to that many bytes, which live as long as the call.
            (false, _) => Some(unsafe { slice::from_raw_parts(self.0, len) }),
        }
    }

    /// Returns so many bytes as text.
    ///
    /// # Errors
    /// The pointer is null, or the text is not UTF-8.
    pub fn str(self, len: usize, name: &str) -> Result<&'a str, Failure> {
        utf8(
            self.bytes(len)
                .ok_or_else(|| Failure::new(INVALID, format!("argument `{name}` is null")))?,
            name,
        )
    }
}

/// An argument `uint8_t *` or `char *` beside a length: memory that the function writes to.
#[repr(transparent)]
pub struct StartMut<'a>(*mut u8, PhantomData<&'a mut u8>);

impl<'a> StartMut<'a> {
    /// Returns so many bytes from here on, under the conditions of [`Start::bytes`].
    pub fn bytes(self, len: usize) -> Option<&'a mut [u8]> {
        match (self.0.is_null(), len) {
            (_, 0) => Some(&mut []),
            (true, _) => None,
            (false, _) if len > isize::MAX as usize => None,
            // SAFETY: C passes a pointer to that many bytes, which are its own during the call.
            (false, _) => Some(unsafe { slice::from_raw_parts_mut(self.0, len) }),
        }
    }

    /// Returns the bytes before the terminating zero; `None` for null.
    pub fn text(self) -> Option<&'a mut [u8]> {
        let len = CText(self.0.cast(), PhantomData).bytes()?.len();
        self.bytes(len)
    }

    /// Returns the address.
    pub fn address(&self) -> *mut u8 {
        self.0
    }
}

/// Returns bytes as text.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn utf8<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str, Failure> {
    str::from_utf8(bytes)
        .map_err(|error| Failure::new(NOT_UTF8, format!("argument `{name}`: {error}")))
}

/// Returns the same bytes for as long as the program likes: a C program that makes a view promises that
/// what it shows outlives the view.
pub fn outliving(bytes: &[u8]) -> &'static [u8] {
    // SAFETY: the contract of views, which C programs keep.
    unsafe { slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

/// Like [`outliving`], for text.
pub fn outliving_text(text: &str) -> &'static str {
    // SAFETY: the contract of views, which C programs keep; the bytes are those of a text.
    unsafe { str::from_utf8_unchecked(outliving(text.as_bytes())) }
}

/// Writes a view of bytes to a place.
pub fn view(place: Out<'_, Option<Bytes>>, bytes: &[u8]) {
    fill(place, Some(Bytes::from_static(outliving(bytes))));
}

/// Writes the text by which a value is shown to a place; the empty state if there is no value.
pub fn show(place: Out<'_, OwnedString>, value: Option<impl Display>) {
    shielded((), || {
        fill(place, value.map(|value| Bytes::from(value.to_string())));
    });
}

/// A function that frees what C gave: `(data, context)`.
pub type Deleter = Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>;

/// Memory of C that the deleter frees.
struct Foreign {
    start: *mut u8,
    len: usize,
    deleter: Deleter,
    context: *mut c_void,
}

// SAFETY: C gives the memory away, and allows its deleter to be called on any thread.
unsafe impl Send for Foreign {}
// SAFETY: the memory is only read.
unsafe impl Sync for Foreign {}

impl AsRef<[u8]> for Foreign {
    fn as_ref(&self) -> &[u8] {
        Start(self.start, PhantomData)
            .bytes(self.len)
            .unwrap_or_default()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: C gave this function for this memory; it is called once.
            unsafe { deleter(self.start.cast(), self.context) }
        }
    }
}

/// Wraps memory that C gives away: the deleter frees it after the last use.
pub fn foreign(start: StartMut<'_>, len: usize, deleter: Deleter, context: *mut c_void) -> Bytes {
    let start = start.0;
    Bytes::from_owner(Foreign {
        start,
        len,
        deleter,
        context,
    })
}
