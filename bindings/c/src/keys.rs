// SPDX-License-Identifier: MIT OR Apache-2.0

//! Key expressions. The text of a key stays where it is when its value moves or is cloned.

use std::ffi::c_int;
use std::sync::Arc;

use zonda::key_expr::{KeyExpr, SetIntersectionLevel};
use zonda::{Session, Wait};

use crate::code::{Code, Failure, INVALID, OrFail, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, taken, write};
use crate::text::{self, CText, OwnedString, Start, StartMut};

place!(
    /// A key expression; views of texts of the program are such values, too.
    OwnedKeyExpr = Key, size 32, align 8
);

mechanical!(OwnedKeyExpr:
    null z_internal_keyexpr_null,
    null z_view_keyexpr_empty,
    check z_internal_keyexpr_check,
    drop z_keyexpr_drop,
    loan z_keyexpr_loan,
    loan z_view_keyexpr_loan,
    clone z_keyexpr_clone,
);

/// A key expression whose text does not move.
#[derive(Clone)]
pub enum Key {
    /// A text of the program, which outlives the view.
    View(&'static str),
    Shared(Arc<str>),
    /// A key that a session has declared.
    Declared(Arc<KeyExpr<'static>>),
}

impl Key {
    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Key::View(text) => text,
            Key::Shared(text) => text,
            Key::Declared(key) => key.as_str(),
        }
    }

    /// Returns the library's key, which borrows the text.
    #[inline]
    pub fn borrowed(&self) -> KeyExpr<'_> {
        match self {
            Key::View(text) => KeyExpr::from_str_unchecked(text),
            Key::Shared(text) => KeyExpr::from_str_unchecked(text),
            Key::Declared(key) => key.borrowed(),
        }
    }

    /// Returns the library's key, which shares or owns the text.
    pub fn owned(&self) -> KeyExpr<'static> {
        match self {
            Key::View(text) => KeyExpr::from_string_unchecked((*text).to_owned()),
            Key::Shared(text) => KeyExpr::from_shared_unchecked(text.clone()),
            Key::Declared(key) => (**key).clone(),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::Shared(Arc::from(text))
    }
}

impl From<KeyExpr<'_>> for Key {
    fn from(key: KeyExpr<'_>) -> Key {
        Key::from(key.as_str())
    }
}

/// Returns a text that is a key expression.
fn checked(text: &str) -> Result<&str, Failure> {
    KeyExpr::new(text).or_fail(INVALID)?;
    Ok(text)
}

/// Canonizes a key expression where it lies, and returns its text, which is never longer. The bytes
/// behind it are set to 0.
fn canonize(bytes: Option<&mut [u8]>) -> Result<&str, Failure> {
    let bytes = bytes.ok_or_else(|| Failure::new(INVALID, "argument `start` is null"))?;
    let canon = KeyExpr::autocanonize(text::utf8(bytes, "start")?.to_owned()).or_fail(INVALID)?;
    let canon = canon.as_str().as_bytes();
    let (room, rest) = bytes
        .split_at_mut_checked(canon.len())
        .ok_or_else(|| Failure::new(INVALID, "the canonical key is longer"))?;
    room.copy_from_slice(canon);
    rest.fill(0);
    text::utf8(room, "start")
}

/// Returns the key that a C string is.
fn c_text(expression: CText<'_>) -> Result<&str, Failure> {
    let bytes = expression
        .bytes()
        .ok_or_else(|| Failure::new(INVALID, "argument `expr` is null"))?;
    text::utf8(bytes, "expr")
}

/// Copies a key expression.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_from_str(this: Out<'_, OwnedKeyExpr>, expression: CText<'_>) -> Code {
    answer(|| write(this, c_text(expression).and_then(checked).map(Key::from)))
}

/// Copies a key expression of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_from_substr(
    this: Out<'_, OwnedKeyExpr>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| {
        write(
            this,
            start.str(len, "expr").and_then(checked).map(Key::from),
        )
    })
}

/// Copies a key expression in its canonical form.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_from_str_autocanonize(
    this: Out<'_, OwnedKeyExpr>,
    expression: CText<'_>,
) -> Code {
    answer(|| write(this, c_text(expression).and_then(canonical)))
}

/// Copies a key expression of so many bytes in its canonical form, whose length it writes to `len`.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_from_substr_autocanonize(
    this: Out<'_, OwnedKeyExpr>,
    start: Start<'_>,
    len: Option<&mut usize>,
) -> Code {
    answer(|| {
        let Some(len) = len else {
            return write(this, Err(Failure::new(INVALID, "argument `len` is null")));
        };
        let key = start.str(*len, "start").and_then(canonical);
        if let Ok(key) = &key {
            *len = key.as_str().len();
        }
        write(this, key)
    })
}

fn canonical(text: &str) -> Result<Key, Failure> {
    Ok(Key::from(KeyExpr::autocanonize(text).or_fail(INVALID)?))
}

/// Makes a view of a key expression of the program.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_str(
    this: Out<'_, OwnedKeyExpr>,
    expression: CText<'_>,
) -> Code {
    answer(|| write(this, c_text(expression).and_then(checked).map(view)))
}

/// Makes a view of a key expression of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_substr(
    this: Out<'_, OwnedKeyExpr>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, start.str(len, "expr").and_then(checked).map(view)))
}

/// Makes a view of a key expression that the program knows to be one.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_str_unchecked(
    this: Out<'_, OwnedKeyExpr>,
    expression: CText<'_>,
) {
    shielded((), || fill(this, c_text(expression).ok().map(view)));
}

/// Makes a view of a key expression of so many bytes that the program knows to be one.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_substr_unchecked(
    this: Out<'_, OwnedKeyExpr>,
    start: Start<'_>,
    len: usize,
) {
    shielded((), || {
        fill(
            this,
            (!start.is_null())
                .then(|| start.str(len, "start").ok().map(view))
                .flatten(),
        )
    });
}

/// Canonizes a key expression where it lies, and makes a view of it.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_str_autocanonize(
    this: Out<'_, OwnedKeyExpr>,
    expression: StartMut<'_>,
) -> Code {
    answer(|| write(this, terminated(expression).map(view)))
}

/// Canonizes a key expression of so many bytes where it lies, and makes a view of it.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_from_substr_autocanonize(
    this: Out<'_, OwnedKeyExpr>,
    start: StartMut<'_>,
    len: Option<&mut usize>,
) -> Code {
    answer(|| {
        let Some(len) = len else {
            return write(this, Err(Failure::new(INVALID, "argument `len` is null")));
        };
        let text = canonize(start.bytes(*len));
        if let Ok(text) = &text {
            *len = text.len();
        }
        write(this, text.map(view))
    })
}

fn view(text: &str) -> Key {
    Key::View(text::outliving_text(text))
}

/// Canonizes a C string where it lies.
fn terminated(expression: StartMut<'_>) -> Result<&str, Failure> {
    canonize(expression.text())
}

/// Canonizes a key expression where it lies; writes its length.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_canonize(start: StartMut<'_>, len: Option<&mut usize>) -> Code {
    answer(|| {
        let len = len.required("len")?;
        *len = canonize(start.bytes(*len))?.len();
        Ok(())
    })
}

/// Canonizes a key expression that a zero terminates, where it lies.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_canonize_null_terminated(start: StartMut<'_>) -> Code {
    answer(|| terminated(start).map(drop))
}

/// Returns 0 if the text is a key expression in its canonical form.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_is_canon(start: Start<'_>, len: usize) -> Code {
    answer(|| checked(start.str(len, "start")?).map(drop))
}

/// Returns true if the view is empty.
#[unsafe(no_mangle)]
pub extern "C" fn z_view_keyexpr_is_empty(this: Loan<'_, Key>) -> bool {
    lent(this).is_none()
}

/// Makes a view of the text.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_as_view_string(this: Loan<'_, Key>, text: Out<'_, OwnedString>) {
    text::view(text, lent(this).map_or("", Key::as_str).as_bytes());
}

/// Appends a text to a key expression.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_concat(
    this: Out<'_, OwnedKeyExpr>,
    left: Loan<'_, Key>,
    right: Start<'_>,
    len: usize,
) -> Code {
    answer(|| {
        let concat = || {
            Ok(lent(left)
                .required("left")?
                .borrowed()
                .concat(right.str(len, "right")?)
                .or_fail(INVALID)?
                .into())
        };
        write(this, concat())
    })
}

/// Joins two key expressions by `/`.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_join(
    this: Out<'_, OwnedKeyExpr>,
    left: Loan<'_, Key>,
    right: Loan<'_, Key>,
) -> Code {
    answer(|| {
        let join = || {
            let right = lent(right).required("right")?;
            Ok(lent(left)
                .required("left")?
                .borrowed()
                .join(right.as_str())
                .or_fail(INVALID)?
                .into())
        };
        write(this, join())
    })
}

/// Returns true if the texts are equal.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_equals(left: Loan<'_, Key>, right: Loan<'_, Key>) -> bool {
    both(left, right, false, |left, right| {
        left.as_str() == right.as_str()
    })
}

/// Returns true if a key matches both.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_intersects(left: Loan<'_, Key>, right: Loan<'_, Key>) -> bool {
    both(left, right, false, |left, right| left.intersects(&right))
}

/// Returns true if each key that matches the right one matches the left one.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_includes(left: Loan<'_, Key>, right: Loan<'_, Key>) -> bool {
    both(left, right, false, |left, right| left.includes(&right))
}

/// Returns the relation of the left one to the right one: 0 disjoint, 1 intersecting, 2 including, 3
/// equal.
#[unsafe(no_mangle)]
pub extern "C" fn z_keyexpr_relation_to(left: Loan<'_, Key>, right: Loan<'_, Key>) -> c_int {
    both(left, right, 0, |left, right| {
        match left.relation_to(&right) {
            SetIntersectionLevel::Disjoint => 0,
            SetIntersectionLevel::Intersects => 1,
            SetIntersectionLevel::Includes => 2,
            SetIntersectionLevel::Equals => 3,
        }
    })
}

fn both<T: Copy>(
    left: Loan<'_, Key>,
    right: Loan<'_, Key>,
    missing: T,
    compare: impl FnOnce(KeyExpr<'_>, KeyExpr<'_>) -> T,
) -> T {
    shielded(missing, || match (lent(left), lent(right)) {
        (Some(left), Some(right)) => compare(left.borrowed(), right.borrowed()),
        _ => missing,
    })
}

/// Declares a key expression to the session's neighbours, who then get a number for it.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_keyexpr(
    session: Loan<'_, Session>,
    declared: Out<'_, OwnedKeyExpr>,
    key: Loan<'_, Key>,
) -> Code {
    answer(|| {
        let declare = || {
            let (session, key) = (
                lent(session).required("session")?,
                lent(key).required("key_expr")?,
            );
            Ok(Key::Declared(Arc::new(
                session.declare_keyexpr(key.owned()).wait()?,
            )))
        };
        write(declared, declare())
    })
}

/// Undeclares a key expression that the session has declared.
#[unsafe(no_mangle)]
pub extern "C" fn z_undeclare_keyexpr(session: Loan<'_, Session>, key: Moved<'_, Key>) -> Code {
    answer(|| {
        let key = taken(key).required("key_expr")?;
        lent(session)
            .required("session")?
            .undeclare(key.owned())
            .wait()
            .or_fail(INVALID)
    })
}
