// SPDX-License-Identifier: MIT OR Apache-2.0

//! Payloads: bytes that stay where they are when their value moves or is cloned. Readers and writers
//! of them.

use std::ffi::{c_int, c_void};
use std::mem;

use bytes::Bytes;

use crate::code::{Code, Failure, INVALID, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, lent_mut, mechanical, place, taken, write};
use crate::text::{self, CText, Deleter, OwnedSlice, OwnedString, Start, StartMut};

place!(
    /// A payload or an attachment.
    OwnedBytes = Bytes, size 40, align 8
);

mechanical!(OwnedBytes:
    null z_internal_bytes_null,
    drop z_bytes_drop,
    loan z_bytes_loan,
    loan_mut z_bytes_loan_mut,
    clone z_bytes_clone,
);

/// Takes a payload out of its place. An empty place is a payload without bytes.
#[inline]
pub fn payload_of(place: &mut OwnedBytes) -> Bytes {
    place.take().unwrap_or_default()
}

/// Returns true if the place holds at least one byte.
pub fn filled(place: Loan<'_, Bytes>) -> bool {
    lent(place).is_some_and(|bytes| !bytes.is_empty())
}

/// Returns so many bytes of the program.
///
/// # Errors
/// The pointer is null.
pub fn buffer(data: Start<'_>, len: usize) -> Result<&[u8], Failure> {
    data.bytes(len).ok_or_else(null)
}

fn null() -> Failure {
    Failure::new(INVALID, "the pointer to the bytes is null")
}

/// Wraps bytes that the program gives away: the deleter frees them after the last use. Without a
/// deleter they live for ever.
///
/// # Errors
/// The pointer is null.
pub fn given_away(
    data: StartMut<'_>,
    len: usize,
    deleter: Deleter,
    context: *mut c_void,
) -> Result<Bytes, Failure> {
    if data.address().is_null() && len > 0 {
        return Err(null());
    }
    match deleter {
        Some(_) => Ok(text::foreign(data, len, deleter, context)),
        None => Ok(Bytes::from_static(text::outliving(
            data.bytes(len).ok_or_else(null)?,
        ))),
    }
}

/// Wraps a text that the program gives away, without its terminating zero; null is an empty one, and no
/// error.
pub fn text_given_away(
    text: CText<'_>,
    deleter: Deleter,
    context: *mut c_void,
) -> Result<Bytes, Failure> {
    let len = text.bytes().unwrap_or_default().len();
    // SAFETY: both types are the same pointer; the program gives away the memory, so that nothing else
    // uses it.
    let start = unsafe { mem::transmute::<CText<'_>, StartMut<'_>>(text) };
    given_away(start, len, deleter, context)
}

/// Copies a text; null is an empty one.
pub fn copied_text(text: CText<'_>) -> Bytes {
    Bytes::copy_from_slice(text.bytes().unwrap_or_default())
}

/// Copies bytes that C lends; an empty place has none.
pub fn copied(bytes: Loan<'_, Bytes>) -> Bytes {
    lent(bytes).map_or_else(Bytes::new, |bytes| Bytes::copy_from_slice(bytes))
}

/// Returns true if the place holds at least one byte.
#[unsafe(no_mangle)]
pub extern "C" fn z_internal_bytes_check(this: Loan<'_, Bytes>) -> bool {
    filled(this)
}

/// Makes a payload without bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_empty(this: Out<'_, OwnedBytes>) {
    fill(this, Some(Bytes::new()));
}

/// Returns true if there are no bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_is_empty(this: Loan<'_, Bytes>) -> bool {
    !filled(this)
}

/// Returns the number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_len(this: Loan<'_, Bytes>) -> usize {
    lent(this).map_or(0, Bytes::len)
}

/// Copies bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_copy_from_buf(
    this: Out<'_, OwnedBytes>,
    data: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(data, len).map(Bytes::copy_from_slice)))
}

/// Copies a text.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_copy_from_str(this: Out<'_, OwnedBytes>, text: CText<'_>) -> Code {
    answer(|| write(this, Ok(copied_text(text))))
}

/// Copies a slice.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_copy_from_slice(this: Out<'_, OwnedBytes>, slice: Loan<'_, Bytes>) {
    shielded((), || fill(this, Some(copied(slice))));
}

/// Copies a text.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_copy_from_string(this: Out<'_, OwnedBytes>, text: Loan<'_, Bytes>) {
    shielded((), || fill(this, Some(copied(text))));
}

/// Takes bytes of the program, which the deleter frees.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_buf(
    this: Out<'_, OwnedBytes>,
    data: StartMut<'_>,
    len: usize,
    deleter: Deleter,
    context: *mut c_void,
) -> Code {
    answer(|| write(this, given_away(data, len, deleter, context)))
}

/// Takes a text of the program, which the deleter frees.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_str(
    this: Out<'_, OwnedBytes>,
    text: CText<'_>,
    deleter: Deleter,
    context: *mut c_void,
) -> Code {
    answer(|| write(this, text_given_away(text, deleter, context)))
}

/// Shows bytes of the program that live for ever.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_static_buf(
    this: Out<'_, OwnedBytes>,
    data: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, buffer(data, len).map(shown)))
}

/// Shows a text of the program that lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_static_str(this: Out<'_, OwnedBytes>, text: CText<'_>) -> Code {
    answer(|| write(this, Ok(shown(text.bytes().unwrap_or_default()))))
}

fn shown(bytes: &[u8]) -> Bytes {
    Bytes::from_static(text::outliving(bytes))
}

/// Takes the bytes of a slice.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_slice(this: Out<'_, OwnedBytes>, slice: Moved<'_, Bytes>) {
    fill(this, Some(taken(slice).unwrap_or_default()));
}

/// Takes the bytes of a text.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_from_string(this: Out<'_, OwnedBytes>, text: Moved<'_, Bytes>) {
    fill(this, Some(taken(text).unwrap_or_default()));
}

/// Copies the bytes to a slice.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_to_slice(this: Loan<'_, Bytes>, slice: Out<'_, OwnedSlice>) -> Code {
    answer(|| write(slice, Ok(copied(this))))
}

/// Copies the bytes to a text.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_to_string(this: Loan<'_, Bytes>, text: Out<'_, OwnedString>) -> Code {
    answer(|| {
        let bytes = copied(this);
        let result = match str::from_utf8(&bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Failure::new(
                INVALID,
                format!("the bytes are no text: {error}"),
            )),
        };
        write(text, result)
    })
}

/// Makes a view of the bytes, which are never in more than one piece.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_get_contiguous_view(
    this: Loan<'_, Bytes>,
    view: Out<'_, OwnedSlice>,
) -> Code {
    answer(|| {
        text::view(view, lent(this).map_or(&[], |bytes| bytes));
        Ok(())
    })
}

/// A place in bytes that outlive it: a reader, a deserializer or an iterator in the memory of C.
#[repr(C)]
pub struct Cursor {
    bytes: Option<&'static [u8]>,
    position: usize,
}
const _: () = assert!(size_of::<Cursor>() == 24 && align_of::<Cursor>() == 8);

impl Cursor {
    /// Returns the place before the first byte.
    pub fn new(bytes: Loan<'_, Bytes>) -> Cursor {
        Cursor {
            bytes: lent(bytes).map(|bytes| text::outliving(bytes)),
            position: 0,
        }
    }

    /// Returns the bytes from here on.
    #[inline]
    pub fn rest(&self) -> &'static [u8] {
        let bytes = self.bytes.unwrap_or_default();
        bytes.get(self.position..).unwrap_or_default()
    }

    /// Takes the next bytes, if there are so many.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'static [u8]> {
        let taken = self.rest().get(..count)?;
        self.position += count;
        Some(taken)
    }

    /// Moves to so many bytes from the beginning (0), from here (1) or from the end (2).
    fn seek(&mut self, offset: i64, origin: c_int) -> Option<()> {
        let len = self.bytes.unwrap_or_default().len();
        let base = match origin {
            0 => 0,
            1 => self.position,
            2 => len,
            _ => return None,
        };
        let to = i64::try_from(base).ok()?.checked_add(offset)?;
        self.position = usize::try_from(to).ok().filter(|to| *to <= len)?;
        Some(())
    }
}

/// Makes an iterator over the pieces of the bytes: one, or none if they are empty.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_get_slice_iterator(this: Loan<'_, Bytes>) -> Cursor {
    Cursor::new(this)
}

/// Makes a view of the next piece; returns false if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_slice_iterator_next(
    this: Option<&mut Cursor>,
    slice: Out<'_, OwnedSlice>,
) -> bool {
    let next = this.and_then(|cursor| cursor.take(cursor.rest().len()));
    match next {
        Some(piece) if !piece.is_empty() => {
            text::view(slice, piece);
            true
        }
        _ => false,
    }
}

/// Makes a reader. The bytes must outlive it.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_get_reader(data: Loan<'_, Bytes>) -> Cursor {
    Cursor::new(data)
}

/// Copies the next bytes; returns their number, which is less than asked for at the end.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_reader_read(
    this: Option<&mut Cursor>,
    target: StartMut<'_>,
    len: usize,
) -> usize {
    let Some(cursor) = this else { return 0 };
    let Some(target) = target.bytes(len.min(cursor.rest().len())) else {
        return 0;
    };
    if let Some(next) = cursor.take(target.len()) {
        target.copy_from_slice(next);
    }
    target.len()
}

/// Returns the number of bytes that are still to be read.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_reader_remaining(this: Option<&Cursor>) -> usize {
    this.map_or(0, |cursor| cursor.rest().len())
}

/// Moves the reader within the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_reader_seek(
    this: Option<&mut Cursor>,
    offset: i64,
    origin: c_int,
) -> Code {
    answer(|| {
        let moved = this.required("this_")?.seek(offset, origin);
        moved.ok_or_else(|| {
            let text = format!("offset {offset} from origin {origin} is not within the bytes");
            Failure::new(INVALID, text)
        })
    })
}

/// Returns the position of the reader.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_reader_tell(this: Option<&mut Cursor>) -> i64 {
    let position = this.map(|cursor| i64::try_from(cursor.position));
    position.and_then(Result::ok).unwrap_or(-1)
}

place!(
    /// A writer of bytes.
    OwnedBytesWriter = Vec<u8>, size 64, align 8
);

mechanical!(OwnedBytesWriter:
    null z_internal_bytes_writer_null,
    check z_internal_bytes_writer_check,
    drop z_bytes_writer_drop,
    loan z_bytes_writer_loan,
    loan_mut z_bytes_writer_loan_mut,
);

/// Makes a writer without bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_writer_empty(this: Out<'_, OwnedBytesWriter>) -> Code {
    answer(|| write(this, Ok(Vec::new())))
}

/// Writes bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_writer_write_all(
    this: Moved<'_, Vec<u8>>,
    data: Start<'_>,
    len: usize,
) -> Code {
    answer(|| {
        let data = buffer(data, len)?;
        lent_mut(this).required("this_")?.extend_from_slice(data);
        Ok(())
    })
}

/// Writes a payload. The first one is not copied if no clone of it is left.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_writer_append(this: Moved<'_, Vec<u8>>, bytes: Moved<'_, Bytes>) -> Code {
    answer(|| {
        let bytes = taken(bytes).unwrap_or_default();
        let writer = lent_mut(this).required("this_")?;
        match writer.is_empty() {
            true => *writer = Vec::from(bytes),
            false => writer.extend_from_slice(&bytes),
        }
        Ok(())
    })
}

/// Ends a writer; writes its bytes to a place.
#[unsafe(no_mangle)]
pub extern "C" fn z_bytes_writer_finish(this: Moved<'_, Vec<u8>>, bytes: Out<'_, OwnedBytes>) {
    let written = taken(this).unwrap_or_default();
    fill(bytes, Some(Bytes::from(written)));
}
