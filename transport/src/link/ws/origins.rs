// SPDX-License-Identifier: MIT OR Apache-2.0
//! Origins of pages that may open a WebSocket here. A browser lets any page connect to any address,
//! in particular to a router on the user's own machine, and sends the page's origin in `Origin`.
//! Programs other than browsers send no such header.
//!
//! The owner of a public name can point it to this machine once its page is loaded (DNS rebinding):
//! then page and request name the same host. Without encryption only addresses and names that
//! cannot be registered therefore count; with encryption, the certificate of this node is for the
//! name, or the browser does not connect.

use tungstenite::handshake::server::Request;
use tungstenite::http::header::{HOST, ORIGIN};

use crate::text::shown;

/// Wildcard for all origins in a list.
const ANY: &str = "*";

/// Separator of the origins in the option of an endpoint.
pub(super) const SEPARATOR: char = '|';

/// Origins whose pages may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origins {
    /// Pages of the host that the request names, on any port; on one machine, pages of its own
    /// loopback addresses.
    SameHost {
        /// Set if public names count as well.
        is_encrypted: bool,
    },
    /// Listed origins, or all if `*` is among them.
    Listed(Vec<String>),
}

impl Origins {
    /// Creates the rule from the origins of a configuration, if it names any, for links that are
    /// encrypted or not.
    pub(super) fn of(listed: Option<Vec<String>>, is_encrypted: bool) -> Origins {
        listed.map_or(Origins::SameHost { is_encrypted }, Origins::Listed)
    }

    /// Returns the reason why a page may not connect, if there is one.
    pub(super) fn problem_with(&self, request: &Request) -> Option<String> {
        let headers = request.headers();
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let refused = headers.get_all(ORIGIN).iter().find(|origin| {
            let origin = origin.to_str().ok();
            !origin.is_some_and(|origin| self.allow(origin, host.unwrap_or_default()))
        })?;
        let origin = shown(&String::from_utf8_lossy(refused.as_bytes()));
        Some(format!(
            "pages of {origin} may not connect; to allow it, name it in transport/link/ws/origins"
        ))
    }

    fn allow(&self, origin: &str, host: &str) -> bool {
        match self {
            Origins::Listed(listed) => listed
                .iter()
                .any(|allowed| allowed == ANY || allowed.eq_ignore_ascii_case(origin)),
            Origins::SameHost { is_encrypted } => {
                let page = origin.split_once("://").map(|(_, rest)| name_of(rest));
                let name = name_of(host);
                page.is_some_and(|page| {
                    let is_same = !page.is_empty() && page.eq_ignore_ascii_case(name);
                    is_same && (*is_encrypted || !is_public(name))
                        || is_loopback(page) && is_loopback(name)
                })
            }
        }
    }
}

/// Returns the name or address in `HOST:PORT`, without the brackets of IPv6.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    }
}

/// Returns true if a name may be registered, so that its owner decides which machine it refers to.
fn is_public(name: &str) -> bool {
    /// Suffixes of names that are reserved for private networks.
    const PRIVATE: [&str; 4] = [".local", ".localhost", ".internal", ".home.arpa"];
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    !is_address && name.contains('.') && !PRIVATE.iter().any(|end| name.ends_with(end))
}

fn is_loopback(name: &str) -> bool {
    let is_loopback = |ip: std::net::IpAddr| ip.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let mut request = Request::new(());
        for (name, value) in headers {
            let name: tungstenite::http::HeaderName = name.parse().expect("a name");
            request
                .headers_mut()
                .append(name, value.parse().expect("a value"));
        }
        request
    }

    fn is_let_in(origins: &Origins, origin: &str, host: &str) -> bool {
        let request = request(&[("Host", host), ("Origin", origin)]);
        origins.problem_with(&request).is_none()
    }

    #[test]
    fn a_page_of_another_host_is_refused_and_what_sends_no_origin_is_let_in() {
        let origins = Origins::of(None, true);
        for (origin, host) in [
            ("http://evil.example", "127.0.0.1:7448"),
            ("http://evil.example", "localhost:7448"),
            ("https://127.0.0.1.evil.example", "127.0.0.1:7448"),
            ("null", "127.0.0.1:7448"),
            ("null", "null"),
            ("", ""),
            ("://", ""),
            ("app://", ""),
            ("http://robot.example", ""),
            ("http://robot.example.evil.example", "robot.example"),
            ("app://[2001:db8::1]", "[2001:db8::2]:7448"),
        ] {
            assert!(!is_let_in(&origins, origin, host), "{origin} at {host}");
        }
        for (origin, host) in [
            ("https://robot.example", "robot.example"),
            ("http://Robot.example:8080", "robot.example:7448"),
            ("http://localhost:5173", "127.0.0.1:7448"),
            ("http://127.0.0.1:8000", "[::1]:7448"),
            ("app://[2001:db8::1]:80", "[2001:db8::1]:7448"),
        ] {
            assert!(is_let_in(&origins, origin, host), "{origin} at {host}");
        }
        assert!(origins.problem_with(&request(&[("Host", "a")])).is_none());
        let twice = [
            ("Host", "a.example"),
            ("Origin", "http://a.example"),
            ("Origin", "http://b.example"),
        ];
        assert!(origins.problem_with(&request(&twice)).is_some());
    }

    #[test]
    fn a_page_that_has_its_name_lead_here_is_refused_without_encryption() {
        let origins = Origins::of(None, false);
        for host in ["evil.example", "Evil.example.", "127.0.0.1.evil.example"] {
            let origin = format!("app://{host}");
            assert!(
                !is_let_in(&origins, &origin, &format!("{host}:7448")),
                "{host}"
            );
        }
        for host in [
            "192.0.2.7",
            "[2001:db8::1]",
            "robot",
            "robot.local",
            "a.b.internal",
        ] {
            let origin = format!("app://{host}:8080");
            assert!(
                is_let_in(&origins, &origin, &format!("{host}:7448")),
                "{host}"
            );
        }
    }

    #[test]
    fn a_list_says_which_and_a_star_says_all() {
        let origins = Origins::of(Some(vec!["https://fleet.example".to_owned()]), false);
        assert!(is_let_in(
            &origins,
            "https://fleet.example",
            "10.0.0.1:7448"
        ));
        for other in [
            "http://fleet.example",
            "https://fleet.example:444",
            "app://10.0.0.1",
        ] {
            assert!(!is_let_in(&origins, other, "10.0.0.1:7448"), "{other}");
        }
        let all = Origins::of(Some(vec!["*".to_owned()]), false);
        assert!(is_let_in(&all, "http://evil.example", "127.0.0.1:7448"));
        let none = Origins::of(Some(Vec::new()), false);
        assert!(!is_let_in(&none, "http://localhost", "localhost"));
    }
}
