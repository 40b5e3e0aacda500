// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links, and listeners to their events.

use std::ffi::c_int;

use zonda::qos::Reliability;
use zonda::session::EventsListener;
use zonda::{Session, Wait};

use super::transports::Transport;
use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::place::{Loan, Moved, Out, fill, lent, lent_mut, mechanical, place, taken, write};
use crate::qos::{RELIABLE, kind_number};
use crate::query::ending;
use crate::strings::OwnedStringArray;
use crate::text::{self, OwnedString};
use crate::values::Id;

place!(
    /// A link to another node.
    OwnedLink = Box<zonda::session::Link>, size 144, align 8
);

mechanical!(OwnedLink:
    null z_internal_link_null,
    check z_internal_link_check,
    drop z_link_drop,
    loan z_link_loan,
    loan_mut z_link_loan_mut,
    clone z_link_clone,
    take z_link_take_from_loaned,
);

closure!(OwnedClosureLink of OwnedLink:
    new z_closure_link,
    null z_internal_closure_link_null,
    check z_internal_closure_link_check,
    drop z_closure_link_drop,
    call z_closure_link_call,
    loan z_closure_link_loan,
    loan_mut z_closure_link_loan_mut
);

type Link<'a> = Loan<'a, Box<zonda::session::Link>>;

/// Returns the id of the other node.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_zid(link: Link<'_>) -> Id {
    lent(link).map_or_else(Id::default, |link| Id::from(link.zid))
}

/// Writes the address of this end.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_src(link: Link<'_>, text: Out<'_, OwnedString>) {
    text::show(text, lent(link).map(|link| link.src()));
}

/// Writes the address of the other end.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_dst(link: Link<'_>, text: Out<'_, OwnedString>) {
    text::show(text, lent(link).map(|link| link.dst()));
}

/// Writes the multicast group, empty for links to one node: so far, all are.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_group(_link: Link<'_>, text: Out<'_, OwnedString>) {
    fill(text, None);
}

/// Writes the name by which the other node has proved its identity, empty if it is not known.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_auth_identifier(_link: Link<'_>, text: Out<'_, OwnedString>) {
    fill(text, None);
}

/// Writes the names of the interfaces, which are not known.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_interfaces(_link: Link<'_>, texts: Out<'_, OwnedStringArray>) {
    fill(texts, Some(Vec::new()));
}

/// Returns the largest size of a batch.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_mtu(link: Link<'_>) -> u16 {
    lent(link).map_or(0, |link| link.mtu())
}

/// Returns true if the link carries a stream of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_is_streamed(link: Link<'_>) -> bool {
    lent(link).is_some_and(|link| link.is_streamed())
}

/// Writes the first and the last priority that the link is for; returns false if it is for all.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_priorities(link: Link<'_>, min: Out<'_, u8>, max: Out<'_, u8>) -> bool {
    match lent(link).and_then(|link| link.priorities()) {
        Some((first, last)) => {
            fill(min, first);
            fill(max, last);
            true
        }
        None => false,
    }
}

/// Writes the reliability of the link; returns false if it has none of its own.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_reliability(link: Link<'_>, reliability: Out<'_, c_int>) -> bool {
    match lent(link).and_then(|link| link.reliability()) {
        Some(known) => {
            let is_reliable = known == Reliability::Reliable;
            fill(reliability, if is_reliable { RELIABLE } else { 0 });
            true
        }
        None => false,
    }
}

/// Options of [`z_info_links`].
#[repr(C)]
#[derive(Default)]
pub struct LinksOptions<'a> {
    /// The connection whose links are asked for; null for all.
    transport: Moved<'a, Transport>,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_links_options_default(this: Out<'_, LinksOptions<'static>>) {
    fill(this, LinksOptions::default());
}

/// Calls the closure with each link of the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_links(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureLink>,
    options: Option<&mut LinksOptions<'_>>,
) -> Code {
    answer(|| {
        let only = options.and_then(|options| taken(options.transport.take()));
        let callback = callback.required("callback")?.take();
        for link in lent(session).required("session")?.info().links().wait() {
            if is_of(only.as_ref(), &link) {
                callback.give(Box::new(link));
            }
        }
        Ok(())
    })
}

/// Returns true if a link is of this connection, or of any.
fn is_of(only: Option<&Transport>, link: &zonda::session::Link) -> bool {
    only.is_none_or(|transport| transport.zid().zid() == Some(link.zid))
}

place!(
    /// An event of a link that came or went.
    OwnedLinkEvent = LinkEvent, size 152, align 8
);

mechanical!(OwnedLinkEvent:
    null z_internal_link_event_null,
    check z_internal_link_event_check,
    drop z_link_event_drop,
    loan z_link_event_loan,
    loan_mut z_link_event_loan_mut,
    take z_link_event_take_from_loaned,
);

closure!(OwnedClosureLinkEvent of OwnedLinkEvent:
    new z_closure_link_event,
    null z_internal_closure_link_event_null,
    check z_internal_closure_link_event_check,
    drop z_closure_link_event_drop,
    call z_closure_link_event_call,
    loan z_closure_link_event_loan
);

/// An event in the form that C reads.
pub struct LinkEvent {
    link: OwnedLink,
    kind: u8,
}

impl From<zonda::session::LinkEvent> for LinkEvent {
    fn from(event: zonda::session::LinkEvent) -> LinkEvent {
        LinkEvent {
            link: Some(Box::new(event.link().clone())),
            kind: kind_number(event.kind()) as u8,
        }
    }
}

/// Returns 0 for a link that came, 1 for one that went.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_event_kind(event: Loan<'_, LinkEvent>) -> c_int {
    lent(event).map_or(0, |event| event.kind.into())
}

/// Lends the link.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_event_link(event: Loan<'_, LinkEvent>) -> Option<&OwnedLink> {
    Some(&lent(event)?.link)
}

/// Lends the link for changes.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_event_link_mut(event: Moved<'_, LinkEvent>) -> Option<&mut OwnedLink> {
    Some(&mut lent_mut(event)?.link)
}

place!(
    /// A listener to links.
    OwnedLinkEventsListener = Box<EventsListener<()>>, size 24, align 8
);

mechanical!(OwnedLinkEventsListener:
    null z_internal_link_events_listener_null,
    check z_internal_link_events_listener_check,
    loan z_link_events_listener_loan,
);

/// Options of [`z_declare_link_events_listener`].
#[repr(C)]
#[derive(Default)]
pub struct LinkListenerOptions<'a> {
    /// True for the links that exist already, too.
    history: bool,
    /// The connection whose links are listened to; null for all.
    transport: Moved<'a, Transport>,
}
const _: () = assert!(size_of::<LinkListenerOptions<'_>>() == 16);

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_link_events_listener_options_default(
    this: Out<'_, LinkListenerOptions<'static>>,
) {
    fill(this, LinkListenerOptions::default());
}

/// Declares a listener: the closure is called with each event.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_link_events_listener(
    session: Loan<'_, Session>,
    listener: Out<'_, OwnedLinkEventsListener>,
    callback: Option<&mut OwnedClosureLinkEvent>,
    options: Option<&mut LinkListenerOptions<'_>>,
) -> Code {
    answer(|| {
        let declare = || {
            let builder = builder(session, callback, options)?;
            Ok(Box::new(builder.wait().or_fail(GENERIC)?))
        };
        write(listener, declare())
    })
}

/// Declares a listener that lives as long as the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_background_link_events_listener(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureLinkEvent>,
    options: Option<&mut LinkListenerOptions<'_>>,
) -> Code {
    answer(|| {
        let builder = builder(session, callback, options)?;
        builder.background().wait().or_fail(GENERIC)
    })
}

type Builder<'a> = zonda::session::EventsListenerBuilder<
    'a,
    zonda::session::LinkEvent,
    zonda::handlers::Callback<zonda::session::LinkEvent>,
>;

fn builder<'a>(
    session: Loan<'a, Session>,
    callback: Option<&mut OwnedClosureLinkEvent>,
    options: Option<&mut LinkListenerOptions<'_>>,
) -> Result<Builder<'a>, Failure> {
    let (history, only) = match options {
        Some(options) => (options.history, taken(options.transport.take())),
        None => (false, None),
    };
    let callback = callback.required("callback")?.take();
    let info = lent(session).required("session")?.info();
    let listener = info
        .link_events_listener()
        .callback(move |event: zonda::session::LinkEvent| {
            if is_of(only.as_ref(), event.link()) {
                callback.give(event.into());
            }
        });
    Ok(listener.history(history))
}

ending!(OwnedLinkEventsListener: drop z_link_events_listener_drop, undeclare z_undeclare_link_events_listener,
    |listener| listener.undeclare());
