// SPDX-License-Identifier: MIT OR Apache-2.0

//! Places: memory of the caller in which an owned value lies.
//!
//! A C program gives each owned type a place of a fixed size and moves it by copying its bytes. Here a
//! place is an `Option`: `None` is the empty state, in which dropping does nothing. A loaned and a
//! moved value are pointers to the same place. C passes null or a valid pointer, which is
//! the layout of `Option<&_>`: exported functions need no unsafe code for them.

use std::mem::MaybeUninit;

use crate::code::{Failure, shielded};

/// A value that C lends: null, or a place.
pub type Loan<'a, T> = Option<&'a Option<T>>;
/// A value that C lends for changes, or gives away: null, or a place.
pub type Moved<'a, T> = Option<&'a mut Option<T>>;
/// A place that the function fills, whatever lies in it before.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Returns the value in a place that C lends.
#[inline]
pub fn lent<'a, T>(place: Loan<'a, T>) -> Option<&'a T> {
    place?.as_ref()
}

/// Returns the value in a place that C lends for changes.
#[inline]
pub fn lent_mut<'a, T>(place: Moved<'a, T>) -> Option<&'a mut T> {
    place?.as_mut()
}

/// Takes the value out of a place, which is empty afterwards.
#[inline]
pub fn taken<T>(place: Moved<'_, T>) -> Option<T> {
    place?.take()
}

/// Drops the value in a place, which is empty afterwards.
pub fn drop_value<T>(place: Moved<'_, T>) {
    shielded((), || drop(taken(place)));
}

/// Writes a value to a place of the caller; nothing if the caller gives none.
#[inline]
pub fn fill<T>(place: Out<'_, T>, value: T) {
    if let Some(place) = place {
        place.write(value);
    }
}

/// Writes the value of a result, or the empty state beside its error.
pub fn write<T>(place: Out<'_, Option<T>>, result: Result<T, Failure>) -> Result<(), Failure> {
    let (value, result) = match result {
        Ok(value) => (Some(value), Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    fill(place, value);
    result
}

/// Sets options of a builder that are given: `given!(put: encoding = encoding, timestamp = timestamp)`.
macro_rules! given {
    ($builder:ident: $($option:ident = $value:expr),+) => {$(
        if let Some(value) = $value {
            $builder = $builder.$option(value);
        }
    )+};
}
pub(crate) use given;

/// Declares an owned type, and asserts that it fits the place that every release of the reference's
/// headers gives it: `place!(OwnedBytes = Bytes, size 40, align 8)`.
macro_rules! place {
    ($(#[$doc:meta])* $name:ident = $inner:ty, size $size:literal, align $align:literal) => {
        $(#[$doc])*
        pub type $name = Option<$inner>;
        const _: () = assert!(
            size_of::<$name>() <= $size && align_of::<$name>() <= $align,
            stringify!($name)
        );
    };
}
pub(crate) use place;

/// Exports the functions that every owned type has, under the names given.
///
/// ```text
/// mechanical!(OwnedBytes:
///     null z_internal_bytes_null,
///     check z_internal_bytes_check,
///     drop z_bytes_drop,
///     loan z_bytes_loan,
///     loan_mut z_bytes_loan_mut,
///     clone z_bytes_clone,
///     take z_bytes_take_from_loaned,
/// );
/// ```
macro_rules! mechanical {
    ($owned:ty: $($kind:ident $name:ident,)+) => {
        $($crate::place::mechanical!(@ $kind $owned, $name);)+
    };
    (@ null $owned:ty, $name:ident) => {
        /// Writes the empty state.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(this: $crate::place::Out<'_, $owned>) {
            $crate::place::fill(this, None);
        }
    };
    (@ check $owned:ty, $name:ident) => {
        /// Returns true if the place holds a value.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(this: Option<&$owned>) -> bool {
            this.is_some_and(Option::is_some)
        }
    };
    (@ drop $owned:ty, $name:ident) => {
        /// Drops the value; the place is empty afterwards.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(this: Option<&mut $owned>) {
            $crate::place::drop_value(this);
        }
    };
    (@ loan $owned:ty, $name:ident) => {
        /// Lends the value.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(this: Option<&$owned>) -> Option<&$owned> {
            this
        }
    };
    (@ loan_mut $owned:ty, $name:ident) => {
        /// Lends the value for changes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(this: Option<&mut $owned>) -> Option<&mut $owned> {
            this
        }
    };
    (@ clone $owned:ty, $name:ident) => {
        /// Writes a clone to another place.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(clone: $crate::place::Out<'_, $owned>, this: Option<&$owned>) {
            $crate::code::shielded((), || {
                $crate::place::fill(clone, this.and_then(Clone::clone));
            });
        }
    };
    (@ take $owned:ty, $name:ident) => {
        /// Moves a value that is lent for changes to another place.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(taken: $crate::place::Out<'_, $owned>, this: Option<&mut $owned>) {
            $crate::place::fill(taken, $crate::place::taken(this));
        }
    };
}
pub(crate) use mechanical;
