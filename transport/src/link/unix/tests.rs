// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths: the valid ones, and their owners.

use super::*;
use crate::link::LinkSettings;

fn endpoint(path: &str) -> Endpoint {
    format!("unixsock-stream/{path}")
        .parse()
        .expect("an endpoint")
}

/// Path of its own, in a directory that is removed with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let directory = format!("zonda-unix-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        fs::create_dir_all(&directory).expect("a directory");
        Place(directory)
    }

    fn path(&self) -> String {
        self.0.join("sock").to_str().expect("text").to_owned()
    }

    fn files(&self) -> usize {
        fs::read_dir(&self.0).expect("a directory").count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn bind_at(path: &str) -> Result<Vec<BoundSocket>, LinkFailure> {
    bind(&LinkParameters {
        endpoint: &endpoint(path),
        deadline: Instant::now(),
        links: &LinkSettings::default(),
    })
}

fn kind(failure: Result<Vec<BoundSocket>, LinkFailure>) -> Option<io::ErrorKind> {
    match failure.err()? {
        LinkFailure::Refused(failures) => failures.first().map(|(_, failure)| failure.kind()),
        _ => None,
    }
}

#[test]
fn paths_that_cannot_be() {
    let long = format!("/run/{}", "a".repeat(120));
    for (path, what) in [
        ("/run/", "is a directory"),
        (
            long.as_str(),
            "is longer than the system allows, or has a zero byte",
        ),
    ] {
        let problem = check(&endpoint(path)).expect_err(path);
        let path = path.to_owned();
        let kind = "unixsock-stream";
        assert_eq!(problem, EndpointProblem::Path { kind, path, what });
    }
    assert_eq!(check(&endpoint("/run/a")), Ok(()));
    assert_eq!(check(&endpoint("relative")), Ok(()));
}

#[test]
fn a_path_has_one_listener_and_is_free_when_that_ends() {
    let place = Place::new("one");
    let path = place.path();
    let bound = bind_at(&path).expect("free");
    assert_eq!(bound[0].address.to_string(), path);
    assert_eq!(place.files(), 2);
    assert_eq!(kind(bind_at(&path)), Some(io::ErrorKind::AddrInUse));
    assert_eq!(place.files(), 2, "the loser removes nothing");
    drop(bound);
    assert_eq!(place.files(), 0);
    assert!(bind_at(&path).is_ok());
}

#[test]
fn the_path_of_a_listener_that_crashed_is_taken_over() {
    let place = Place::new("crashed");
    let path = place.path();
    drop(std::os::unix::net::UnixListener::bind(&path).expect("free"));
    fs::write(format!("{path}.lock"), b"").expect("writable");
    let bound = bind_at(&path).expect("nobody has the lock");
    std::os::unix::net::UnixStream::connect(&path).expect("it listens");
    drop(bound);
    assert_eq!(place.files(), 0);
}

/// Socket of another program, which does not use the lock.
#[test]
fn a_socket_that_is_listened_at_is_left_alone() {
    let place = Place::new("foreign");
    let path = place.path();
    let own = SockAddr::unix(&path).expect("a path");
    let foreign = socket(SocketBuffers::default()).expect("a socket");
    foreign.bind(&own).expect("free");
    foreign.listen(1).expect("a socket");
    assert_eq!(kind(bind_at(&path)), Some(io::ErrorKind::AddrInUse));
    // The listener is detected even if its queue is full.
    let waiting: Vec<_> = std::iter::repeat_with(|| {
        let stream = socket(SocketBuffers::default()).expect("a socket");
        stream.connect(&own).map(|()| stream)
    })
    .take_while(Result::is_ok)
    .collect();
    assert_eq!(kind(bind_at(&path)), Some(io::ErrorKind::AddrInUse));
    drop(waiting);
    foreign.accept().expect("it still listens");
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let place = Place::new("file");
    let path = place.path();
    fs::write(&path, b"precious").expect("writable");
    assert_eq!(kind(bind_at(&path)), Some(io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(&path).expect("still there"), b"precious");
}
