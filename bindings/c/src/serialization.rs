// SPDX-License-Identifier: MIT OR Apache-2.0

//! The serialization of `zonda::ext`: values one after another.
//!
//! A deserializer lies in the memory of C as a plain [`Cursor`]: it reads the bytes itself, by the rules
//! of the library's module.

use bytes::Bytes;
use zonda::ext::{Serialize, VarInt, ZSerializer, z_serialize};

use crate::bytes::{Cursor, OwnedBytes, buffer};
use crate::code::{Code, DESERIALIZE, Failure, NOT_UTF8, PARSE, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, lent_mut, mechanical, place, taken, write};
use crate::text::{CText, OwnedSlice, OwnedString, Start};

place!(
    /// A serializer.
    OwnedSerializer = ZSerializer, size 64, align 8
);

mechanical!(OwnedSerializer:
    null ze_internal_serializer_null,
    check ze_internal_serializer_check,
    drop ze_serializer_drop,
    loan ze_serializer_loan,
    loan_mut ze_serializer_loan_mut,
);

/// Makes a serializer without values.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_empty(this: Out<'_, OwnedSerializer>) -> Code {
    answer(|| write(this, Ok(ZSerializer::new())))
}

/// Ends a serializer; writes its bytes to a place.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_finish(this: Moved<'_, ZSerializer>, bytes: Out<'_, OwnedBytes>) {
    shielded((), || {
        let serializer = taken(this).unwrap_or_default();
        fill(bytes, Some(Bytes::from(serializer.finish())));
    });
}

/// Makes a deserializer. The bytes must outlive it.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserializer_from_bytes(this: Loan<'_, Bytes>) -> Cursor {
    Cursor::new(this)
}

/// Returns true if no byte is left.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserializer_is_done(this: Option<&Cursor>) -> bool {
    this.is_none_or(|cursor| cursor.rest().is_empty())
}

/// Serializes one value to a place.
fn serialize<T: Serialize + ?Sized>(
    bytes: Out<'_, OwnedBytes>,
    value: Result<&T, Failure>,
) -> Code {
    answer(|| write(bytes, value.map(|value| Bytes::from(z_serialize(value)))))
}

/// Appends a value.
fn append<T: Serialize>(serializer: Moved<'_, ZSerializer>, value: Result<T, Failure>) -> Code {
    answer(|| {
        let value = value?;
        lent_mut(serializer).required("this_")?.serialize(value);
        Ok(())
    })
}

/// A value that can be read from a cursor.
trait Read: Sized {
    /// Reads the next value, if the remaining bytes begin with one.
    fn read(cursor: &mut Cursor) -> Option<Self>;
}

fn refused(code: Code) -> Failure {
    Failure::new(code, "the bytes are no such value")
}

/// Reads the next value.
fn next<T: Read>(cursor: Option<&mut Cursor>) -> Result<T, Failure> {
    let value = T::read(cursor.required("this_")?);
    value.ok_or_else(|| refused(DESERIALIZE))
}

/// Reads a value that takes all of the bytes.
fn whole<T: Read>(bytes: Loan<'_, Bytes>, code: Code) -> Result<T, Failure> {
    lent(bytes).required("this_")?;
    let mut cursor = Cursor::new(bytes);
    let value = T::read(&mut cursor).filter(|_| cursor.rest().is_empty());
    value.ok_or_else(|| refused(code))
}

/// Writes a plain value; leaves the place alone beside an error.
fn put<T>(place: Out<'_, T>, value: Result<T, Failure>) -> Code {
    answer(|| {
        fill(place, value?);
        Ok(())
    })
}

impl Read for bool {
    fn read(cursor: &mut Cursor) -> Option<bool> {
        match cursor.take(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

/// A length: seven bits a byte, the lowest first.
struct Length(usize);

impl Read for Length {
    fn read(cursor: &mut Cursor) -> Option<Length> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::read(cursor)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(value).ok().map(Length);
            }
        }
        None
    }
}

/// A slice, in the form of [`OwnedSlice`].
impl Read for Bytes {
    fn read(cursor: &mut Cursor) -> Option<Bytes> {
        let Length(len) = Length::read(cursor)?;
        cursor.take(len).map(Bytes::copy_from_slice)
    }
}

/// A slice that is UTF-8, in the form of [`OwnedString`].
struct Text(Bytes);

impl Read for Text {
    fn read(cursor: &mut Cursor) -> Option<Text> {
        let bytes = Bytes::read(cursor)?;
        str::from_utf8(&bytes).is_ok().then_some(Text(bytes))
    }
}

/// Implements [`Read`] for numbers: their width, little-endian.
macro_rules! read_numbers {
    ($($number:ty)+) => {$(
        impl Read for $number {
            fn read(cursor: &mut Cursor) -> Option<$number> {
                let bytes = cursor.take(size_of::<$number>())?;
                Some(<$number>::from_le_bytes(bytes.try_into().ok()?))
            }
        }
    )+};
}

read_numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// Exports the four functions of a type of numbers.
macro_rules! plain {
    ($($value:ty: $one:ident $back:ident $more:ident $next:ident,)+) => {$(
        /// Serializes one value.
        #[unsafe(no_mangle)]
        pub extern "C" fn $one(this: Out<'_, OwnedBytes>, value: $value) -> Code {
            serialize(this, Ok(&value))
        }

        /// Reads one value, which takes all of the bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $back(this: Loan<'_, Bytes>, value: Out<'_, $value>) -> Code {
            put(value, whole(this, PARSE))
        }

        /// Appends a value.
        #[unsafe(no_mangle)]
        pub extern "C" fn $more(this: Moved<'_, ZSerializer>, value: $value) -> Code {
            append(this, Ok(value))
        }

        /// Reads the next value.
        #[unsafe(no_mangle)]
        pub extern "C" fn $next(this: Option<&mut Cursor>, value: Out<'_, $value>) -> Code {
            put(value, next(this))
        }
    )+};
}

plain! {
    bool: ze_serialize_bool ze_deserialize_bool ze_serializer_serialize_bool ze_deserializer_deserialize_bool,
    u8: ze_serialize_uint8 ze_deserialize_uint8 ze_serializer_serialize_uint8 ze_deserializer_deserialize_uint8,
    u16: ze_serialize_uint16 ze_deserialize_uint16 ze_serializer_serialize_uint16 ze_deserializer_deserialize_uint16,
    u32: ze_serialize_uint32 ze_deserialize_uint32 ze_serializer_serialize_uint32 ze_deserializer_deserialize_uint32,
    u64: ze_serialize_uint64 ze_deserialize_uint64 ze_serializer_serialize_uint64 ze_deserializer_deserialize_uint64,
    i8: ze_serialize_int8 ze_deserialize_int8 ze_serializer_serialize_int8 ze_deserializer_deserialize_int8,
    i16: ze_serialize_int16 ze_deserialize_int16 ze_serializer_serialize_int16 ze_deserializer_deserialize_int16,
    i32: ze_serialize_int32 ze_deserialize_int32 ze_serializer_serialize_int32 ze_deserializer_deserialize_int32,
    i64: ze_serialize_int64 ze_deserialize_int64 ze_serializer_serialize_int64 ze_deserializer_deserialize_int64,
    f32: ze_serialize_float ze_deserialize_float ze_serializer_serialize_float ze_deserializer_deserialize_float,
    f64: ze_serialize_double ze_deserialize_double ze_serializer_serialize_double ze_deserializer_deserialize_double,
}

/// Appends the number of values of a sequence.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_sequence_length(
    this: Moved<'_, ZSerializer>,
    len: usize,
) -> Code {
    append(this, Ok(VarInt(len)))
}

/// Reads the number of values of a sequence; writes 0 beside an error.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserializer_deserialize_sequence_length(
    this: Option<&mut Cursor>,
    len: Out<'_, usize>,
) -> Code {
    answer(|| {
        let (value, result) = match next::<Length>(this) {
            Ok(Length(value)) => (value, Ok(())),
            Err(failure) => (0, Err(failure)),
        };
        fill(len, value);
        result
    })
}

/// Returns the bytes of a slice that C lends.
fn slice(slice: Loan<'_, Bytes>) -> Result<&[u8], Failure> {
    Ok(lent(slice).map_or(&[], |bytes| bytes))
}

/// Returns the text of a string that C lends, or of its bytes.
fn text(bytes: &[u8]) -> Result<&str, Failure> {
    str::from_utf8(bytes).map_err(|error| Failure::new(NOT_UTF8, error.to_string()))
}

/// Serializes one slice.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serialize_slice(this: Out<'_, OwnedBytes>, value: Loan<'_, Bytes>) -> Code {
    serialize(this, slice(value))
}

/// Serializes bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serialize_buf(this: Out<'_, OwnedBytes>, data: Start<'_>, len: usize) -> Code {
    serialize(this, buffer(data, len))
}

/// Serializes one text.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serialize_string(this: Out<'_, OwnedBytes>, value: Loan<'_, Bytes>) -> Code {
    serialize(this, slice(value).and_then(text))
}

/// Serializes a text of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serialize_str(this: Out<'_, OwnedBytes>, value: CText<'_>) -> Code {
    serialize(this, text(value.bytes().unwrap_or_default()))
}

/// Serializes a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serialize_substr(
    this: Out<'_, OwnedBytes>,
    start: Start<'_>,
    len: usize,
) -> Code {
    serialize(this, buffer(start, len).and_then(text))
}

/// Appends a slice.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_slice(
    this: Moved<'_, ZSerializer>,
    value: Loan<'_, Bytes>,
) -> Code {
    append(this, slice(value))
}

/// Appends bytes of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_buf(
    this: Moved<'_, ZSerializer>,
    data: Start<'_>,
    len: usize,
) -> Code {
    append(this, buffer(data, len))
}

/// Appends a text.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_string(
    this: Moved<'_, ZSerializer>,
    value: Loan<'_, Bytes>,
) -> Code {
    append(this, slice(value).and_then(text))
}

/// Appends a text of the program.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_str(
    this: Moved<'_, ZSerializer>,
    value: CText<'_>,
) -> Code {
    append(this, text(value.bytes().unwrap_or_default()))
}

/// Appends a text of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ze_serializer_serialize_substr(
    this: Moved<'_, ZSerializer>,
    start: Start<'_>,
    len: usize,
) -> Code {
    append(this, buffer(start, len).and_then(text))
}

/// Reads a slice that takes all of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserialize_slice(this: Loan<'_, Bytes>, value: Out<'_, OwnedSlice>) -> Code {
    answer(|| write(value, whole(this, DESERIALIZE)))
}

/// Reads a text that takes all of the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserialize_string(
    this: Loan<'_, Bytes>,
    value: Out<'_, OwnedString>,
) -> Code {
    answer(|| write(value, whole(this, DESERIALIZE).map(|Text(bytes)| bytes)))
}

/// Reads the next slice.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserializer_deserialize_slice(
    this: Option<&mut Cursor>,
    value: Out<'_, OwnedSlice>,
) -> Code {
    answer(|| write(value, next(this)))
}

/// Reads the next text.
#[unsafe(no_mangle)]
pub extern "C" fn ze_deserializer_deserialize_string(
    this: Option<&mut Cursor>,
    value: Out<'_, OwnedString>,
) -> Code {
    answer(|| write(value, next(this).map(|Text(bytes)| bytes)))
}
