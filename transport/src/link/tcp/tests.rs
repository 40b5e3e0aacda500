// SPDX-License-Identifier: MIT OR Apache-2.0
//! Order of the addresses that are tried, the time for each, and the options of a connected socket.

use std::net::{TcpListener, TcpStream};

use super::*;

fn endpoint(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
    texts
        .iter()
        .map(|text| text.parse().expect("an address"))
        .collect()
}

#[test]
fn families_take_turns_and_the_favourite_begins() {
    let found = addresses(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
    let mixed = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]);
    assert_eq!(alternate(found), mixed);
    let found = addresses(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]);
    assert_eq!(alternate(found.clone()), found);
    assert_eq!(alternate(vec![]), vec![]);
}

#[test]
fn each_address_has_its_share_and_the_last_has_the_rest() {
    let now = Instant::now();
    let seconds = |seconds| now + Duration::from_secs(seconds);
    assert_eq!(share(now, seconds(10), 2), seconds(5));
    assert_eq!(share(now, seconds(10), 1), seconds(10));
    assert_eq!(share(now, seconds(10), 1000), now + ATTEMPT_MIN);
    assert_eq!(
        share(now, now + Duration::from_millis(100), 3),
        now + Duration::from_millis(100)
    );
    assert_eq!(share(seconds(1), now, 3), seconds(1));
}

/// On one machine the receive buffer is small, unless the endpoint sets a size.
#[test]
fn receive_buffers_on_one_host() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let buffer = |text: &str| {
        let stream = Socket::from(TcpStream::connect(address).expect("loopback"));
        let options = SocketOptions::of(&endpoint(text)).expect("valid");
        if let Some(bytes) = options.receive_buffer_bytes {
            stream.set_recv_buffer_size(bytes).expect("its size");
        }
        prepare(&stream, &options).expect("it is connected");
        assert!(stream.tcp_nodelay().expect("an option"));
        stream.recv_buffer_size().expect("its size")
    };
    let (usual, asked) = (buffer("tcp/a:1"), buffer("tcp/a:1#so_rcvbuf=50000"));
    // Linux accounts for twice the requested size.
    assert!(usual <= 2 * 256 * 1024, "{usual}");
    assert!((50_000..=100_000).contains(&asked), "{asked}");
}

/// Sockets between two programs of one machine are not paced, on any system; other sockets keep the
/// system's setting.
#[test]
#[cfg(target_os = "linux")]
fn pacing_on_one_host() {
    let name = |socket: &Socket| {
        let mut name = socket.tcp_congestion().expect("a name");
        name.retain(|&byte| byte != 0);
        String::from_utf8(name).expect("its name")
    };
    let options = SocketOptions::default();
    let bound = bind_to(([127, 0, 0, 1], 0).into(), &options).expect("a port");
    let (listener, address) = (bound.socket, bound.address.socket_address());
    let connected = TcpStream::connect(address.expect("of the internet")).expect("loopback");
    let connected = Socket::from(connected);
    let system = name(&connected);
    let (accepted, _) = listener.accept().expect("it comes");
    assert_eq!(
        name(&accepted),
        name(&listener),
        "it begins as its listener"
    );
    for stream in [&accepted, &connected] {
        prepare(stream, &options).expect("it is connected");
        assert!(!name(stream).starts_with("bbr"));
    }
    pacing::decide(SockRef::from(&accepted), false);
    assert_eq!(name(&accepted), system);
}

/// The limit of unsent bytes is small, and larger where a stream within the machine is encrypted.
#[test]
#[cfg(all(target_os = "linux", feature = "tls"))]
fn what_waits_to_be_sent_on_one_host() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let stream = Socket::from(TcpStream::connect(address).expect("loopback"));
    prepare(&stream, &SocketOptions::default()).expect("it is connected");
    let unsent = || stream.tcp_notsent_lowat().expect("an option");
    assert_eq!(unsent(), UNSENT_BYTES_MAX);
    prepare_encrypted(&stream);
    assert_eq!(unsent(), SAME_HOST_ENCRYPTED_UNSENT_BYTES_MAX);
}
