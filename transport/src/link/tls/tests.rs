// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, settings, and records that wait for a socket.

use std::io::{self, IoSlice};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::*;
use crate::link::Pem;
#[cfg(target_os = "linux")]
use crate::link::tests::Narrow;
use zonda_runtime::RxBuf;

fn endpoint(text: &str) -> Endpoint {
    text.parse().expect("an endpoint")
}

/// Returns the settings for two ends that trust each other.
fn settings() -> TlsSettings {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("a certificate");
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
    let shown = params.signed_by(&key, &issuer).expect("a certificate");
    TlsSettings {
        root_ca_certificate: Some(Pem::Text(authority.pem())),
        listen_certificate: Some(Pem::Text(shown.pem())),
        listen_private_key: Some(Pem::Text(key.serialize_pem())),
        ..TlsSettings::default()
    }
}

/// Returns two ends after their handshake.
fn sessions() -> [Arc<Session>; 2] {
    let settings = settings();
    let near = credentials::client(&settings, None).expect("usable");
    let name = server_name("localhost").expect("a name");
    let near = ClientConnection::new(Arc::new(near), name).expect("a client");
    let far = Credentials::load(settings, Vec::new())
        .expect("usable")
        .current();
    let far = ServerConnection::new(far).expect("a server");
    let ends = [Connection::Client(near), Connection::Server(far)].map(Session::new);
    while ends.iter().any(|end| end.with(|tls| tls.is_handshaking())) {
        for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
            pass(&from.take_records().expect("records"), to);
        }
    }
    ends
}

fn pass(mut records: &[u8], to: &Session) {
    to.with(|tls| {
        while !records.is_empty() {
            tls.read_tls(&mut records).expect("in memory");
            tls.process_new_packets().expect("they are good");
        }
    });
}

fn received(by: &Session) -> Vec<u8> {
    let mut bytes = Vec::new();
    by.with(|tls| {
        // An error means that more bytes may arrive.
        let _ = io::Read::read_to_end(&mut tls.reader(), &mut bytes);
    });
    bytes
}

#[cfg(target_os = "linux")]
#[test]
fn records_that_wait_for_the_socket_keep_their_last_byte_under_way() {
    let [near, far] = sessions();
    let mut socket = Narrow::default();
    let (head, tail) = ([1; 100], [2; 30_000]);
    // Room for the first of two records and a part of the second.
    socket.room = 20_000;
    let slices = [IoSlice::new(&head), IoSlice::new(&tail)];
    let sent = near.send(&slices, &mut socket).expect("a part of it");
    assert_eq!(sent, 30_099, "all but one byte");
    assert!(near.held() > 30_000, "{}", near.held());
    // The owner passes the byte that is left, and perhaps more behind it.
    let slices = [IoSlice::new(&tail[..1]), IoSlice::new(&[3; 10])];
    let waits = near.send(&slices, &mut socket).expect_err("it is full");
    assert_eq!(waits.kind(), io::ErrorKind::WouldBlock);
    socket.room = 100_000;
    assert_eq!(near.send(&slices, &mut socket).expect("room"), 1);
    let slices = [IoSlice::new(&[3; 10])];
    assert_eq!(near.send(&slices, &mut socket).expect("room"), 10);
    assert_eq!(near.held(), 0);
    let mut all = Vec::new();
    for part in socket.taken.chunks(4096) {
        pass(part, &far);
        all.extend(received(&far));
    }
    assert_eq!(all.len(), 30_110);
    assert_eq!((all[0], all[100], all[30_099], all[30_100]), (1, 2, 2, 3));
}

/// Socket that returns all remaining bytes at each read.
struct Wide(Vec<u8>);

impl LinkRead for Wide {
    async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
        let count = self.0.len().min(buf.spare_mut().len());
        buf.spare_mut()[..count].copy_from_slice(&self.0[..count]);
        buf.advance(count);
        self.0.drain(..count);
        (Ok(count), buf)
    }
}

/// The handshake reads a little at a time, and the socket may have returned much more by then.
#[test]
fn what_was_read_behind_the_introduction_is_not_lost() {
    let [near, far] = sessions();
    let sent: Vec<u8> = (0..100_000u32).map(|at| at as u8).collect();
    near.with(|tls| io::Write::write_all(&mut tls.writer(), &sent))
        .expect("it is encrypted");
    let mut socket = Wide(near.take_records().expect("records"));
    let mut received = Vec::new();
    for room in [7, 300, 5000, 20_000, 1 << 20] {
        let mut reading = Reading::new(socket, Arc::clone(&far));
        while received.len() < sent.len() {
            let (result, buf) = zonda_runtime::block_on(reading.read(RxBuf::new(room)));
            assert!(
                result.expect("it comes") > 0,
                "after {} bytes",
                received.len()
            );
            received.extend_from_slice(buf.filled());
            if room < 1 << 20 {
                break;
            }
        }
        (socket, _) = reading.into_parts();
    }
    assert!(received == sent);
}

#[test]
fn a_certificate_is_for_the_host_of_the_endpoint() {
    for (host, name) in [
        ("router.lan", "DnsName(\"router.lan\")"),
        ("127.0.0.1", "IpAddress(V4(Ipv4Addr([127, 0, 0, 1])))"),
    ] {
        let found = format!("{:?}", server_name(host).expect(host));
        assert_eq!(found, name);
    }
    for host in ["::1", "fe80::1%eth0"] {
        let name = server_name(host).expect(host);
        assert!(matches!(name, ServerName::IpAddress(_)), "{name:?}");
    }
    let problem = server_name("no host").expect_err("a space").to_string();
    assert!(problem.contains("no certificate can be for"), "{problem}");
}

#[test]
fn an_endpoint_goes_before_the_configuration() {
    let configured = TlsSettings {
        root_ca_certificate: Some(Pem::File("configured".to_owned())),
        listen_certificate: Some(Pem::File("kept".to_owned())),
        verify_name_on_connect: Some(true),
        ..TlsSettings::default()
    };
    let text = "tls/localhost:1#root_ca_certificate_file=own;verify_name_on_connect=false";
    let found = configured.of(&endpoint(text)).expect("well formed");
    assert_eq!(found.root_ca_certificate, Some(Pem::File("own".to_owned())));
    assert_eq!(found.listen_certificate, configured.listen_certificate);
    assert_eq!(found.verify_name_on_connect, Some(false));
    let raw = "tls/localhost:1#root_ca_certificate_raw=text;root_ca_certificate_file=own";
    let found = configured.of(&endpoint(raw)).expect("well formed");
    assert_eq!(
        found.root_ca_certificate,
        Some(Pem::Text("text".to_owned()))
    );
    for wrong in ["enable_mtls=yes", "tls_handshake_timeout_ms=soon"] {
        let text = format!("tls/localhost:1#{wrong}");
        let problem = check(&endpoint(&text)).expect_err(wrong).to_string();
        assert!(problem.contains("is invalid; write"), "{problem}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let settings = TlsSettings {
        connect_private_key: Some(Pem::Text("secret".to_owned())),
        listen_private_key: Some(Pem::Base64("secret".to_owned())),
        ..TlsSettings::default()
    };
    assert!(!format!("{settings:?}").contains("secret"));
}

/// Collector of the warnings of a thread.
#[derive(Clone, Default)]
struct Warnings(Arc<std::sync::Mutex<Vec<String>>>);

impl Warnings {
    fn is_empty(&self) -> bool {
        self.0.lock().expect("not poisoned").is_empty()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 = format!("{value:?}");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().expect("not poisoned").push(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_certificate_of_its_own_that_has_expired_is_one_line_of_the_log() {
    let folder = std::env::temp_dir().join(format!("zonda-expired-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (shown, kept) = (file("shown.pem"), file("shown.key"));
    let key = KeyPair::generate().expect("a key");
    std::fs::write(&kept, key.serialize_pem()).expect("room");
    let show = |year| {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("names");
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        let made = params.self_signed(&key).expect("a certificate");
        std::fs::write(&shown, made.pem()).expect("room");
    };
    let settings = TlsSettings {
        listen_certificate: Some(Pem::File(shown.clone())),
        listen_private_key: Some(Pem::File(kept)),
        ..TlsSettings::default()
    };
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        let load = || Credentials::load(settings.clone(), Vec::new()).expect("usable");
        let assert_said = |date: &str| {
            let said = warnings.take();
            let [line] = &*said else {
                panic!("one line: {said:?}");
            };
            let begin = format!("listen_certificate {shown} expired ");
            assert!(line.starts_with(&begin) && line.ends_with(date), "{line}");
        };
        show(2020);
        let credentials = load();
        assert_said("days ago, on 2020-01-01 00:00 UTC");
        // The certificate is renewed with one that has expired as well.
        show(2021);
        let deadline = Instant::now() + Duration::from_secs(30);
        while warnings.is_empty() && Instant::now() < deadline {
            credentials.current();
            std::thread::yield_now();
        }
        assert_said("days ago, on 2021-01-01 00:00 UTC");
        credentials.current();
        show(2090);
        load();
        assert!(warnings.take().is_empty());
    });
    let _ = std::fs::remove_dir_all(folder);
}
