// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions: opening, closing, and what they know of themselves.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use zonda::config::ZenohId;
use zonda::{Config, Session, Wait};

use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, NETWORK, OrFail, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, taken, write};
use crate::values::{EntityGlobalId, Id};

place!(
    /// A session.
    OwnedSession = Session, size 8, align 8
);

mechanical!(OwnedSession:
    null z_internal_session_null,
    check z_internal_session_check,
    loan z_session_loan,
    loan_mut z_session_loan_mut,
);

closure!(OwnedClosureZid of Id:
    new z_closure_zid,
    null z_internal_closure_zid_null,
    check z_internal_closure_zid_check,
    drop z_closure_zid_drop,
    call z_closure_zid_call,
    loan z_closure_zid_loan,
    loan_mut z_closure_zid_loan_mut
);

place!(
    /// A closing session whose end the program has not waited for.
    OwnedCloseHandle = Box<JoinHandle<Result<(), Failure>>>, size 8, align 8
);

mechanical!(OwnedCloseHandle:
    null zc_internal_concurrent_close_handle_null,
    check zc_internal_concurrent_close_handle_check,
    drop zc_concurrent_close_handle_drop,
);

/// Options of [`z_open`]: none so far.
#[repr(C)]
pub struct OpenOptions {
    _unused: u8,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_open_options_default(this: Out<'_, OpenOptions>) {
    fill(this, OpenOptions { _unused: 0 });
}

/// Opens a session; blocks until its links are there or fail.
#[unsafe(no_mangle)]
pub extern "C" fn z_open(
    this: Out<'_, OwnedSession>,
    config: Moved<'_, Box<Config>>,
    _options: Option<&OpenOptions>,
) -> Code {
    answer(|| {
        let open = || {
            zonda::open(*taken(config).required("config")?)
                .wait()
                .or_fail(NETWORK)
        };
        write(this, open())
    })
}

/// Options of [`z_close`].
#[repr(C)]
pub struct CloseOptions<'a> {
    /// The time to wait for, in milliseconds; 0 for the library's default.
    timeout_ms: u32,
    /// A place for a handle: the function then returns at once.
    concurrent: Out<'a, OwnedCloseHandle>,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_close_options_default(this: Out<'_, CloseOptions<'static>>) {
    fill(
        this,
        CloseOptions {
            timeout_ms: 0,
            concurrent: None,
        },
    );
}

/// Closes a session: its links and all that it declared end. Waits for callbacks that run, unless a
/// callback calls it.
#[unsafe(no_mangle)]
pub extern "C" fn z_close(
    session: Moved<'_, Session>,
    options: Option<&mut CloseOptions<'_>>,
) -> Code {
    answer(|| {
        let session = session
            .and_then(|place| place.as_ref())
            .required("session")?
            .clone();
        let (timeout_ms, concurrent) = match options {
            Some(options) => (options.timeout_ms, options.concurrent.take()),
            None => (0, None),
        };
        match concurrent {
            None => close(&session, timeout_ms),
            Some(place) => {
                let closing = thread::Builder::new().name("zonda-close".into());
                let closing = closing
                    .spawn(move || close(&session, timeout_ms))
                    .or_fail(GENERIC)?;
                place.write(Some(Box::new(closing)));
                Ok(())
            }
        }
    })
}

fn close(session: &Session, timeout_ms: u32) -> Result<(), Failure> {
    let mut close = session.close().wait_callbacks();
    if timeout_ms > 0 {
        close = close.timeout(Duration::from_millis(timeout_ms.into()));
    }
    close.wait().or_fail(GENERIC)
}

/// Closes a session that is not closed, and drops it.
#[unsafe(no_mangle)]
pub extern "C" fn z_session_drop(this: Moved<'_, Session>) {
    shielded((), || {
        if let Some(session) = taken(this) {
            // a session that cannot say goodbye to its neighbours ends all the same, and logs it
            close(&session, 0).ok();
        }
    });
}

/// Waits for the end of a session that is closing.
#[unsafe(no_mangle)]
pub extern "C" fn zc_concurrent_close_handle_wait(
    handle: Moved<'_, Box<JoinHandle<Result<(), Failure>>>>,
) -> Code {
    answer(|| {
        let closing = taken(handle).required("handle")?;
        closing
            .join()
            .map_err(|_| Failure::new(GENERIC, "closing the session panicked"))?
    })
}

/// Returns true if the session is closed.
#[unsafe(no_mangle)]
pub extern "C" fn z_session_is_closed(session: Loan<'_, Session>) -> bool {
    shielded(true, || lent(session).is_none_or(Session::is_closed))
}

/// Returns the id of the session as an entity.
#[unsafe(no_mangle)]
pub extern "C" fn z_session_id(session: Loan<'_, Session>) -> EntityGlobalId {
    shielded(EntityGlobalId::default(), || {
        lent(session).map_or_else(EntityGlobalId::default, |session| session.id().into())
    })
}

/// Returns the id of the session's node; all 0 if it is closed.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_zid(session: Loan<'_, Session>) -> Id {
    shielded(Id::default(), || {
        lent(session).map_or_else(Id::default, |session| session.zid().into())
    })
}

/// Calls the closure with the id of each router that the session has a link to.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_routers_zid(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureZid>,
) -> Code {
    answer(|| {
        each(callback, || {
            Ok(lent(session)
                .required("session")?
                .info()
                .routers_zid()
                .wait())
        })
    })
}

/// Calls the closure with the id of each peer that the session has a link to.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_peers_zid(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureZid>,
) -> Code {
    answer(|| {
        each(callback, || {
            Ok(lent(session).required("session")?.info().peers_zid().wait())
        })
    })
}

fn each<I: Iterator<Item = ZenohId>>(
    callback: Option<&mut OwnedClosureZid>,
    ids: impl FnOnce() -> Result<I, Failure>,
) -> Result<(), Failure> {
    let callback = callback.required("callback")?.take();
    ids()?.for_each(|id| callback.call(&mut Id::from(id)));
    Ok(())
}

/// Does nothing: the library's threads end with the last session.
#[unsafe(no_mangle)]
pub extern "C" fn zc_stop_z_runtime() {}
