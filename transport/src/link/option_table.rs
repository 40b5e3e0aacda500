// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table of the options of endpoints: the part of the endpoint each stands in, the kinds of link it
//! is for, its meaning. The parser of the user's endpoints, the warnings and docs/concepts/links.md are made
//! from it. Locators from another node are not checked against it: that node may know options that
//! this one does not.

use std::fmt;

use zonda_codec::Endpoint;

use super::{EndpointProblem, is_group, options::priorities};
use crate::text::distance;

/// Part of an endpoint that an option stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Part after `?`: part of the locator, shown to other nodes.
    Locator,
    /// Part after `#`: for this node alone.
    Local,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Locator => "?",
            Part::Local => "#",
        })
    }
}

/// Option of endpoints.
#[derive(Debug, Clone, Copy)]
pub struct LinkOption {
    /// Name of the option.
    pub name: &'static str,
    /// Part of the endpoint that it stands in.
    pub part: Part,
    /// Kinds of link that it is for; empty for all.
    pub kinds: &'static [&'static str],
    /// Values and their meaning.
    pub meaning: &'static str,
    /// Reason why Zonda accepts it without an effect, if that is so.
    idle: Option<Idle>,
}

/// Function that returns the reason if an accepted option has no effect, by the kind of link and
/// the value.
type Idle = fn(kind: &str, value: &str) -> Option<&'static str>;

const INTERNET: &[&str] = &["tcp", "tls", "udp", "quic", "ws", "wss"];
const ENCRYPTED: &[&str] = &["tls", "quic", "wss"];
const QUIC: &[&str] = &["quic"];
const UDP: &[&str] = &["udp"];
const WEB: &[&str] = &["ws", "wss"];
const PIPE: &[&str] = &["unixpipe"];
const SERIAL: &[&str] = &["serial"];
const ALL: &[&str] = &[];

/// Kinds of link that the table knows, including those that this build lacks.
const KINDS: [&str; 10] = [
    "quic",
    "serial",
    "tcp",
    "tls",
    "udp",
    "unixpipe",
    "unixsock-stream",
    "vsock",
    "ws",
    "wss",
];

/// Options for multicast groups only.
const OF_GROUPS: [&str; 2] = ["join", "ttl"];

const fn local(
    name: &'static str,
    kinds: &'static [&'static str],
    meaning: &'static str,
) -> LinkOption {
    LinkOption {
        name,
        part: Part::Local,
        kinds,
        meaning,
        idle: None,
    }
}

const fn locator(
    name: &'static str,
    kinds: &'static [&'static str],
    meaning: &'static str,
) -> LinkOption {
    LinkOption {
        part: Part::Locator,
        ..local(name, kinds, meaning)
    }
}

impl LinkOption {
    const fn idle(self, idle: Idle) -> LinkOption {
        LinkOption {
            idle: Some(idle),
            ..self
        }
    }

    fn is_for(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

fn reliability_of_the_kind(kind: &str, value: &str) -> Option<&'static str> {
    match (kind, value) {
        ("udp" | "quic", _) | ("serial", "0") => None,
        ("serial", _) => Some("a serial line loses a broken frame whatever it says"),
        (_, "1") => None,
        _ => Some("a link of this kind loses nothing; udp/.. or quic/..?rel=0 may"),
    }
}

fn no_own_timeout(kind: &str, _value: &str) -> Option<&'static str> {
    (kind == "quic").then_some("transport/unicast/accept_timeout bounds the handshake of QUIC")
}

/// All options.
pub const LINK_OPTIONS: &[LinkOption] = &[
    locator("rel", ALL, "`udp`: `0`. `quic`: `1` streams, `0` datagrams, which may get lost. Elsewhere a label without effect")
        .idle(reliability_of_the_kind),
    locator("prio", ALL, "priorities `0` to `7`, one or `FROM-TO`: the link is for these: of several links to a neighbour, a message takes the one with the smallest range that has its priority"),
    locator("multistream", QUIC, "`1` a stream for each priority, `0` a single stream, `auto` as the peer can"),
    locator("mixed_rel", QUIC, "`0` or `auto`; `1` is not supported"),
    local("bind", INTERNET, "local address, `ADDRESS` or `ADDRESS:PORT`, that this node connects from"),
    local("dscp", INTERNET, "type of service of its packets: a byte such as `0xb8`, or several joined by `|`"),
    local("iface", INTERNET, "network interface that all packets pass; of a multicast group its name or address"),
    local("so_rcvbuf", INTERNET, "bytes of the socket's receive buffer"),
    local("so_sndbuf", INTERNET, "bytes of the socket's send buffer"),
    local("join", UDP, "multicast groups only: further groups that are heard, joined by `|`"),
    local("ttl", UDP, "multicast groups only: hops that a datagram may go"),
    local("pace", UDP, "bytes a second at which the fragments of large messages leave; `0` for no pace. 128000000 where nothing is said"),
    local("origins", WEB, "origins of web pages that may connect to a listener, joined by `|`, or `*` for all"),
    local("enable_mtls", ENCRYPTED, "`true`: both ends show a certificate"),
    local("verify_name_on_connect", ENCRYPTED, "`false`: the certificate may be for another host"),
    local("close_link_on_expiration", ENCRYPTED, "`true`: the link ends when the peer's certificate expires"),
    local("root_ca_certificate_file", ENCRYPTED, "PEM file of the authorities that are trusted"),
    local("root_ca_certificate_base64", ENCRYPTED, "base64 of the PEM text"),
    local("root_ca_certificate_raw", ENCRYPTED, "the PEM text"),
    local("listen_certificate_file", ENCRYPTED, "PEM file of the certificate of a listener"),
    local("listen_certificate_base64", ENCRYPTED, "base64 of the PEM text"),
    local("listen_certificate_raw", ENCRYPTED, "the PEM text"),
    local("listen_private_key_file", ENCRYPTED, "PEM file of the key of a listener"),
    local("listen_private_key_base64", ENCRYPTED, "base64 of the PEM text; never shown"),
    local("listen_private_key_raw", ENCRYPTED, "the PEM text; never shown"),
    local("connect_certificate_file", ENCRYPTED, "PEM file of the certificate that this node shows where it connects"),
    local("connect_certificate_base64", ENCRYPTED, "base64 of the PEM text"),
    local("connect_certificate_raw", ENCRYPTED, "the PEM text"),
    local("connect_private_key_file", ENCRYPTED, "PEM file of the key to it"),
    local("connect_private_key_base64", ENCRYPTED, "base64 of the PEM text; never shown"),
    local("connect_private_key_raw", ENCRYPTED, "the PEM text; never shown"),
    local("tls_handshake_timeout_ms", ENCRYPTED, "ms that the handshake of TLS may take at a listener; no effect on `quic`")
        .idle(no_own_timeout),
    local("initial_mtu", QUIC, "bytes of a packet before the path is probed, from 1200"),
    local("mtu_discovery_interval_secs", QUIC, "seconds between two probes of the path"),
    local("segmentation_offload", QUIC, "`false` for network cards that cut packets wrongly"),
    local("file_mask", PIPE, "permission bits of the pipes as a decimal number"),
    local("baudrate", SERIAL, "bits in a second"),
    local("exclusive", SERIAL, "`true`: no other process may open the device"),
    local("tout", SERIAL, "microseconds to wait after the peer has given up an earlier link"),
    local("release_on_close", SERIAL, "`true`: a listener opens the device anew for each link"),
    local("retry_period_init_ms", ALL, "as the configuration key `connect/retry/period_init_ms`, or `listen/..`"),
    local("retry_period_max_ms", ALL, "as `connect/retry/period_max_ms`, or `listen/..`"),
    local("retry_period_increase_factor", ALL, "as `connect/retry/period_increase_factor`, or `listen/..`"),
    local("exit_on_failure", ALL, "as `connect/exit_on_failure`, or `listen/..`"),
];

/// Checks that every option of a user's endpoint is known, stands in its part and is for the kind
/// of link.
///
/// # Errors
/// [`EndpointProblem::UnknownOption`] for the first that is not; [`EndpointProblem::Option`] for a value of an option
/// without effect that Zenoh refuses as well.
pub fn check_options(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    let kind = endpoint.proto();
    if !KINDS.contains(&kind) {
        return Ok(());
    }
    let mut before = None;
    for (name, value, part) in options(endpoint) {
        if before == Some((name, part)) {
            return Err(unknown(name, "is given twice; leave one out".to_owned()));
        }
        before = Some((name, part));
        let found = LINK_OPTIONS.iter().find(|option| option.name == name);
        let Some(option) = found.filter(|option| option.is_for(kind) && option.part == part) else {
            return Err(unknown(name, misplaced(found, endpoint, name, part)));
        };
        if OF_GROUPS.contains(&name) && !is_group(endpoint) {
            return Err(unknown(name, "is for multicast groups only".to_owned()));
        }
        check_label(option, kind, value)?;
    }
    Ok(())
}

/// Lists the options of an endpoint that are accepted and have no effect here, each in a clause:
/// name, value and reason.
#[must_use]
pub fn idle_options(endpoint: &Endpoint) -> Vec<String> {
    let kind = endpoint.proto();
    let idle = |(name, value, part): (&str, &str, Part)| {
        let known = |option: &&LinkOption| option.name == name && option.part == part;
        let option = LINK_OPTIONS.iter().find(known)?;
        let why = option.idle?(kind, value)?;
        Some(format!("option {name}={value} has no effect: {why}"))
    };
    options(endpoint).into_iter().filter_map(idle).collect()
}

fn options(endpoint: &Endpoint) -> Vec<(&str, &str, Part)> {
    let parts = [
        (endpoint.metadata(), Part::Locator),
        (endpoint.config(), Part::Local),
    ];
    let mut all = Vec::new();
    for (options, part) in &parts {
        all.extend(options.iter().map(|(name, value)| (name, value, *part)));
    }
    all
}

/// Checks the values of the options that no other code reads.
fn check_label(option: &LinkOption, kind: &str, value: &str) -> Result<(), EndpointProblem> {
    // Only the options that no link reads are checked here.
    let (is_valid, expected) = match option.name {
        "rel" if !matches!(kind, "udp" | "quic") => (
            matches!(value, "0" | "1"),
            "rel=0 for best effort or rel=1 for reliable",
        ),
        "prio" => (
            priorities(value).is_some(),
            "prio=N or prio=FROM-TO with numbers from 0 to 7",
        ),
        _ => return Ok(()),
    };
    match is_valid {
        true => Ok(()),
        false => Err(EndpointProblem::Option {
            key: option.name,
            value: value.to_owned(),
            expected,
        }),
    }
}

fn unknown(name: &str, what: String) -> EndpointProblem {
    /// Maximum length of a shown name: a longer one is no typing error, and may contain a value.
    const SHOWN: usize = 40;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = name.find(|c| !is_name(c)).unwrap_or(name.len()).min(SHOWN);
    let shown = name.get(..end).unwrap_or("");
    EndpointProblem::UnknownOption {
        option: match end == name.len() {
            true => shown.to_owned(),
            false => format!("{shown}…"),
        },
        what,
    }
}

/// Describes the fault of an option that is not known, stands in the other part, or is for other
/// kinds of link.
fn misplaced(known: Option<&LinkOption>, endpoint: &Endpoint, name: &str, part: Part) -> String {
    let kind = endpoint.proto();
    match known {
        // A known option in the wrong part, or for other kinds of link.
        Some(option) if option.is_for(kind) => {
            format!("stands after {part}; write it after {}", option.part)
        }
        Some(option) => format!(
            "is not for {kind} endpoints; it is for {}",
            option.kinds.join(", ")
        ),
        // An unknown option: suggest the nearest one.
        None => match nearest(kind, name) {
            Some(option) if option.part == part => {
                format!("is unknown; did you mean {}?", option.name)
            }
            Some(option) => format!(
                "is unknown; did you mean {}, after {}?",
                option.name, option.part
            ),
            None => format!(
                "is unknown; {kind} endpoints have: {}",
                names(kind).join(", ")
            ),
        },
    }
}

/// Returns the option for a kind of link that a name resembles: with few letters changed, or with a
/// suffix.
fn nearest(kind: &str, name: &str) -> Option<&'static LinkOption> {
    let fitting = || LINK_OPTIONS.iter().filter(|option| option.is_for(kind));
    let name = name.to_lowercase();
    // The configuration key of the same setting has no such ending.
    let of_file = fitting().find(|option| option.name.strip_suffix("_file") == Some(&name));
    let close = fitting()
        .map(|option| (distance(&name, option.name), option))
        .min_by_key(|(steps, _)| *steps)
        .filter(|(steps, _)| *steps <= 2.max(name.chars().count() / 4));
    let longer = || fitting().find(|option| name.len() >= 3 && option.name.starts_with(&name));
    of_file.or(close.map(|(_, option)| option)).or_else(longer)
}

fn names(kind: &str) -> Vec<&'static str> {
    let fitting = LINK_OPTIONS.iter().filter(|option| option.is_for(kind));
    fitting.map(|option| option.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let endpoint: Endpoint = text.parse().expect(text);
        check_options(&endpoint).map_err(|problem| problem.to_string())
    }

    #[test]
    fn an_option_that_is_none_names_the_nearest() {
        for (endpoint, words) in [
            (
                "tls/h:1#enable_mlts=true",
                "option enable_mlts is unknown; did you mean enable_mtls?",
            ),
            ("tcp/h:1#ifac=eth0", "did you mean iface?"),
            (
                "tls/h:1#verify_nam_on_connect=true",
                "did you mean verify_name_on_connect?",
            ),
            (
                "tls/h:1?root_ca_certificate_file=ca.pem",
                "stands after ?; write it after #",
            ),
            ("tls/h:1#rel=0", "stands after #; write it after ?"),
            (
                "quic/h:1#root_ca_certificate=ca.pem",
                "did you mean root_ca_certificate_file?",
            ),
            (
                "tcp/h:1#root_ca_certificate_file=ca.pem",
                "is not for tcp endpoints; it is for tls, quic, wss",
            ),
            ("tcp/h:1?multistream=1", "it is for quic"),
            ("udp/h:1#ttl=3", "is for multicast groups only"),
            ("serial//dev/x#iface=lo", "is not for serial endpoints"),
            ("tcp/h:1#zzz=1", "is unknown; tcp endpoints have: rel, prio"),
            ("tcp/h:1#iface=a;iface=b", "is given twice"),
            ("tcp/h:1?prio=5-1", "prio=N or prio=FROM-TO"),
            ("tcp/h:1?rel=2", "rel=0 for best effort"),
            ("tls/h:1#Enable_MTLS=true", "did you mean enable_mtls?"),
        ] {
            let error = check(endpoint).expect_err(endpoint);
            assert!(error.contains(words), "{endpoint}: {error}");
            assert!(!error.contains('\n') && error.len() < 400, "{error}");
        }
    }

    #[test]
    fn what_zenoh_reads_is_accepted_and_named_where_it_has_no_effect() {
        for (endpoint, idle) in [
            ("tcp/h:1?rel=1", None),
            ("tcp/h:1?rel=0", Some("option rel=0 has no effect")),
            ("ws/h:1?prio=1-3", None),
            ("udp/h:1?rel=0", None),
            ("quic/h:1?rel=0", None),
            ("serial//dev/x?rel=0#baudrate=9600", None),
            ("udp/224.0.0.225:1#iface=lo;join=224.0.0.226;ttl=3", None),
            ("tls/h:1#enable_mtls=true;tls_handshake_timeout_ms=1", None),
            (
                "quic/h:1#tls_handshake_timeout_ms=1",
                Some("accept_timeout"),
            ),
            ("tcp/h:1#retry_period_init_ms=1;exit_on_failure=true", None),
            ("unknown/h:1?anything=1#else=2", None),
            ("udp/h:1#pace=0", None),
            ("udp/224.0.0.225:1#pace=1000000", None),
            ("ws/h:1#origins=https://a.example|https://b.example", None),
            ("wss/h:1#origins=*", None),
        ] {
            assert_eq!(check(endpoint), Ok(()), "{endpoint}");
            let found = idle_options(&endpoint.parse().expect(endpoint)).join(" ");
            match idle {
                Some(words) => assert!(found.contains(words), "{endpoint}: {found}"),
                None => assert_eq!(found, "", "{endpoint}"),
            }
        }
    }

    /// Adds the options that the sources in a folder read.
    fn add_read(folder: &std::path::Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("the sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                add_read(&path, names);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("text");
            names.extend(source.split("option(").skip(1).filter_map(|rest| {
                let rest = rest.trim_start().strip_prefix("endpoint,")?;
                let (name, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
                Some(name.to_owned())
            }));
        }
    }

    /// An endpoint of a user with an option that the table lacks is refused before the option is
    /// read.
    #[test]
    fn every_option_that_is_read_is_in_the_table() {
        let mut names = Vec::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/link");
        add_read(&folder, &mut names);
        assert!(names.len() > 10, "{names:?}");
        for name in names {
            let is_known = LINK_OPTIONS.iter().any(|option| option.name == name);
            assert!(is_known, "{name}");
        }
    }

    #[test]
    fn no_value_is_repeated() {
        for text in [
            "tls/h:1#listen_private_key_raww=hunter2",
            "tls/h:1#MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQhunter2",
            "tcp/h:1#listen_private_key_raw=hunter2",
        ] {
            let error = check(text).expect_err(text);
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
