// SPDX-License-Identifier: MIT OR Apache-2.0

//! Transports, and listeners to their events.

// a transport is plain data, so that dropping it does nothing
#![allow(clippy::drop_non_drop)]

use std::ffi::c_int;

use zonda::config::WhatAmI;
use zonda::session::EventsListener;
use zonda::{Session, Wait};

use crate::closure::closure;
use crate::code::{Code, Failure, GENERIC, OrFail, Required, answer};
use crate::place::{Loan, Moved, Out, fill, lent, lent_mut, mechanical, place, write};
use crate::qos::kind_number;
use crate::query::ending;
use crate::values::Id;

place!(
    /// A connection to another node.
    OwnedTransport = Transport, size 20, align 1
);

mechanical!(OwnedTransport:
    null z_internal_transport_null,
    check z_internal_transport_check,
    drop z_transport_drop,
    loan z_transport_loan,
    loan_mut z_transport_loan_mut,
    clone z_transport_clone,
    take z_transport_take_from_loaned,
);

closure!(OwnedClosureTransport of OwnedTransport:
    new z_closure_transport,
    null z_internal_closure_transport_null,
    check z_internal_closure_transport_check,
    drop z_closure_transport_drop,
    call z_closure_transport_call,
    loan z_closure_transport_loan,
    loan_mut z_closure_transport_loan_mut
);

/// A connection in the form that C reads.
#[derive(Clone)]
pub struct Transport {
    zid: Id,
    whatami: u8,
    is_qos: bool,
    is_multicast: bool,
}

impl Transport {
    /// Returns the id of the other node.
    pub fn zid(&self) -> Id {
        self.zid
    }
}

impl From<&zonda::session::Transport> for Transport {
    fn from(transport: &zonda::session::Transport) -> Transport {
        Transport {
            zid: Id::from(*transport.zid()),
            whatami: match transport.whatami() {
                WhatAmI::Router => 1,
                WhatAmI::Peer => 2,
                WhatAmI::Client => 4,
            },
            is_qos: transport.is_qos(),
            is_multicast: transport.is_multicast(),
        }
    }
}

/// Makes a connection of its parts, for tests of programs.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_create_transport(
    this: Out<'_, OwnedTransport>,
    zid: Id,
    whatami: c_int,
    is_qos: bool,
    is_multicast: bool,
) {
    let transport = Transport {
        zid,
        whatami: whatami as u8,
        is_qos,
        is_multicast,
    };
    fill(this, Some(transport));
}

/// Makes a connection of its parts, as [`zc_internal_create_transport`]; none has shared memory.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_create_transport_shm(
    this: Out<'_, OwnedTransport>,
    zid: Id,
    whatami: c_int,
    is_qos: bool,
    is_multicast: bool,
    _is_shm: bool,
) {
    zc_internal_create_transport(this, zid, whatami, is_qos, is_multicast);
}

/// Returns the id of the other node.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_zid(this: Loan<'_, Transport>) -> Id {
    lent(this).map_or_else(Id::default, Transport::zid)
}

/// Returns the role of the other node: 1 router, 2 peer, 4 client.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_whatami(this: Loan<'_, Transport>) -> c_int {
    lent(this).map_or(2, |transport| transport.whatami.into())
}

/// Returns true if messages have priorities on it.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_is_qos(this: Loan<'_, Transport>) -> bool {
    lent(this).is_some_and(|transport| transport.is_qos)
}

/// Returns true if it is a multicast group.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_is_multicast(this: Loan<'_, Transport>) -> bool {
    lent(this).is_some_and(|transport| transport.is_multicast)
}

/// Returns true if it has shared memory: none has, so far.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_is_shm(_this: Loan<'_, Transport>) -> bool {
    false
}

/// Calls the closure with each connection of the session.
#[unsafe(no_mangle)]
pub extern "C" fn z_info_transports(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureTransport>,
) -> Code {
    answer(|| {
        let callback = callback.required("callback")?.take();
        let transports = lent(session).required("session")?.info().transports();
        for transport in transports.wait() {
            callback.give(Transport::from(&transport));
        }
        Ok(())
    })
}

place!(
    /// An event of a connection that came or went.
    OwnedTransportEvent = TransportEvent, size 21, align 1
);

mechanical!(OwnedTransportEvent:
    null z_internal_transport_event_null,
    check z_internal_transport_event_check,
    drop z_transport_event_drop,
    loan z_transport_event_loan,
    loan_mut z_transport_event_loan_mut,
    take z_transport_event_take_from_loaned,
);

closure!(OwnedClosureTransportEvent of OwnedTransportEvent:
    new z_closure_transport_event,
    null z_internal_closure_transport_event_null,
    check z_internal_closure_transport_event_check,
    drop z_closure_transport_event_drop,
    call z_closure_transport_event_call,
    loan z_closure_transport_event_loan
);

/// An event in the form that C reads.
#[derive(Clone)]
pub struct TransportEvent {
    transport: OwnedTransport,
    kind: u8,
}

impl From<zonda::session::TransportEvent> for TransportEvent {
    fn from(event: zonda::session::TransportEvent) -> TransportEvent {
        TransportEvent {
            transport: Some(Transport::from(event.transport())),
            kind: kind_number(event.kind()) as u8,
        }
    }
}

/// Returns 0 for a connection that came, 1 for one that went.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_event_kind(event: Loan<'_, TransportEvent>) -> c_int {
    lent(event).map_or(0, |event| event.kind.into())
}

/// Lends the connection.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_event_transport(
    event: Loan<'_, TransportEvent>,
) -> Option<&OwnedTransport> {
    Some(&lent(event)?.transport)
}

/// Lends the connection for changes.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_event_transport_mut(
    event: Moved<'_, TransportEvent>,
) -> Option<&mut OwnedTransport> {
    Some(&mut lent_mut(event)?.transport)
}

place!(
    /// A listener to connections.
    OwnedTransportEventsListener = Box<EventsListener<()>>, size 24, align 8
);

mechanical!(OwnedTransportEventsListener:
    null z_internal_transport_events_listener_null,
    check z_internal_transport_events_listener_check,
    loan z_transport_events_listener_loan,
);

/// Options of [`z_declare_transport_events_listener`].
#[repr(C)]
pub struct TransportListenerOptions {
    /// True for the connections that exist already, too.
    history: bool,
}

/// Writes the defaults.
#[unsafe(no_mangle)]
pub extern "C" fn z_transport_events_listener_options_default(
    this: Out<'_, TransportListenerOptions>,
) {
    fill(this, TransportListenerOptions { history: false });
}

/// Declares a listener: the closure is called with each event.
#[unsafe(no_mangle)]
pub extern "C" fn z_declare_transport_events_listener(
    session: Loan<'_, Session>,
    listener: Out<'_, OwnedTransportEventsListener>,
    callback: Option<&mut OwnedClosureTransportEvent>,
    options: Option<&TransportListenerOptions>,
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
pub extern "C" fn z_declare_background_transport_events_listener(
    session: Loan<'_, Session>,
    callback: Option<&mut OwnedClosureTransportEvent>,
    options: Option<&TransportListenerOptions>,
) -> Code {
    answer(|| {
        let builder = builder(session, callback, options)?;
        builder.background().wait().or_fail(GENERIC)
    })
}

type Builder<'a> = zonda::session::EventsListenerBuilder<
    'a,
    zonda::session::TransportEvent,
    zonda::handlers::Callback<zonda::session::TransportEvent>,
>;

fn builder<'a>(
    session: Loan<'a, Session>,
    callback: Option<&mut OwnedClosureTransportEvent>,
    options: Option<&TransportListenerOptions>,
) -> Result<Builder<'a>, Failure> {
    let callback = callback.required("callback")?.take();
    let info = lent(session).required("session")?.info();
    let listener = info
        .transport_events_listener()
        .callback(move |event: zonda::session::TransportEvent| callback.give(event.into()));
    Ok(listener.history(options.is_some_and(|options| options.history)))
}

ending!(OwnedTransportEventsListener: drop z_transport_events_listener_drop, undeclare z_undeclare_transport_events_listener,
    |listener| listener.undeclare());
