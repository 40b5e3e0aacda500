// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection, and datagrams that arrive while another task works on it.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc;
use std::thread;

use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, TransportConfig};

use super::super::udp_io::ReceivedDatagrams;
use super::*;

/// Maximum wait for an event.
const SOON: Duration = Duration::from_secs(20);

/// Returns a connection with an estimated round trip of this length.
fn connection(hub: &Arc<EndpointDriver>, to: SocketAddr, round_trip: Duration) -> Closing {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider);
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]);
    let tls = tls
        .expect("versions")
        .with_root_certificates(rustls::RootCertStore::empty());
    let tls = QuicClientConfig::try_from(tls.with_no_client_auth()).expect("for QUIC");
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = TransportConfig::default();
    transport.initial_rtt(round_trip);
    config.transport_config(Arc::new(transport));
    hub.connect(config, to, "localhost").expect("it begins")
}

#[test]
fn a_closed_connection_is_given_up_however_slow_its_peer_is() {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let hub = EndpointDriver::new(&near.into(), Carrier::Streams, None).expect("an endpoint");
    let to = far.local_addr().expect("bound");
    let held = connection(&hub, to, Duration::from_secs(600));
    let closed = Arc::clone(&held.0);
    drop(held);
    let until = hub.rest().expect("it is kept");
    assert!(until <= Instant::now() + KEPT_CLOSED);
    closed.desk.lock().forget_at = Some(Instant::now());
    closed.look_after();
    assert_eq!(hub.rest(), None, "nothing is left");
}

#[test]
fn who_takes_datagrams_in_does_not_wait_for_who_sends() {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let (at, to) = [&near, &far]
        .map(|one| one.local_addr().expect("bound"))
        .into();
    let hub = EndpointDriver::new(&near.into(), Carrier::Streams, None).expect("an endpoint");
    let held = connection(&hub, to, Duration::from_millis(1));
    // The source id of the connection follows its destination id. Any datagram to the source id is
    // for this connection.
    let mut hello = [0; 2000];
    far.recv(&mut hello).expect("it begins");
    let names = &hello[5..];
    let own = &names[1 + usize::from(names[0])..];
    let own = &own[1..][..usize::from(own[0])];
    let datagram = [&[0x40], own, &[7; 40]].concat();
    far.send_to(&datagram, at).expect("it is sent");
    let (mut mail, until) = (ReceivedDatagrams::new(), Instant::now() + SOON);
    while hub.post().receive(&mut mail).is_err() {
        assert!(Instant::now() < until, "it comes");
        thread::yield_now();
    }
    held.0.work(|_| {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            hub.take_in(&mut mail, &mut drop);
            done.send(())
        });
        is_done.recv_timeout(SOON).expect("nobody is waited for");
        assert!(held.0.desk.has_inbox());
    });
    assert!(!held.0.desk.has_inbox(), "it was looked at afterwards");
}
