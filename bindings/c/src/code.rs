// SPDX-License-Identifier: MIT OR Apache-2.0

//! Result codes, and the border that no panic crosses.

use std::any::Any;
use std::cell::RefCell;

use zonda::session::SessionClosedError;
use zonda_runtime::guard::caught;

use crate::place::Out;
use crate::text::{self, OwnedString};

/// A result code: 0, a state of a channel above it, or an error below it.
pub type Code = i8;

pub const OK: Code = 0;
/// A channel is closed and empty.
pub const CHANNEL_CLOSED: Code = 1;
/// A channel is empty.
pub const CHANNEL_EMPTY: Code = 2;
pub const INVALID: Code = -1;
pub const PARSE: Code = -2;
pub const IO: Code = -3;
pub const NETWORK: Code = -4;
pub const NULL: Code = -5;
pub const UNAVAILABLE: Code = -6;
pub const DESERIALIZE: Code = -7;
pub const SESSION_CLOSED: Code = -8;
pub const NOT_UTF8: Code = -9;
pub const MUTEX_AGAIN: Code = -11;
pub const MUTEX_BUSY: Code = -16;
pub const MUTEX_INVALID: Code = -22;
pub const GENERIC: Code = i8::MIN;

/// Error of an exported function: its code, and the text that the log and `zc_get_last_error` show.
pub struct Failure {
    code: Code,
    text: String,
}

impl Failure {
    pub fn new(code: Code, text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure { code, text }
    }

    /// Returns the error of an argument that is null, or whose place is empty.
    pub fn null(argument: &str) -> Failure {
        Failure::new(NULL, format!("argument `{argument}` is null or empty"))
    }
}

impl From<zonda::Error> for Failure {
    fn from(error: zonda::Error) -> Failure {
        Failure::of(GENERIC, error)
    }
}

impl Failure {
    /// Returns the error of an operation, with this code unless the session is closed.
    fn of(code: Code, error: impl Into<zonda::Error>) -> Failure {
        let error = error.into();
        match error.is::<SessionClosedError>() {
            true => Failure::new(SESSION_CLOSED, error.to_string()),
            false => Failure::new(code, error.to_string()),
        }
    }
}

/// Conversion of the library's results, and of arguments, to those of exported functions.
pub trait OrFail<T> {
    /// Turns an error into one with this code.
    fn or_fail(self, code: Code) -> Result<T, Failure>;
}

impl<T, E: Into<zonda::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, code: Code) -> Result<T, Failure> {
        self.map_err(|error| Failure::of(code, error))
    }
}

/// Conversion of an argument that must not be missing.
pub trait Required<T> {
    /// Turns a missing argument into the error that names it.
    fn required(self, name: &str) -> Result<T, Failure>;
}

impl<T> Required<T> for Option<T> {
    #[inline]
    fn required(self, name: &str) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::null(name))
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs an exported function: an error, or a panic, becomes its code and a line in the log.
#[inline]
pub fn answer(work: impl FnOnce() -> Result<(), Failure>) -> Code {
    match caught(work) {
        Ok(Ok(())) => OK,
        Ok(Err(failure)) => refuse(failure),
        Err(panic) => refuse(Failure::new(GENERIC, panic_text(&*panic))),
    }
}

/// Runs an exported function without a result code: a panic becomes `fallback` and a line in the log.
#[inline]
pub fn shielded<T>(fallback: T, work: impl FnOnce() -> T) -> T {
    match caught(work) {
        Ok(value) => value,
        Err(panic) => {
            refuse(Failure::new(GENERIC, panic_text(&*panic)));
            fallback
        }
    }
}

/// Logs an error, keeps its text for this thread, and returns its code.
#[cold]
fn refuse(failure: Failure) -> Code {
    tracing::error!("{}", failure.text);
    LAST.with(|last| *last.borrow_mut() = failure.text);
    failure.code
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the library panicked: {}", text.unwrap_or("no text"))
}

/// Writes the text of the last error of this thread, which may be empty. The text is valid until the
/// thread's next error.
#[unsafe(no_mangle)]
pub extern "C" fn zc_get_last_error(text: Out<'_, OwnedString>) {
    shielded((), || {
        LAST.with(|last| text::view(text, last.borrow().as_bytes()))
    });
}
