// SPDX-License-Identifier: MIT OR Apache-2.0

//! Scouting: a search for nodes.

use std::ffi::{c_int, c_uint};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use zonda::config::{Roles, WhatAmI};
use zonda::scouting::Hello;
use zonda::{Config, Wait};

use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, INVALID, OrFail, Required, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, taken};
use crate::strings::OwnedStringArray;
use crate::text;
use crate::values::Id;

place!(
    /// A node's answer.
    OwnedHello = Box<Hello>, size 48, align 8
);

mechanical!(OwnedHello:
    null z_internal_hello_null,
    check z_internal_hello_check,
    drop z_hello_drop,
    loan z_hello_loan,
    loan_mut z_hello_loan_mut,
    clone z_hello_clone,
    take z_hello_take_from_loaned,
);

closure!(OwnedClosureHello of OwnedHello:
    new z_closure_hello,
    null z_internal_closure_hello_null,
    check z_internal_closure_hello_check,
    drop z_closure_hello_drop,
    call z_closure_hello_call,
    loan z_closure_hello_loan,
    loan_mut z_closure_hello_loan_mut
);

/// The role of a router.
#[unsafe(no_mangle)]
pub static Z_ROUTER: c_uint = 1;
/// The role of a peer.
#[unsafe(no_mangle)]
pub static Z_PEER: c_uint = 2;
/// The role of a client.
#[unsafe(no_mangle)]
pub static Z_CLIENT: c_uint = 4;

/// Returns the id of the node; all 0 for an empty place.
#[unsafe(no_mangle)]
pub extern "C" fn z_hello_zid(this: Loan<'_, Box<Hello>>) -> Id {
    lent(this).map_or_else(Id::default, |hello| hello.zid().into())
}

/// Returns the role of the node: 1 router, 2 peer, 4 client; 2 for an empty place.
#[unsafe(no_mangle)]
pub extern "C" fn z_hello_whatami(this: Loan<'_, Box<Hello>>) -> c_int {
    let role = lent(this).map_or(WhatAmI::Peer, |hello| hello.whatami());
    Roles::from(role).bits().into()
}

/// Makes an array of views of the node's locators, which the answer must outlive.
#[unsafe(no_mangle)]
pub extern "C" fn z_hello_locators(
    this: Loan<'_, Box<Hello>>,
    locators: Out<'_, OwnedStringArray>,
) {
    shielded((), || {
        let all = lent(this).map_or(&[][..], |hello| hello.locators());
        let texts = all.iter().map(|locator| locator.as_str().as_bytes());
        let views = texts.map(|text| Some(Bytes::from_static(text::outliving(text))));
        fill(locators, Some(views.collect()));
    });
}

/// Options of [`z_scout`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ScoutOptions {
    timeout_ms: u64,
    what: c_int,
}
const _: () = assert!(size_of::<ScoutOptions>() == 16);

impl ScoutOptions {
    /// The defaults: routers and peers, for a second.
    const DEFAULT: ScoutOptions = ScoutOptions {
        timeout_ms: 1000,
        what: 0b011,
    };
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_scout_options_default(this: Out<'_, ScoutOptions>) {
    fill(this, ScoutOptions::DEFAULT);
}

/// A closure that gets answers, and a channel that closes after it is dropped.
struct Answered {
    callback: OwnedClosureHello,
    _running: Sender<()>,
}

impl Answered {
    fn give(&self, hello: Hello) {
        self.callback.give(Box::new(hello));
    }
}

/// Searches for nodes, and calls the closure with each answer. Blocks for the time of the options, and
/// until the closure is dropped.
#[unsafe(no_mangle)]
pub extern "C" fn z_scout(
    config: Moved<'_, Box<Config>>,
    callback: Option<&mut OwnedClosureHello>,
    options: Option<&ScoutOptions>,
) -> Code {
    answer(|| {
        let config = taken(config);
        let callback = callback.required("callback")?.take();
        let config = config.ok_or_else(|| Failure::new(INVALID, "argument `config` is empty"))?;
        let options = options.copied().unwrap_or(ScoutOptions::DEFAULT);
        let roles = u8::try_from(options.what)
            .ok()
            .filter(|bits| *bits <= 0b111);
        let roles =
            roles.ok_or_else(|| Failure::new(INVALID, "option `what` is no set of roles"))?;
        let (running, ended) = mpsc::channel();
        let answered = Answered {
            callback,
            _running: running,
        };
        let search = zonda::scout(Roles::from_bits(roles), *config)
            .callback(move |hello| answered.give(hello))
            .wait()
            .or_fail(GENERIC)?;
        thread::sleep(Duration::from_millis(options.timeout_ms));
        search.stop();
        // an error: the closure is dropped, and its sender with it
        ended.recv().ok();
        Ok(())
    })
}
