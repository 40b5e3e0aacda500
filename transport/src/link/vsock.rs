// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets between a virtual machine and its host: `vsock/CID:PORT`, a byte stream.

use std::io;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Type};
use zonda_codec::Endpoint;
use zonda_runtime::{Runtime, Socket};

use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkAddress, LinkFailure, LinkParameters,
    Protocol, ServerHandshake,
};

/// Maximum number of connections that wait to be accepted, as far as the system allows.
const BACKLOG: i32 = 4096;

/// Poll interval for a connection: it takes next to no time, or fails after a second without an
/// answer.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Wildcard: all CIDs of this machine, or any port.
const ANY: u32 = u32::MAX;

/// CID and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    cid: u32,
    port: u32,
}

impl Place {
    fn of(endpoint: &Endpoint) -> Result<Place, EndpointProblem> {
        let address = endpoint.address().as_str();
        let problem = |what| EndpointProblem::Cid {
            address: address.to_owned(),
            what,
        };
        // Split and parse the address, with the names of the system's header.
        let (cid, port) = address
            .split_once(':')
            .ok_or_else(|| problem("has no port"))?;
        let cid = match cid.to_ascii_uppercase().as_str() {
            "VMADDR_CID_ANY" | "-1" => Some(ANY),
            "VMADDR_CID_HYPERVISOR" => Some(0),
            "VMADDR_CID_LOCAL" => Some(1),
            "VMADDR_CID_HOST" => Some(2),
            cid => number(cid),
        };
        let port = match port.to_ascii_uppercase().as_str() {
            "VMADDR_PORT_ANY" | "-1" => Some(ANY),
            port => number(port),
        };
        Ok(Place {
            cid: cid.ok_or_else(|| problem("has no CID that is a number, or a known name"))?,
            port: port
                .ok_or_else(|| problem("has no port that is a number, or VMADDR_PORT_ANY"))?,
        })
    }

    fn address(self) -> LinkAddress {
        let text = |number: u32| match number {
            ANY => "-1".to_owned(),
            number => number.to_string(),
        };
        let text = format!("{}:{}", text(self.cid), text(self.port));
        LinkAddress::named(Protocol::Vsock, &text)
    }

    fn refused(self, error: io::Error) -> LinkFailure {
        LinkFailure::Refused(vec![(self.address(), error.into())])
    }
}

/// Parses a number; `parse` would accept a sign as well.
fn number(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Returns the place of a socket's address; `None` for an address of another kind.
fn place_in(address: io::Result<SockAddr>) -> Option<Place> {
    let (cid, port) = address.ok()?.as_vsock_address()?;
    Some(Place { cid, port })
}

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    Place::of(endpoint).map(drop)
}

/// Returns the peer's end of an accepted socket.
pub(super) fn remote(socket: &Socket) -> Option<LinkAddress> {
    place_in(socket.peer_addr()).map(Place::address)
}

/// Returns this end of a connected socket.
pub(super) fn local(socket: &Socket) -> Option<LinkAddress> {
    place_in(socket.local_addr()).map(Place::address)
}

/// Connects; the system gives up by itself after some seconds.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let place = Place::of(terms.endpoint)?;
    let refused = |error| place.refused(error);
    let socket = begin(place).map_err(refused)?;
    // Poll the socket until it is connected or has failed.
    loop {
        if let Some(error) = socket.take_error().map_err(refused)? {
            return Err(refused(error));
        }
        if socket.peer_addr().is_ok() {
            break;
        }
        let now = Instant::now();
        if now >= terms.deadline {
            return Err(LinkFailure::Expired);
        }
        let next = terms.deadline.min(now + LOOK_EVERY);
        runtime.sleep_until(next).await;
    }
    Ok(ConnectedSocket {
        local: local(&socket).unwrap_or_else(|| place.address()),
        stream: socket.into(),
        remote: place.address(),
    })
}

/// Returns a socket that is connecting.
fn begin(place: Place) -> io::Result<Socket> {
    let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::vsock(place.cid, place.port)) {
        Err(error)
            if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) =>
        {
            Err(error)
        }
        _ => Ok(socket),
    }
}

/// Binds and listens. Port `-1` lets the system choose.
pub(super) fn bind(terms: &LinkParameters<'_>) -> Result<Vec<BoundSocket>, LinkFailure> {
    let place = Place::of(terms.endpoint)?;
    let bound = listen(place).map_err(|error| place.refused(error))?;
    Ok(vec![bound])
}

fn listen(place: Place) -> io::Result<BoundSocket> {
    let socket = Socket::new(Domain::VSOCK, Type::STREAM, None)?;
    socket.bind(&SockAddr::vsock(place.cid, place.port))?;
    socket.listen(BACKLOG)?;
    let port = place_in(socket.local_addr()).map_or(place.port, |own| own.port);
    Ok(BoundSocket {
        socket,
        address: Place { port, ..place }.address(),
        belongings: None,
        entrance: ServerHandshake::Open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: &str) -> Endpoint {
        format!("vsock/{address}").parse().expect("an endpoint")
    }

    #[test]
    fn addresses_are_read_as_the_reference_reads_them() {
        for (address, cid, port, written) in [
            ("3:7447", 3, 7447, "3:7447"),
            ("-1:-1", ANY, ANY, "-1:-1"),
            ("VMADDR_CID_ANY:VMADDR_PORT_ANY", ANY, ANY, "-1:-1"),
            ("vmaddr_cid_local:1", 1, 1, "1:1"),
            ("VMADDR_CID_HYPERVISOR:1", 0, 1, "0:1"),
            ("VMADDR_CID_HOST:4294967294", 2, ANY - 1, "2:4294967294"),
        ] {
            let place = Place::of(&endpoint(address)).expect(address);
            assert_eq!(place, Place { cid, port }, "{address}");
            assert_eq!(place.address().to_string(), written);
        }
    }

    #[test]
    fn addresses_that_are_none() {
        for (address, what) in [
            ("3", "has no port"),
            ("host:7447", "has no CID"),
            ("+3:7447", "has no CID"),
            ("3:7447:1", "has no port that is a number"),
            ("3:", "has no port that is a number"),
            (":3", "has no CID"),
            ("4294967296:1", "has no CID"),
        ] {
            let problem = check(&endpoint(address)).expect_err(address).to_string();
            assert!(
                problem.contains(what) && problem.contains("CID:PORT"),
                "{problem}"
            );
        }
    }
}
