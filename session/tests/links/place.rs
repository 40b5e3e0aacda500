// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listening endpoints of sessions in a test of links, by kind.

use std::any::Any;
#[cfg(unix)]
use std::path::PathBuf;

use zonda::Config;
use zonda::config::RuntimeKind;

#[cfg(feature = "tls")]
use crate::authority::Authority;

/// A listening place of one kind of link, with the settings of both ends.
pub struct Place {
    /// The kind's name in endpoints.
    pub kind: &'static str,
    /// The endpoint to listen on.
    pub listen: String,
    /// Set if messages may get lost.
    pub is_lossy: bool,
    /// The reason why this machine has no such place.
    pub missing: Option<&'static str>,
    settings: Vec<(&'static str, String)>,
    /// Resources of the place, such as files.
    _belongings: Option<Box<dyn Any>>,
}

impl Place {
    /// Returns any free port, without any settings.
    fn port(kind: &'static str) -> Place {
        Place {
            kind,
            listen: format!("{kind}/127.0.0.1:0"),
            is_lossy: false,
            missing: None,
            settings: Vec::new(),
            _belongings: None,
        }
    }

    pub fn tcp() -> Place {
        Place::port("tcp")
    }

    pub fn udp() -> Place {
        let is_lossy = true;
        Place {
            is_lossy,
            ..Place::port("udp")
        }
    }

    #[cfg(feature = "ws")]
    pub fn ws() -> Place {
        Place::port("ws")
    }

    /// Returns an endpoint between a machine and itself, where the kernel has that.
    #[cfg(target_os = "linux")]
    pub fn vsock() -> Place {
        let is_there = connects_to_itself();
        Place {
            listen: "vsock/VMADDR_CID_LOCAL:VMADDR_PORT_ANY".to_owned(),
            missing: (!is_there).then_some("this kernel has no vsock loopback"),
            ..Place::port("vsock")
        }
    }

    #[cfg(target_os = "linux")]
    pub fn unixpipe() -> Place {
        Place {
            listen: format!("unixpipe/{}", path().display()),
            ..Place::port("unixpipe")
        }
    }

    #[cfg(unix)]
    pub fn unixsock() -> Place {
        let path = path();
        Place {
            listen: format!("unixsock-stream/{}", path.display()),
            _belongings: Some(Box::new(Files(path))),
            ..Place::port("unixsock-stream")
        }
    }

    /// Returns a place whose listening end shows a certificate.
    #[cfg(feature = "tls")]
    pub fn tls() -> Place {
        let authority = Authority::new();
        let shown = authority.sign("server", &["127.0.0.1"]);
        Place {
            settings: vec![
                (
                    "transport/link/tls/listen_certificate",
                    text(&shown.certificate),
                ),
                ("transport/link/tls/listen_private_key", text(&shown.key)),
                (
                    "transport/link/tls/root_ca_certificate",
                    text(&authority.ca()),
                ),
            ],
            _belongings: Some(Box::new(authority)),
            ..Place::port("tls")
        }
    }

    /// Returns QUIC with the certificate of [`Place::tls`] at the listening end.
    #[cfg(feature = "quic")]
    pub fn quic() -> Place {
        let listen = Place::port("quic").listen;
        Place {
            kind: "quic",
            listen,
            ..Place::tls()
        }
    }

    /// Returns QUIC where each batch is a datagram.
    #[cfg(feature = "quic")]
    pub fn quic_datagrams() -> Place {
        let quic = Place::quic();
        Place {
            listen: format!("{}?rel=0", quic.listen),
            is_lossy: true,
            ..quic
        }
    }

    /// Returns a place whose ends both show a certificate.
    #[cfg(feature = "tls")]
    pub fn mtls() -> Place {
        let mut place = Place::tls();
        let of_listener = |key: &str| {
            let found = place.settings.iter().find(|(found, _)| *found == key);
            found.expect("it is there").1.clone()
        };
        // One certificate does for both, as in a fleet of machines that each listen and connect.
        let more = [
            ("transport/link/tls/enable_mtls", "true".to_owned()),
            (
                "transport/link/tls/connect_certificate",
                of_listener("transport/link/tls/listen_certificate"),
            ),
            (
                "transport/link/tls/connect_private_key",
                of_listener("transport/link/tls/listen_private_key"),
            ),
        ];
        place.settings.extend(more);
        place
    }

    /// Returns a place whose listening end shows a certificate, and frames its messages.
    #[cfg(feature = "wss")]
    pub fn wss() -> Place {
        let tls = Place::tls();
        Place {
            kind: "wss",
            listen: tls.listen.replace("tls/", "wss/"),
            ..tls
        }
    }

    /// Adds the settings of both ends to a configuration.
    pub fn settled(&self, config: Config, runtime: RuntimeKind) -> Config {
        let settings = self.settings.iter();
        settings.fold(config.with_runtime(runtime), |config, (key, json)| {
            config.with(key, json)
        })
    }
}

#[cfg(feature = "tls")]
fn text(value: &str) -> String {
    format!("{value:?}")
}

/// Returns true if a socket of this machine's own CID finds a listener.
#[cfg(target_os = "linux")]
fn connects_to_itself() -> bool {
    use socket2::{Domain, SockAddr, Socket, Type};

    let socket = || Socket::new(Domain::VSOCK, Type::STREAM, None);
    let attempt = || {
        let (listener, near) = (socket()?, socket()?);
        listener.bind(&SockAddr::vsock(1, u32::MAX))?;
        listener.listen(1)?;
        let at = listener.local_addr()?;
        near.connect_timeout(&at, std::time::Duration::from_millis(300))
    };
    attempt().is_ok()
}

/// Returns a unique path.
#[cfg(unix)]
fn path() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};

    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("zonda-links-{}-{number}", std::process::id());
    std::env::temp_dir().join(name)
}

/// The files of a path that a listener may have left behind.
#[cfg(unix)]
struct Files(PathBuf);

#[cfg(unix)]
impl Drop for Files {
    fn drop(&mut self) {
        // mostly they do not exist any more
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("lock"));
    }
}
