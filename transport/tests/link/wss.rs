// SPDX-License-Identifier: MIT OR Apache-2.0
//! Client of WebSocket and TLS from another library, on one runtime.

use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::generate_simple_self_signed;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tungstenite::{Message, WebSocket, client};
use zonda_runtime::Runtime;
use zonda_transport::listen::ListenOptions;
use zonda_transport::protocol::handshake::OpenStep;

use zonda_transport::dial::open_link;
use zonda_transport::link::Link;

use super::peers::{DEADLINE, House, endpoint, node, opener, within};

/// Files of a certificate for `localhost` and its key, removed on drop.
struct Shown {
    files: [PathBuf; 2],
    certificate: String,
}

impl Shown {
    fn new(name: &str) -> Shown {
        let made = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let certificate = made.cert.pem();
        let files = ["pem", "key"].map(|end| {
            let name = format!("zonda-wss-{}-{name}.{end}", std::process::id());
            std::env::temp_dir().join(name)
        });
        std::fs::write(&files[0], &certificate).expect("room");
        std::fs::write(&files[1], made.signing_key.serialize_pem()).expect("room");
        Shown { files, certificate }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        for file in &self.files {
            // Files that stay do no harm.
            let _ = std::fs::remove_file(file);
        }
    }
}

fn encrypted(house_port: u16, trusted: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_slice(trusted.as_bytes()).expect("a certificate");
    roots.add(trusted).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let tls = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(("127.0.0.1", house_port)).expect("it listens");
    StreamOwned::new(tls, stream)
}

pub fn a_foreign_client_opens_a_link<R: Runtime>(runtime: &R) {
    let shown = Shown::new(runtime.name());
    let [certificate, key] = &shown.files;
    let at = format!(
        "wss/127.0.0.1:0#listen_certificate_file={};listen_private_key_file={}",
        certificate.display(),
        key.display()
    );
    let house = House::at(runtime, &at, ListenOptions::default());
    let port = house.address().port();
    let stream = encrypted(port, &shown.certificate);
    let url = format!("wss://localhost:{port}/any/path");
    let (mut socket, _) = client(url, stream).expect("a WebSocket");
    socket
        .send(Message::Ping("here?".into()))
        .expect("it takes it");
    let answer = socket.read().expect("an answer");
    assert_eq!(answer, Message::Pong("here?".into()));
    let established = introduce(&mut socket);
    assert_eq!(established, house.link().established.sn_mask);
}

/// Each end knows the names in the other's certificate if both show one; a listener that requires
/// none knows none.
pub fn both_ends_know_the_names_of_certificates<R: Runtime>(runtime: &R) {
    let shown = Shown::new(&format!("names-{}", runtime.name()));
    let [certificate, key] = shown.files.each_ref().map(|file| file.display());
    let own = |side: &str| {
        format!(
            "{side}_certificate_file={certificate};{side}_private_key_file={key};root_ca_certificate_file={certificate}"
        )
    };
    for protocol in ["tls", "wss"] {
        for asks in [true, false] {
            let at = format!(
                "{protocol}/127.0.0.1:0#enable_mtls={asks};{}",
                own("listen")
            );
            let house = House::at(runtime, &at, ListenOptions::default());
            let port = house.address().port();
            let to = format!(
                "{protocol}/localhost:{port}#enable_mtls={asks};{}",
                own("connect")
            );
            let (to, own) = (endpoint(&to), node(2));
            let near =
                within(open_link(runtime, &to, &own, DEADLINE)).expect("they trust each other");
            let names = |link: &Link| {
                let names = link.established.options.certificate();
                names.map(|names| (names.hosts.clone(), names.common_names.len()))
            };
            let expected = Some((vec!["localhost".to_owned()], 1));
            assert_eq!(names(&near), expected);
            assert_eq!(names(&house.link()), expected.filter(|_| asks), "{at}");
        }
    }
}

/// Opens a link over messages of a WebSocket; returns the agreed mask of sequence numbers.
fn introduce<S: std::io::Read + std::io::Write>(socket: &mut WebSocket<S>) -> u32 {
    let (mut opener, mut out) = (opener(2), Vec::new());
    opener.start(&mut out);
    loop {
        let message = Message::binary(std::mem::take(&mut out));
        socket.send(message).expect("it takes it");
        let answer = socket.read().expect("an answer");
        assert!(answer.is_binary(), "{answer}");
        let step = opener.handle_batch(&answer.into_data(), &mut out);
        if let OpenStep::Done(established) = step.expect("an answer") {
            return established.sn_mask;
        }
    }
}
