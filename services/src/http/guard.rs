// SPDX-License-Identifier: MIT OR Apache-2.0

//! The check of each request before it is answered: its `Host`, its `Origin`, its credentials.

use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};

use axum::http::header::{HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::client::Client;
use super::credentials::Credentials;

/// Stands for every name, or every origin.
const ANY: &str = "*";

/// Methods that pages of other origins may use.
const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Headers that pages of other origins may set.
const HEADERS: [HeaderName; 5] = [
    HeaderName::from_static("accept"),
    HeaderName::from_static("authorization"),
    HeaderName::from_static("cache-control"),
    HeaderName::from_static("content-type"),
    HeaderName::from_static("last-event-id"),
];

/// Rules for the requests that a server answers.
#[derive(Debug, Default)]
pub struct Guard {
    /// Names by which clients may reach the server, in lower case; `*` is any.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the server, in lower case; `*` is any.
    pub origins: Vec<String>,
    /// True if the server's own page may publish. A browser sends its requests for every user of the
    /// machine, so this takes credentials, or a server that its configuration opens.
    pub own_page_publishes: bool,
    /// Credentials of which a client has to give one; `None` admits every client.
    pub credentials: Option<RwLock<Credentials>>,
    /// A client that has not proved who it is.
    pub stranger: Client,
    /// Paths that need no credentials.
    pub public: &'static [&'static str],
}

impl Guard {
    /// Returns the client of a request.
    ///
    /// # Errors
    /// The answer to a request that is refused.
    #[allow(clippy::result_large_err, reason = "the answer is sent at once")]
    pub(super) fn admit(&self, request: &RequestHead<'_>) -> Result<Client, Response> {
        let &RequestHead { uri, headers, .. } = request;
        if !self.knows_host(request) {
            let text =
                "this name is not known here: use an address, or list it in services/NAME/hosts\n";
            return Err((StatusCode::FORBIDDEN, text).into_response());
        }
        let refusal = match self.source_of(request) {
            Source::OtherPage => Some(
                "pages of this origin may not use this server: list it in services/http/cors/origins\n",
            ),
            Source::OwnPage if !self.own_page_publishes && request.may_publish() => Some(
                "the page publishes nothing without credentials: set services/http/auth, or services/http/open\n",
            ),
            Source::OwnPage | Source::Admitted => None,
        };
        if let Some(text) = refusal {
            return Err((StatusCode::FORBIDDEN, text).into_response());
        }
        let Some(credentials) = &self.credentials else {
            return Ok(self.stranger.clone());
        };
        let credentials = credentials.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = credentials.admit(headers) {
            return Ok(client);
        }
        let is_free = self.public.contains(&uri.path()) || request.method == Method::OPTIONS;
        if is_free {
            return Ok(self.stranger.clone());
        }
        let scheme = [(WWW_AUTHENTICATE, "Basic realm=\"zonda\", charset=\"UTF-8\"")];
        Err((StatusCode::UNAUTHORIZED, scheme, "credentials are needed\n").into_response())
    }

    /// Takes over other credentials, if it has some.
    pub(super) fn replace(&self, credentials: Credentials) {
        if let Some(place) = &self.credentials {
            *place.write().unwrap_or_else(PoisonError::into_inner) = credentials;
        }
    }

    /// Returns the layer that tells browsers which pages may use the server.
    pub(super) fn cors(&self) -> Option<CorsLayer> {
        let origins: Vec<HeaderValue> = self.origins.iter().flat_map(|o| o.parse()).collect();
        let layer = match (origins.is_empty(), self.origins.iter().any(|o| o == ANY)) {
            (true, _) => return None,
            // The credentials of a browser are for origins that are listed.
            (false, true) => CorsLayer::new().allow_origin(AllowOrigin::any()),
            (false, false) => CorsLayer::new()
                .allow_origin(AllowOrigin::list(origins))
                .allow_credentials(true),
        };
        let layer = layer.allow_headers(AllowHeaders::list(HEADERS));
        Some(layer.allow_methods(METHODS))
    }

    /// Returns true if the host of the request, and that of an absolute URI, is an address,
    /// `localhost` or a name that is known.
    fn knows_host(&self, request: &RequestHead<'_>) -> bool {
        let absolute = request.uri.authority().map(|authority| authority.as_str());
        let is_known = |host: &str| is_known_host(host, &self.hosts);
        request.host().is_some_and(is_known) && absolute.is_none_or(is_known)
    }

    /// Returns the source of a request, as its `Origin` has it.
    fn source_of(&self, request: &RequestHead<'_>) -> Source {
        let Some(origin) = request.headers.get(ORIGIN) else {
            return Source::Admitted;
        };
        let Ok(origin) = origin.to_str().map(str::to_ascii_lowercase) else {
            return Source::OtherPage;
        };
        let host = request.host();
        let own = origin.split_once("://").map(|(_, own)| own);
        let is_own = host.is_some() && own == host.map(str::to_ascii_lowercase).as_deref();
        let is_listed = |known: &String| *known == origin || known == ANY;
        match self.origins.iter().any(is_listed) {
            true => Source::Admitted,
            false if is_own => Source::OwnPage,
            false => Source::OtherPage,
        }
    }
}

/// Source of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A program, or a page whose origin is listed.
    Admitted,
    /// A page that this server sent.
    OwnPage,
    OtherPage,
}

/// The parts of a request that are checked.
pub(super) struct RequestHead<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    pub version: Version,
}

impl<'a> RequestHead<'a> {
    /// Returns true if the request may change something: a query with a body may, too.
    fn may_publish(&self) -> bool {
        ![Method::GET, Method::HEAD, Method::OPTIONS].contains(self.method)
    }

    /// Returns the host that the client names: in one `Host`, over HTTP/2 in the URI.
    fn host(&self) -> Option<&'a str> {
        let mut all = self.headers.get_all(HOST).iter();
        let (first, second) = (all.next(), all.next());
        let host = first.and_then(|host| host.to_str().ok());
        let authority = self.uri.authority().map(|authority| authority.as_str());
        match (first, second) {
            (None, _) if self.version == Version::HTTP_2 => authority,
            (Some(_), None) if self.version == Version::HTTP_2 => {
                host.filter(|_| authority.is_none_or(|authority| host == Some(authority)))
            }
            (Some(_), None) => host,
            _ => None,
        }
    }
}

fn is_known_host(host: &str, hosts: &[String]) -> bool {
    if hosts.iter().any(|known| known == ANY) {
        return true;
    }
    // The port is not looked at: it may be that of a tunnel.
    let (name, is_bracketed) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, _)) => (address, true),
            None => return false,
        },
        None => (host.split_once(':').map_or(host, |(name, _)| name), false),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_ipv6() == is_bracketed,
        Err(_) => !is_bracketed && (name == "localhost" || hosts.contains(&name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(name, value.parse().expect("a header"));
        }
        headers
    }

    fn guard(hosts: &[&str], origins: &[&str]) -> Guard {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Guard {
            hosts: texts(hosts),
            origins: texts(origins),
            ..Guard::default()
        }
    }

    #[test]
    fn names_from_elsewhere_are_refused() {
        let guard = guard(&["router.example"], &[]);
        let known = |uri: &str, values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| (HOST, *value)).collect();
            guard.knows_host(&RequestHead {
                method: &Method::GET,
                uri: &uri.parse().expect("a URI"),
                headers: &headers(&values),
                version: Version::HTTP_11,
            })
        };
        for host in [
            "127.0.0.1",
            "127.0.0.1:9090",
            "[::1]:9090",
            "LocalHost:1",
            "localhost.",
            "Router.example:80",
        ] {
            assert!(known("/", &[host]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "[localhost]",
            "[::1",
            "::1",
            "",
        ] {
            assert!(!known("/", &[host]), "{host}");
        }
        assert!(!known("/", &[]) && !known("/", &["localhost", "localhost"]));
        assert!(!known("http://evil.example/", &["localhost"]));
        assert!(super::is_known_host("evil.example", &["*".to_owned()]));
    }

    #[test]
    fn over_http_2_the_host_is_that_of_the_uri() {
        let host = |uri: &str, values: &[&str]| {
            let values: Vec<_> = values.iter().map(|value| (HOST, *value)).collect();
            let (uri, headers) = (uri.parse().expect("a URI"), headers(&values));
            let version = Version::HTTP_2;
            let method = &Method::GET;
            let head = RequestHead {
                method,
                uri: &uri,
                headers: &headers,
                version,
            };
            head.host().map(str::to_owned)
        };
        assert_eq!(
            host("http://localhost:1/", &[]),
            Some("localhost:1".to_owned())
        );
        assert_eq!(
            host("http://localhost/", &["localhost"]),
            Some("localhost".to_owned())
        );
        assert_eq!(host("/", &["a"]), Some("a".to_owned()));
        assert_eq!(host("/", &[]), None);
        assert_eq!(host("http://localhost/", &["b"]), None);
        assert_eq!(host("http://localhost/", &["localhost", "localhost"]), None);
    }

    #[test]
    fn pages_from_elsewhere_are_refused_unless_their_origin_is_listed() {
        let from = |guard: &Guard, values: &[(HeaderName, &str)]| {
            let source = guard.source_of(&RequestHead {
                method: &Method::GET,
                uri: &Uri::default(),
                headers: &headers(values),
                version: Version::HTTP_11,
            });
            source != Source::OtherPage
        };
        let allows = |guard: &Guard, origin: &str| {
            from(guard, &[(HOST, "router.example:8000"), (ORIGIN, origin)])
        };
        let own = guard(&[], &[]);
        assert!(
            allows(&own, "http://router.example:8000")
                && allows(&own, "http://Router.EXAMPLE:8000")
        );
        assert!(!allows(&own, "http://router.example:9000") && !allows(&own, "null"));
        let listed = guard(&[], &["https://app.example"]);
        assert!(allows(&listed, "https://app.example"));
        assert!(!allows(&listed, "https://app.example.evil.example") && !allows(&listed, "null"));
        assert!(allows(&guard(&[], &["*"]), "null"));
        assert!(from(&own, &[]));
    }
}
