// SPDX-License-Identifier: MIT OR Apache-2.0
//! The study's clients ran out of ephemeral ports: in a network namespace of its own, with a hundred of them.
//!
//! The side that ends a connection first keeps its port for a minute (TIME_WAIT). If clients do,
//! and ports are not used again before (`tcp_tw_reuse=0`), only a hundred connections are possible.
//! If the server does, or connections are kept, no port runs out.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use zonda_kafka::ingest::{On, Server, Service};
use zonda_kafka::perf::{Client, Load, Mode};
use zonda_kafka::sink::Sink;

/// Number of ports in the namespace.
const PORTS: usize = 100;
/// Commands that set up the namespace, and run the following command in it.
const INSIDE: &str = "ip link set lo up && echo 40000 40099 >/proc/sys/net/ipv4/ip_local_port_range \
    && echo 0 >/proc/sys/net/ipv4/tcp_tw_reuse && exec \"$@\"";

fn namespace() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", INSIDE, "sh"]);
    command
}

/// Variable that is set within the namespace.
const INSIDE_IT: &str = "ZONDA_KAFKA_FEW_PORTS";

#[test]
fn ephemeral_ports_run_out_only_where_clients_end_connections() {
    if std::env::var_os(INSIDE_IT).is_some() {
        return inside();
    }
    let is_permitted = namespace()
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success());
    if !is_permitted {
        println!("SKIPPED: a network namespace of one's own is not permitted here");
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let name = "ports::ephemeral_ports_run_out_only_where_clients_end_connections";
    let output = namespace()
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE_IT, "1")
        .output();
    let output = output.expect("the test within");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
    println!("{text}");
}

/// Opens connections that the client ends first, until none can be made; returns their number.
fn until_exhausted(address: SocketAddr) -> usize {
    for number in 0..=PORTS {
        let mut client = match Client::connect(address) {
            Ok(client) => client,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{error}");
                return number;
            }
        };
        let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na";
        assert_eq!(client.request(request).expect("an answer"), 202);
    }
    PORTS + 1
}

fn inside() {
    for on in On::all() {
        let service = Arc::new(Service::new(Sink::Nowhere));
        let address = "127.0.0.1:0".parse().expect("an address");
        let server = Server::start(on, address, service).expect("a server");
        let address = server.address();
        for mode in [Mode::KeepAlive, Mode::Close] {
            let load = Load {
                address,
                clients: 2,
                mode,
                body: 10,
                rate: None,
            };
            let (seen, _) = load.send(5 * PORTS as u64);
            assert_eq!(
                (seen.accepted, seen.failures()),
                (500, 0),
                "{on}: {:?}",
                seen.failed
            );
        }
        server.end(Duration::from_secs(60));
    }
    // the client's system has no port left, whatever the server runs on; here it is the study's
    let service = Arc::new(Service::new(Sink::Nowhere));
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(On::OriginalUring, address, service).expect("a server");
    let connections = until_exhausted(server.address());
    assert!(connections <= PORTS, "{connections}");
    println!("no port left after {connections} connections that the client ended");
}
