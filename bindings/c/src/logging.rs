// SPDX-License-Identifier: MIT OR Apache-2.0

//! The library's log: to standard error, or to a function of the program.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Write};
use std::mem;
use std::ptr;

use bytes::Bytes;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::closure::DropContext;
use crate::code::{Code, answer, shielded};
use crate::place::{Out, fill};
use crate::text::{CText, OwnedString, outliving};

/// Writes the log to standard error, filtered by the environment variable `RUST_LOG`, if it is set.
#[unsafe(no_mangle)]
pub extern "C" fn zc_try_init_log_from_env() {
    shielded((), zonda::try_init_log_from_env);
}

/// Writes the log to standard error, filtered by the environment variable `RUST_LOG`, or by the text
/// where that is not set.
#[unsafe(no_mangle)]
pub extern "C" fn zc_init_log_from_env_or(fallback: CText<'_>) -> Code {
    answer(|| {
        zonda::init_log_from_env_or(fallback.str("fallback_filter")?);
        Ok(())
    })
}

/// Calls the closure with each record of at least this severity: 0 trace, 1 debug, 2 information, 3
/// warning, 4 error. A log that the program has chosen before stays; the closure is dropped then.
///
/// Records that the closure itself causes are left out.
#[unsafe(no_mangle)]
pub extern "C" fn zc_init_log_with_callback(
    min_severity: c_int,
    callback: Option<&mut OwnedClosureLog>,
) {
    shielded((), || {
        let Some(callback) = callback else { return };
        let level = match min_severity {
            ..=0 => LevelFilter::TRACE,
            1 => LevelFilter::DEBUG,
            2 => LevelFilter::INFO,
            3 => LevelFilter::WARN,
            4.. => LevelFilter::ERROR,
        };
        let records = Records(mem::replace(callback, OwnedClosureLog::EMPTY));
        let log = tracing_subscriber::registry().with(records.with_filter(level));
        // an error means that the program has a log already
        log.try_init().ok();
    });
}

/// A function of C that gets a record: its severity and its text.
type CallLog = Option<unsafe extern "C" fn(c_int, &OwnedString, *mut c_void)>;

/// A closure for records of the log in the memory of C.
#[repr(C)]
pub struct OwnedClosureLog {
    context: *mut c_void,
    call: CallLog,
    drop: DropContext,
}

// SAFETY: a C program that makes a closure allows calls from any thread.
unsafe impl Send for OwnedClosureLog {}
// SAFETY: as above; calls may overlap.
unsafe impl Sync for OwnedClosureLog {}

impl OwnedClosureLog {
    const EMPTY: OwnedClosureLog = OwnedClosureLog {
        context: ptr::null_mut(),
        call: None,
        drop: None,
    };

    fn call(&self, severity: c_int, text: &OwnedString) {
        if let Some(call) = self.call {
            // SAFETY: the function takes such a text, and its own context.
            unsafe { call(severity, text, self.context) }
        }
    }
}

impl Drop for OwnedClosureLog {
    fn drop(&mut self) {
        if let Some(drop) = self.drop.take() {
            // SAFETY: the function drops this context, and is called once.
            unsafe { drop(self.context) }
        }
    }
}

/// Makes a closure.
#[unsafe(no_mangle)]
pub extern "C" fn zc_closure_log(
    this: Out<'_, OwnedClosureLog>,
    call: CallLog,
    drop: DropContext,
    context: *mut c_void,
) {
    fill(
        this,
        OwnedClosureLog {
            context,
            call,
            drop,
        },
    );
}

/// Writes the empty state.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_closure_log_null(this: Out<'_, OwnedClosureLog>) {
    fill(this, OwnedClosureLog::EMPTY);
}

/// Returns true if the closure is not empty.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_closure_log_check(this: Option<&OwnedClosureLog>) -> bool {
    this.is_some_and(|closure| closure.call.is_some() || closure.drop.is_some())
}

/// Drops the context; the closure is empty afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn zc_closure_log_drop(this: Option<&mut OwnedClosureLog>) {
    drop(this.map(|closure| mem::replace(closure, OwnedClosureLog::EMPTY)));
}

/// Calls the function.
#[unsafe(no_mangle)]
pub extern "C" fn zc_closure_log_call(
    this: Option<&OwnedClosureLog>,
    severity: c_int,
    text: Option<&OwnedString>,
) {
    if let (Some(closure), Some(text)) = (this, text) {
        closure.call(severity, text);
    }
}

/// Lends the closure.
#[unsafe(no_mangle)]
pub extern "C" fn zc_closure_log_loan(this: Option<&OwnedClosureLog>) -> Option<&OwnedClosureLog> {
    this
}

/// The part of the log that calls a closure.
struct Records(OwnedClosureLog);

thread_local! {
    /// Set while the closure runs on this thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl<S: Subscriber> Layer<S> for Records {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if INSIDE.replace(true) {
            return;
        }
        let mut text = RecordText::default();
        event.record(&mut text);
        let text = text.whole();
        let view = Some(Bytes::from_static(outliving(text.as_bytes())));
        self.0.call(severity(event.metadata().level()), &view);
        INSIDE.set(false);
    }
}

fn severity(level: &Level) -> c_int {
    match *level {
        Level::TRACE => 0,
        Level::DEBUG => 1,
        Level::INFO => 2,
        Level::WARN => 3,
        Level::ERROR => 4,
    }
}

/// The text of a record: its message, then its other fields as `name=value`.
#[derive(Default)]
struct RecordText {
    message: String,
    fields: String,
}

impl RecordText {
    fn whole(self) -> String {
        match self.message.is_empty() {
            true => self.fields.trim_start().to_owned(),
            false => self.message + &self.fields,
        }
    }
}

impl Visit for RecordText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // writing to a text does not fail
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
