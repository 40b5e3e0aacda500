// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accepting: on any runtime of the project, as many connections as there is room for.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use socket2::{Domain, Type};
use zonda_program::complain;
use zonda_runtime::{Runtime, Socket, oneshot};
use zonda_transport::link::AddressGroup;
use zonda_transport::log_limit::LogLimit;

use super::carry::{carry, set_no_delay};
use super::counts::count;
use super::service::Service;
use super::ticks::Ticks;
use crate::http::Share;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Connections that are accepted in a row before the task yields.
const CROWD: u32 = 64;

/// Pause of accepting when there is no room.
const REST: Duration = Duration::from_millis(50);

/// Opens a listening socket whose address can be bound again at once after the program ended.
pub fn listen(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Opens a listening socket of the standard library.
pub fn listen_std(address: SocketAddr) -> io::Result<TcpListener> {
    let listener: TcpListener = listen(address)?.into();
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A place of a connection; counted as long as it is held.
pub(super) struct Place {
    service: Arc<Service>,
    share: Share,
}

impl Place {
    /// Takes a place for a client at this address; returns `None` if the address has used up its
    /// share, which is counted and logged.
    pub(super) fn take(service: &Arc<Service>, from: Option<SocketAddr>) -> Option<Place> {
        let group = from.map_or(AddressGroup::THIS_MACHINE, |at| AddressGroup::of(at.ip()));
        let share = service.places.share(group);
        if !share.take(1) {
            count(&service.counts.refused);
            complain_of_crowd(group);
            return None;
        }
        count(&service.counts.accepted);
        count(&service.counts.open);
        let service = Arc::clone(service);
        Some(Place { service, share })
    }

    pub(super) fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Returns the address group of its client.
    pub(super) fn group(&self) -> AddressGroup {
        self.share.group()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.share.give_back(1);
        self.service.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Logs the first refused connection, then at most one line a minute.
fn complain_of_crowd(group: AddressGroup) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        complain(format_args!(
            "a connection from {group} is closed: no address has more than three quarters of the places; \
             --connections-max raises them{left_out}"
        ));
    }
}

/// State of pauses, so that each pause is logged once and not for every connection.
#[derive(Default)]
pub(super) struct Pause {
    is_paused: bool,
}

impl Pause {
    /// Returns true if no place is left; logs when that begins and when it ends.
    pub(super) fn is_needed(&mut self, service: &Service) -> bool {
        let is_full = service.places.left() == 0;
        if is_full {
            let open = service.counts.open.load(Ordering::Relaxed);
            self.begin(
                service,
                format_args!("{open} connections are open, as many as may be"),
            );
        } else if std::mem::take(&mut self.is_paused) {
            complain(format_args!("accepting goes on"));
        }
        is_full
    }

    /// Begins a pause: the system has no descriptor or no memory left for a connection.
    pub(super) fn refused(&mut self, service: &Service, error: &io::Error) {
        self.begin(service, format_args!("{error}"));
    }

    fn begin(&mut self, service: &Service, why: std::fmt::Arguments<'_>) {
        if !std::mem::replace(&mut self.is_paused, true) {
            count(&service.counts.pauses);
            complain(format_args!(
                "accepting pauses: {why}; raise the limit of open files (ulimit -n) or --connections-max"
            ));
        }
    }

    /// Returns the pause before the next attempt.
    pub(super) fn rest() -> Duration {
        REST
    }
}

/// Returns true if an accept failed for the connection alone, so that the next one may well
/// succeed.
pub(super) fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionReset
    )
}

/// Accepts until `stop` comes or its sender is dropped.
pub(super) async fn accept<R: Runtime>(
    runtime: R,
    socket: Socket,
    service: Arc<Service>,
    mut stop: oneshot::Receiver<()>,
) -> io::Result<()> {
    set_no_delay(&socket);
    let mut listener = runtime.listen(socket)?;
    let mut pause = Pause::default();
    let ticks = Closed(Arc::default());
    let ticking = ticks.0.run(&runtime);
    let mut ticking = pin!(ticking);
    let mut in_a_row = 0;
    loop {
        let accepted = {
            let next = next(&runtime, &mut listener, &service, &mut pause);
            let mut next = pin!(next);
            std::future::poll_fn(|context| {
                let next = next.as_mut().poll(context).map(Some);
                if next.is_ready() && in_a_row < CROWD {
                    in_a_row += 1;
                    return next;
                }
                in_a_row = 0;
                if std::pin::Pin::new(&mut stop).poll(context).is_ready() {
                    return Poll::Ready(None);
                }
                // this future never ends
                let _ = ticking.as_mut().poll(context);
                next
            })
            .await
        };
        let Some((socket, from)) = accepted else {
            return Ok(());
        };
        let Some(place) = Place::take(&service, from) else {
            continue;
        };
        let inside = runtime.clone();
        let ticks = Arc::clone(&ticks.0);
        runtime.spawn("ingest", move || async move {
            carry(inside, socket, place, ticks).await;
        });
    }
}

/// Guard that closes the deadlines when it is dropped.
struct Closed(Arc<Ticks>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Accepts the next connection, when there is room for it.
async fn next<R: Runtime>(
    runtime: &R,
    listener: &mut R::Listener,
    service: &Service,
    pause: &mut Pause,
) -> (Socket, Option<SocketAddr>) {
    loop {
        if !pause.is_needed(service) {
            match runtime.accept(listener).await {
                Ok(accepted) => return accepted,
                Err(error) if is_of_connection(&error) => continue,
                Err(error) => pause.refused(service, &error),
            }
        }
        runtime
            .sleep_until(zonda_runtime::after(Pause::rest()))
            .await;
    }
}
