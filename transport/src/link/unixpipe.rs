// SPDX-License-Identifier: MIT OR Apache-2.0
//! Named pipes: `unixpipe/PATH`, two of them for each link within one machine, as in the reference.
//!
//! A listener reads invitations from `PATH_uplink`, on which it holds a lock. An opener makes
//! `PATH_downlink<n>`, sends the number as its invitation, and finds the listener's
//! `PATH_uplink<n>` once the listener has answered. The reader of a pipe makes, locks and removes
//! it: this implementation removes it as soon as both ends have it open, so that a crash leaves no
//! file behind.

mod files;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Type};
use zonda_codec::Endpoint;
use zonda_runtime::{Runtime, Socket};

use self::files::{InvitationPipe, Names, ReadPipe, open_writer};
use super::handed_sockets::HandedSockets;
use super::pump::{carry, is_nothing, start};
use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, LinkAddress, LinkFailure, LinkParameters,
    LinkSettings, Protocol, ServerHandshake, option,
};
use crate::log_limit::LogLimit;

/// First bytes of an invitation and of each of its two confirmations; the number follows, in this
/// machine's byte order.
const MAGIC: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

const INVITATION_BYTES: usize = 8;

/// Time for the sender of an invitation to open its pipes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of invitations that are followed at a time; further ones are ignored, and their
/// senders give up.
const FOLLOWED_MAX: usize = 64;

/// Poll interval for an answer: a pipe without a reader raises no event.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Number of attempts to find a free number for new pipes.
const TRIES: usize = 100;

fn path_of(endpoint: &Endpoint) -> Result<&Path, EndpointProblem> {
    let path = endpoint.address().as_str();
    let problem = |what| EndpointProblem::Path {
        kind: "unixpipe",
        path: path.to_owned(),
        what,
    };
    if path.is_empty() {
        return Err(problem("is empty"));
    }
    if path.ends_with('/') {
        return Err(problem("is a directory"));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let longest = name.len() + "_downlink4294967295".len();
    match longest <= 255 && path.len() < 4000 && !path.contains('\0') {
        true => Ok(Path::new(path)),
        false => Err(problem(
            "is longer than the system allows, or has a zero byte",
        )),
    }
}

/// Default permissions of pipes that this node makes. A process that may read the pipe of
/// invitations can take them from the listener, and their senders wait in vain.
const OWNER_ALONE: u32 = 0o600;

/// Returns the permissions of pipes that this node makes, before the process's mask: the
/// endpoint's, or the configuration's.
fn mode_of(endpoint: &Endpoint, links: &LinkSettings) -> Result<u32, EndpointProblem> {
    let expected = "permission bits as a decimal number, such as 384 for the owner alone";
    let found = option(endpoint, "file_mask", expected, |value| {
        value.parse().ok().filter(|mode| *mode <= 0o777)
    });
    Ok(found?.or(links.pipe_mode).unwrap_or(OWNER_ALONE) & 0o777)
}

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    path_of(endpoint)?;
    mode_of(endpoint, &LinkSettings::default()).map(drop)
}

/// Checks if this process could make the pipes of an endpoint.
pub(super) fn try_path(endpoint: &Endpoint) -> Result<(), LinkFailure> {
    let path = path_of(endpoint)?;
    super::trial::directory_of(path).map_err(|error| refused(path, error))
}

fn at(path: &Path) -> LinkAddress {
    LinkAddress::named(Protocol::Unixpipe, &path.to_string_lossy())
}

fn refused(path: &Path, error: io::Error) -> LinkFailure {
    LinkFailure::Refused(vec![(at(path), error.into())])
}

fn invitation(number: u32) -> [u8; INVITATION_BYTES] {
    let [a, b, c, d] = MAGIC;
    let [e, f, g, h] = number.to_ne_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Returns the number in an invitation.
fn number_in(bytes: [u8; INVITATION_BYTES]) -> Option<u32> {
    let (magic, number) = bytes.split_first_chunk::<4>()?;
    let number = number.first_chunk::<4>()?;
    (*magic == MAGIC).then(|| u32::from_ne_bytes(*number))
}

/// Invites the listener of the path to two new pipes.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    let path = path_of(terms.endpoint)?;
    let mode = mode_of(terms.endpoint, terms.links)?;
    let names = Names::of(path);
    let refused = |error| refused(path, error);
    let requests = open_writer(&names.requests()).map_err(refused)?;
    let (number, down) = dedicate(&names, mode).map_err(refused)?;
    let bytes = invitation(number);
    // A write of 8 bytes is complete or fails.
    retry(runtime, terms.deadline, || (&requests).write(&bytes))
        .await?
        .map_err(refused)?;
    let mut answer = [0; INVITATION_BYTES];
    let mut filled = 0;
    while filled < INVITATION_BYTES {
        let read = || match (&down.file).read(&mut answer[filled..]) {
            // No process has opened the pipe for writing yet.
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            result => result,
        };
        filled += retry(runtime, terms.deadline, read)
            .await?
            .map_err(refused)?;
    }
    if answer != bytes {
        let text = "what answers at the pipe speaks something else";
        return Err(refused(io::Error::new(io::ErrorKind::InvalidData, text)));
    }
    let up = open_writer(&names.up(number)).map_err(refused)?;
    (&up).write_all(&bytes).map_err(refused)?;
    let local = at(&down.path);
    let stream = down
        .into_file()
        .and_then(|down| carry(down, up))
        .map_err(refused)?;
    Ok(ConnectedSocket {
        stream: stream.into(),
        local,
        remote: at(path),
    })
}

/// Repeats a call until it succeeds, or the time is over.
async fn retry<R: Runtime>(
    runtime: &R,
    deadline: Instant,
    mut call: impl FnMut() -> io::Result<usize>,
) -> Result<io::Result<usize>, LinkFailure> {
    loop {
        match call() {
            Err(error) if is_nothing(&error) => {}
            result => return Ok(result),
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(LinkFailure::Expired);
        }
        runtime.sleep_until(deadline.min(now + LOOK_EVERY)).await;
    }
}

/// Makes the pipe that this end of a link reads, under a number that is free for both.
fn dedicate(names: &Names, mode: u32) -> io::Result<(u32, ReadPipe)> {
    for _ in 0..TRIES {
        let number = getrandom::u32().map_err(io::Error::other)?;
        if names.up(number).symlink_metadata().is_ok() {
            continue;
        }
        match ReadPipe::make(names.down(number), mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return Ok((number, result?)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks the path, and follows invitations on a thread.
pub(super) fn bind(terms: &LinkParameters<'_>) -> Result<Vec<BoundSocket>, LinkFailure> {
    let path = path_of(terms.endpoint)?;
    let mode = mode_of(terms.endpoint, terms.links)?;
    let bound = listen(path, mode).map_err(|error| refused(path, error))?;
    Ok(vec![bound])
}

fn listen(path: &Path, mode: u32) -> io::Result<BoundSocket> {
    let names = Names::of(path);
    let claim = InvitationPipe::on(&names, mode)?;
    let (handed, socket) = HandedSockets::new()?;
    let (stop, stopped) = Socket::pair(Domain::UNIX, Type::STREAM, None)?;
    let desk = PipeListener {
        requests: claim.requests.try_clone()?,
        stopped,
        names,
        mode,
        handed: Arc::clone(&handed),
        followed: Arc::default(),
    };
    start("zonda-pipes", move || desk.serve())?;
    Ok(BoundSocket {
        socket,
        address: at(path),
        belongings: Some(Box::new(ListenerResources {
            _stop: stop,
            _claim: claim,
        })),
        entrance: ServerHandshake::Handed(handed),
    })
}

/// Resources of a listener: its thread first, as that notices the end of the socket.
struct ListenerResources {
    _stop: Socket,
    _claim: InvitationPipe,
}

/// State of a listener's thread.
struct PipeListener {
    requests: File,
    stopped: Socket,
    names: Names,
    mode: u32,
    handed: Arc<HandedSockets>,
    followed: Arc<AtomicUsize>,
}

impl PipeListener {
    /// Reads invitations until the listener is gone.
    fn serve(self) {
        while self.wait() {
            let mut bytes = [0; INVITATION_BYTES];
            match (&self.requests).read(&mut bytes) {
                Ok(INVITATION_BYTES) => match number_in(bytes) {
                    Some(number) => self.follow(number),
                    None => self.skip(),
                },
                Ok(_) => self.skip(),
                Err(error) if is_nothing(&error) => {}
                Err(error) => {
                    let path = self.names.requests();
                    tracing::warn!(
                        "{}: no invitations are read any more: {error}",
                        path.display()
                    );
                    return;
                }
            }
        }
    }

    /// Waits for an invitation; false when the listener is gone.
    fn wait(&self) -> bool {
        let mut fds = [
            PollFd::new(&self.stopped, PollFlags::IN),
            PollFd::new(&self.requests, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Err(error) => error == rustix::io::Errno::INTR,
            Ok(_) => fds[0].revents().is_empty(),
        }
    }

    /// Discards bytes that are no invitation, and all behind them: the start of the next one is not
    /// known.
    fn skip(&self) {
        let path = self.names.requests();
        static LIMIT: LogLimit = LogLimit::new();
        if let Some(left_out) = LIMIT.admit(Instant::now()) {
            let path = path.display();
            tracing::warn!("{path}: an invalid invitation was written{left_out}");
        }
        files::drain(&self.requests);
    }

    /// Follows an invitation on a thread of its own, as its sender may be slow.
    fn follow(&self, number: u32) {
        let followed = InvitationPermit::among(&self.followed);
        let (names, mode) = (self.names.clone(), self.mode);
        let handed = Arc::clone(&self.handed);
        let started = followed.map(|followed| {
            start("zonda-pipe", move || {
                match accept(&names, number, mode) {
                    Ok(socket) => handed.hand(socket),
                    Err(error) => {
                        let path = names.down(number);
                        tracing::debug!("{}: the invitation failed: {error}", path.display());
                    }
                }
                drop(followed);
            })
        });
        if !matches!(started, Some(Ok(()))) {
            static LIMIT: LogLimit = LogLimit::new();
            if let Some(left_out) = LIMIT.admit(Instant::now()) {
                tracing::warn!("an invitation is not followed: too many are{left_out}");
            }
        }
    }
}

/// Permit to follow an invitation, counted until it is dropped.
struct InvitationPermit(Arc<AtomicUsize>);

impl InvitationPermit {
    fn among(count: &Arc<AtomicUsize>) -> Option<InvitationPermit> {
        let before = count.fetch_add(1, Ordering::AcqRel);
        let followed = InvitationPermit(Arc::clone(count));
        (before < FOLLOWED_MAX).then_some(followed)
    }
}

impl Drop for InvitationPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Opens the pipe of the sender, answers there, and waits for it in a pipe of this end.
fn accept(names: &Names, number: u32, mode: u32) -> io::Result<Socket> {
    let deadline = Instant::now() + PATIENCE;
    let down = open_writer(&names.down(number))?;
    let up = ReadPipe::make(names.up(number), mode)?;
    let bytes = invitation(number);
    (&down).write_all(&bytes)?;
    let (mut confirmed, mut filled) = ([0; INVITATION_BYTES], 0);
    while filled < INVITATION_BYTES {
        wait_until(&up.file, deadline)?;
        match (&up.file).read(&mut confirmed[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if confirmed != bytes {
        return Err(io::ErrorKind::InvalidData.into());
    }
    carry(up.into_file()?, down)
}

/// Waits for bytes.
fn wait_until(file: &impl AsFd, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: i64::from(left.subsec_nanos()),
    };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&left)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
