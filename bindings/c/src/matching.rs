// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching: whether a publisher has subscribers, and a querier queryables.

use zonda::Wait;
use zonda::matching::{MatchingListener, MatchingListenerBuilder};

use crate::closure::closure;
use crate::code::{Failure, GENERIC, OrFail, Required};
use crate::place::{Loan, lent, mechanical, place};
use crate::query::ending;
use crate::{publisher, querier};

place!(
    /// A listener to the coming and going of counterparts.
    OwnedMatchingListener = Box<MatchingListener<()>>, size 24, align 8
);

mechanical!(OwnedMatchingListener:
    null z_internal_matching_listener_null,
    check z_internal_matching_listener_check,
);

/// Existence of counterparts.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MatchingStatus {
    matching: bool,
}

impl From<zonda::matching::MatchingStatus> for MatchingStatus {
    fn from(status: zonda::matching::MatchingStatus) -> MatchingStatus {
        MatchingStatus {
            matching: status.matching(),
        }
    }
}

closure!(OwnedClosureMatchingStatus of MatchingStatus:
    new z_closure_matching_status,
    null z_internal_closure_matching_status_null,
    check z_internal_closure_matching_status_check,
    drop z_closure_matching_status_drop,
    call z_closure_matching_status_call,
    loan z_closure_matching_status_loan
);

/// Declares a listener that calls the closure.
pub fn declare<'a>(
    callback: Option<&mut OwnedClosureMatchingStatus>,
    builder: impl FnOnce() -> Result<MatchingListenerBuilder<'a>, Failure>,
) -> Result<MatchingListener<()>, Failure> {
    let callback = callback.required("callback")?.take();
    builder()?
        .callback(move |status| callback.call(&mut MatchingStatus::from(status)))
        .wait()
        .or_fail(GENERIC)
}

/// Exports the functions of a type that has a matching status.
macro_rules! matched {
    ($declared:ty: $lent:expr, status $status:ident, listener $listener:ident, background $background:ident) => {
        /// Writes the matching status.
        #[unsafe(no_mangle)]
        pub extern "C" fn $status(
            this: $crate::place::Loan<'_, $declared>,
            status: $crate::place::Out<'_, $crate::matching::MatchingStatus>,
        ) -> $crate::code::Code {
            use $crate::code::{GENERIC, OrFail};
            $crate::code::answer(|| {
                let known = $lent(this)?.matching_status();
                let known = zonda::Wait::wait(known).or_fail(GENERIC)?;
                $crate::place::fill(status, known.into());
                Ok(())
            })
        }

        /// Declares a listener: the closure is called with each change of the status.
        #[unsafe(no_mangle)]
        pub extern "C" fn $listener(
            this: $crate::place::Loan<'_, $declared>,
            listener: $crate::place::Out<'_, $crate::matching::OwnedMatchingListener>,
            callback: Option<&mut $crate::matching::OwnedClosureMatchingStatus>,
        ) -> $crate::code::Code {
            $crate::code::answer(|| {
                let declared =
                    $crate::matching::declare(callback, || Ok($lent(this)?.matching_listener()));
                $crate::place::write(listener, declared.map(Box::new))
            })
        }

        /// Declares a listener that lives as long as what it listens to.
        #[unsafe(no_mangle)]
        pub extern "C" fn $background(
            this: $crate::place::Loan<'_, $declared>,
            callback: Option<&mut $crate::matching::OwnedClosureMatchingStatus>,
        ) -> $crate::code::Code {
            $crate::code::answer(|| {
                let mut declared =
                    $crate::matching::declare(callback, || Ok($lent(this)?.matching_listener()))?;
                declared.set_background(true);
                Ok(())
            })
        }
    };
}
pub(crate) use matched;

type Publisher = zonda::pubsub::Publisher<'static>;
type Querier = zonda::query::Querier<'static>;

fn publisher(this: Loan<'_, Box<publisher::Declared>>) -> Result<&Publisher, Failure> {
    Ok(&lent(this).required("publisher")?.publisher)
}

fn querier(this: Loan<'_, Box<querier::Declared>>) -> Result<&Querier, Failure> {
    Ok(&lent(this).required("querier")?.querier)
}

matched!(Box<publisher::Declared>: publisher,
    status z_publisher_get_matching_status,
    listener z_publisher_declare_matching_listener,
    background z_publisher_declare_background_matching_listener);

matched!(Box<querier::Declared>: querier,
    status z_querier_get_matching_status,
    listener z_querier_declare_matching_listener,
    background z_querier_declare_background_matching_listener);

ending!(OwnedMatchingListener: drop z_matching_listener_drop, undeclare z_undeclare_matching_listener,
    |listener| listener.undeclare());
