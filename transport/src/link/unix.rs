// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets in the file system: `unixsock-stream/PATH`, a byte stream within one machine.
//!
//! A listener owns its path by an exclusive lock on `PATH.lock`, like the reference, and removes
//! both files when it ends. After a crash both files stay, but not the lock: the next listener
//! takes the path over. A socket at which a process without the lock listens, and a file that is no
//! socket, are not touched.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use socket2::{Domain, SockAddr, Socket, Type};
use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkAddress, LinkFailure, LinkParameters,
    Protocol, ServerHandshake, SocketBuffers,
};

/// Maximum number of connections that wait to be accepted, as far as the system allows.
const BACKLOG: i32 = 4096;

/// Interval of attempts at a listener whose queue is full: the system does not notify of room.
const RETRY: Duration = Duration::from_millis(5);

/// Returns the path of an endpoint.
fn path_of(endpoint: &Endpoint) -> Result<&Path, EndpointProblem> {
    let path = endpoint.address().as_str();
    let problem = |what| {
        Err(EndpointProblem::Path {
            kind: "unixsock-stream",
            path: path.to_owned(),
            what,
        })
    };
    if path.is_empty() {
        return problem("is empty");
    }
    if path.ends_with('/') {
        return problem("is a directory");
    }
    match SockAddr::unix(path) {
        Ok(_) => Ok(Path::new(path)),
        Err(_) => problem("is longer than the system allows, or has a zero byte"),
    }
}

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    path_of(endpoint).map(drop)
}

/// Checks if this process could listen at the path of an endpoint.
pub(super) fn try_path(endpoint: &Endpoint) -> Result<(), LinkFailure> {
    let path = path_of(endpoint)?;
    let looked = super::trial::directory_of(path).and_then(|()| match fs::metadata(path) {
        Ok(found) if !found.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        _ => Ok(()),
    });
    looked.map_err(|error| refused(path, error))
}

/// Returns a name for an end that has no path.
pub(super) fn nameless(protocol: Protocol) -> LinkAddress {
    let number = getrandom::u64().unwrap_or_default();
    let name = format!("{:x}-{number:016x}", std::process::id());
    LinkAddress::named(protocol, &name)
}

fn at(path: &Path) -> LinkAddress {
    LinkAddress::named(Protocol::UnixsockStream, &path.to_string_lossy())
}

fn refused(path: &Path, error: io::Error) -> LinkFailure {
    LinkFailure::Refused(vec![(at(path), error.into())])
}

/// Makes a socket with the configured size of its send buffer, in which all waiting bytes lie:
/// there is no receive buffer.
fn socket(buffers: SocketBuffers) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    if let Some(bytes) = buffers.send_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Connects to the path. Retries until the deadline while the listener's queue is full.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let path = path_of(terms.endpoint)?;
    let refused = |error| refused(path, error);
    let address = SockAddr::unix(path).map_err(refused)?;
    let stream = socket(terms.links.tcp).map_err(refused)?;
    // Retry while the queue of the listener is full.
    loop {
        match stream.connect(&address) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(refused(error)),
        }
        let now = Instant::now();
        if now >= terms.deadline {
            return Err(LinkFailure::Expired);
        }
        runtime.sleep_until(terms.deadline.min(now + RETRY)).await;
    }
    Ok(ConnectedSocket {
        stream: stream.into(),
        local: nameless(Protocol::UnixsockStream),
        remote: at(path),
    })
}

/// Locks the path and listens.
pub(super) fn bind(terms: &LinkParameters<'_>) -> Result<Vec<BoundSocket>, LinkFailure> {
    let path = path_of(terms.endpoint)?;
    let bound = PathLock::on(path).and_then(|claim| {
        let socket = socket(terms.links.tcp)?;
        socket.bind(&SockAddr::unix(path)?)?;
        socket.listen(BACKLOG)?;
        Ok(BoundSocket {
            socket,
            address: at(path),
            belongings: Some(Box::new(claim)),
            entrance: ServerHandshake::Open,
        })
    });
    Ok(vec![bound.map_err(|error| refused(path, error))?])
}

/// Right to listen at a path. Dropping it removes the files.
#[derive(Debug)]
struct PathLock {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl PathLock {
    /// Takes the lock of a path, and removes the socket of a listener that has crashed.
    fn on(path: &Path) -> io::Result<PathLock> {
        let mut lock_path = path.as_os_str().to_owned();
        lock_path.push(".lock");
        let lock_path = PathBuf::from(lock_path);
        let lock = loop {
            let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let lock: File = rustix::fs::open(&lock_path, flags, Mode::RUSR | Mode::WUSR)?.into();
            flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error
                .kind()
            {
                io::ErrorKind::WouldBlock => io::ErrorKind::AddrInUse.into(),
                _ => io::Error::from(error),
            })?;
            // The previous owner may have removed the file between the two calls; then this lock
            // locks nothing.
            let inode = |found: fs::Metadata| (found.dev(), found.ino());
            let is_there = fs::symlink_metadata(&lock_path).ok().map(inode);
            if is_there == lock.metadata().ok().map(inode) {
                break lock;
            }
        };
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => {
                // A process that does not use the lock may listen there.
                if is_answered(path)? {
                    return Err(io::ErrorKind::AddrInUse.into());
                }
                fs::remove_file(path)?;
            }
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(PathLock {
            path: path.to_owned(),
            lock_path,
            _lock: lock,
        })
    }
}

/// Returns true if a process listens at a path, even if its queue is full.
fn is_answered(path: &Path) -> io::Result<bool> {
    let tried = socket(SocketBuffers::default())?.connect(&SockAddr::unix(path)?);
    Ok(match tried {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    })
}

impl Drop for PathLock {
    fn drop(&mut self) {
        // The files may be gone already.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.lock_path);
    }
}

#[cfg(test)]
mod tests;
