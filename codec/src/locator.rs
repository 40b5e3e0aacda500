// SPDX-License-Identifier: MIT OR Apache-2.0
//! The addresses of nodes: `protocol/address?metadata#config`.
//!
//! Peers send each other a [`Locator`]; an [`Endpoint`] adds the options of the local side after `#`, which are
//! never sent. Both hold normalised text: keys sorted, empty entries dropped. Whether a protocol exists and what its
//! address means is decided by the transport; here only the form is checked.

mod change;

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use crate::masked::masked;

pub use change::{OptionsMut, PartMut};

/// The longest locator in bytes that the wire can carry.
pub const LOCATOR_BYTES_MAX: usize = 255;

/// A locator and the local options of its link: `tcp/[::]:7447?prio=1-3#so_sndbuf=65536`.
///
/// ```
/// use zonda_codec::Endpoint;
/// let endpoint: Endpoint = "tcp/localhost:7447?rel=1;prio=1-3#iface=lo".parse()?;
/// assert_eq!(endpoint.proto(), "tcp");
/// assert_eq!(endpoint.address(), "localhost:7447");
/// assert_eq!(endpoint.metadata().get("rel"), Some("1"));
/// assert_eq!(endpoint.config().get("iface"), Some("lo"));
/// assert_eq!(endpoint.to_string(), "tcp/localhost:7447?prio=1-3;rel=1#iface=lo");
/// assert_eq!(endpoint.locator().as_str(), "tcp/localhost:7447?prio=1-3;rel=1");
/// # Ok::<(), zonda_codec::EndpointError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint(Arc<str>);

/// An address as peers exchange it: an [`Endpoint`] without local options, at most [`LOCATOR_BYTES_MAX`] bytes.
///
/// ```
/// use zonda_codec::Locator;
/// let locator: Locator = "tcp/127.0.0.1:7447".parse()?;
/// assert_eq!(locator, Locator::new("tcp", "127.0.0.1:7447")?);
/// assert_eq!(
///     "127.0.0.1:7447".parse::<Locator>().unwrap_err().to_string(),
///     "endpoint \"127.0.0.1:7447\" names no protocol: write protocol/address, such as tcp/127.0.0.1:7447",
/// );
/// # Ok::<(), zonda_codec::EndpointError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(Arc<str>);

/// A fault in the text of an endpoint or a locator. `text` is the whole text, quoted and shortened when long.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The text has no `/`, or nothing before it.
    #[error(
        "endpoint {text} names no protocol: write protocol/address, such as tcp/127.0.0.1:7447"
    )]
    NoProtocol {
        /// The quoted text.
        text: Box<str>,
    },
    /// The protocol's name holds a character other than letters, digits, `-`, `_`, `.` and `+`.
    #[error(
        "endpoint {text} has {found:?} in its protocol at byte {at}: write protocol/address without `://`, such as tcp/127.0.0.1:7447"
    )]
    BadProtocol {
        /// The quoted text.
        text: Box<str>,
        /// Offset of the character in bytes.
        at: usize,
        /// The character found.
        found: char,
    },
    /// The text has nothing between `/` and `?`, `#` or the end.
    #[error(
        "endpoint {text} has no address at byte {at}: write protocol/address, such as tcp/127.0.0.1:7447"
    )]
    NoAddress {
        /// The quoted text.
        text: Box<str>,
        /// The place at which the address should start.
        at: usize,
    },
    /// Nothing follows `?` or `#`.
    #[error(
        "endpoint {text} has nothing after `{mark}`: add key=value there, or remove the `{mark}`"
    )]
    NoParameters {
        /// The quoted text.
        text: Box<str>,
        /// `?` for metadata, `#` for configuration.
        mark: char,
    },
    /// A value without its key, such as `?=1`.
    #[error("endpoint {text} has `{entry}` after `{mark}`, a value without a key: write key=value")]
    NoKey {
        /// The quoted text.
        text: Box<str>,
        /// `?` for metadata, `#` for configuration.
        mark: char,
        /// The entry at fault, escaped and shortened.
        entry: Box<str>,
    },
    /// A `?` after the `#`, and none before it.
    #[error(
        "endpoint {text} has `?` after `#`: metadata goes before the configuration, as in tcp/host:7447?rel=1#iface=lo"
    )]
    MetadataAfterConfig {
        /// The quoted text.
        text: Box<str>,
    },
    /// The part that is sent to peers is too long for the wire.
    #[error(
        "endpoint {text} is {length} bytes before any `#`, more than {LOCATOR_BYTES_MAX}: shorten its address or metadata"
    )]
    TooLong {
        /// The quoted text.
        text: Box<str>,
        /// The length found in bytes.
        length: usize,
    },
    /// A text that would extend into another part of the endpoint. `text` is the text, quoted.
    #[error("{text} cannot be a part of an endpoint: leave out `;`, `?`, `#` and, in keys, `=`")]
    NotAPart {
        /// The quoted text.
        text: Box<str>,
    },
    /// A locator with a `#`.
    #[error("locator {text} has a `#` part: local options belong to an endpoint, remove them here")]
    ConfigInLocator {
        /// The quoted text.
        text: Box<str>,
    },
}

crate::debug_as_text!(EndpointError);

impl Endpoint {
    /// Returns the normalised text.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates an endpoint of its parts; metadata and local options may be empty.
    ///
    /// # Errors
    /// The parts do not make an endpoint.
    ///
    /// ```
    /// use zonda_codec::Endpoint;
    /// let endpoint = Endpoint::new("tcp", "localhost:7447", "", "iface=lo")?;
    /// assert_eq!(endpoint.to_string(), "tcp/localhost:7447#iface=lo");
    /// # Ok::<(), zonda_codec::EndpointError>(())
    /// ```
    pub fn new(
        protocol: impl AsRef<str>,
        address: impl AsRef<str>,
        metadata: impl AsRef<str>,
        config: impl AsRef<str>,
    ) -> Result<Self, EndpointError> {
        let mut text = format!("{}/{}", protocol.as_ref(), address.as_ref());
        for (mark, options) in [('?', metadata.as_ref()), ('#', config.as_ref())] {
            if !options.is_empty() {
                text.push(mark);
                text.push_str(options);
            }
        }
        text.parse()
    }

    /// Returns the protocol, such as `tcp`.
    pub fn proto(&self) -> &str {
        Parts::of(&self.0).protocol
    }

    /// Returns the protocol, such as `tcp`, by the reference's name.
    pub fn protocol(&self) -> Part<'_> {
        Part(Parts::of(&self.0).protocol)
    }

    /// Returns the address in the protocol's own form, such as `127.0.0.1:7447`; never empty.
    pub fn address(&self) -> Part<'_> {
        Part(Parts::of(&self.0).address)
    }

    /// Returns the metadata, which is sent to peers.
    pub fn metadata(&self) -> Options<'_> {
        Options(Parts::of(&self.0).metadata.unwrap_or(""))
    }

    /// Returns the options of the local side.
    pub fn config(&self) -> Options<'_> {
        Options(Parts::of(&self.0).config.unwrap_or(""))
    }

    /// Returns protocol, address, metadata and local options.
    pub fn split(&self) -> (Part<'_>, Part<'_>, Options<'_>, Options<'_>) {
        (
            self.protocol(),
            self.address(),
            self.metadata(),
            self.config(),
        )
    }

    /// Calls [`locator`](Self::locator), by the reference's name.
    pub fn to_locator(&self) -> Locator {
        self.locator()
    }

    /// Returns the part of this endpoint that peers may know: everything before `#`.
    pub fn locator(&self) -> Locator {
        match self.0.split_once('#') {
            None => Locator(self.0.clone()),
            Some((locator, _)) => Locator(locator.into()),
        }
    }

    /// Returns this endpoint with another address, such as the one a listener was really bound to.
    ///
    /// # Errors
    /// The result is not a valid endpoint.
    pub fn with_address(&self, address: &str) -> Result<Self, EndpointError> {
        let parts = Parts {
            address,
            ..Parts::of(&self.0)
        };
        parts.assemble().parse()
    }
}

impl Locator {
    /// Creates a locator without metadata.
    ///
    /// # Errors
    /// The parts do not make a locator.
    pub fn new(proto: &str, address: &str) -> Result<Self, EndpointError> {
        format!("{proto}/{address}").parse()
    }

    /// Returns the normalised text, as it is in messages.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the protocol, such as `tcp`.
    pub fn proto(&self) -> &str {
        Parts::of(&self.0).protocol
    }

    /// Returns the protocol, such as `tcp`, by the reference's name.
    pub fn protocol(&self) -> Part<'_> {
        Part(Parts::of(&self.0).protocol)
    }

    /// Returns the address in the protocol's own form, such as `127.0.0.1:7447`; never empty.
    pub fn address(&self) -> Part<'_> {
        Part(Parts::of(&self.0).address)
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> Options<'_> {
        Options(Parts::of(&self.0).metadata.unwrap_or(""))
    }

    /// Returns it as an endpoint, without local options.
    pub fn to_endpoint(&self) -> Endpoint {
        Endpoint(self.0.clone())
    }
}

/// The protocol or the address of an endpoint: a text, to which it dereferences.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part<'a>(&'a str);

impl<'a> Part<'a> {
    /// Returns the text.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }
}

impl Deref for Part<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl AsRef<str> for Part<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl PartialEq<str> for Part<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Part<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The metadata or the local options of an endpoint: `key=value` joined by `;`, sorted by key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options<'a>(&'a str);

impl<'a> Options<'a> {
    /// Returns the text.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// Returns true if there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a key; empty for a key without `=`. Lists are joined by `|`. The first
    /// of equal keys counts.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.iter()
            .find_map(|(found, value)| (found == key).then_some(value))
    }

    /// Returns the values of the list that a key has.
    pub fn values(&self, key: &str) -> impl DoubleEndedIterator<Item = &'a str> {
        let list = self.get(key).unwrap_or("").split('|');
        list.filter(|value| !value.is_empty())
    }

    /// Returns all keys with their values.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&'a str, &'a str)> + Clone {
        pairs(self.0)
    }
}

impl AsRef<str> for Options<'_> {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// Formats for people: without the private keys in it.
impl fmt::Display for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(self.0))
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let parts = Parts::of(text);
        parts.check(text)?;
        let assembled = parts.assemble();
        let length = assembled.split('#').next().map_or(0, str::len);
        if length > LOCATOR_BYTES_MAX {
            return Err(EndpointError::TooLong {
                text: quoted(text),
                length,
            });
        }
        Ok(Self(assembled.into()))
    }
}

impl FromStr for Locator {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if text.contains('#') {
            return Err(EndpointError::ConfigInLocator { text: quoted(text) });
        }
        text.parse().map(|Endpoint(text)| Self(text))
    }
}

/// Returns true if `text` may stand for a locator in a received message. Allocates nothing.
///
/// The rule is the reference's own, which a message must keep to be understood at all: normalised
/// text of the form `protocol/address?metadata`. It is a little wider than [`Locator`], which also
/// wants a plain protocol name and an address; a locator that only this rule accepts cannot be
/// dialled, but is no reason to drop the peer that passed it on.
///
/// ```
/// use zonda_codec::locator::is_wire_locator;
/// assert!(is_wire_locator("tcp/127.0.0.1:7447?prio=1-3;rel=1"));
/// assert!(!is_wire_locator("tcp/127.0.0.1:7447?rel=1;prio=1-3"));
/// assert!(!is_wire_locator("tcp/127.0.0.1:7447#iface=lo"));
/// ```
pub fn is_wire_locator(text: &str) -> bool {
    let (place, metadata) = split_mark(text, '?');
    let Some((protocol, address)) = place.split_once('/') else {
        return false;
    };
    if protocol.is_empty() || text.contains('#') || (address.is_empty() && metadata.is_none()) {
        return false;
    }
    let mut previous = "";
    metadata.is_none_or(|metadata| {
        metadata.split(';').all(|entry| {
            let (key, value) = split_mark(entry, '=');
            let sorted = previous <= key;
            previous = key;
            sorted && !key.is_empty() && value != Some("")
        })
    })
}

/// The text divided at its marks. A part that is present but empty is `Some("")`.
#[derive(Clone, Copy)]
struct Parts<'a> {
    protocol: &'a str,
    address: &'a str,
    metadata: Option<&'a str>,
    config: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let (locator, config) = split_mark(text, '#');
        let (place, metadata) = split_mark(locator, '?');
        let (protocol, address) = place.split_once('/').unwrap_or(("", place));
        Self {
            protocol,
            address,
            metadata,
            config,
        }
    }

    fn check(&self, text: &str) -> Result<(), EndpointError> {
        // The protocol, of allowed characters.
        if self.protocol.is_empty() {
            return Err(EndpointError::NoProtocol { text: quoted(text) });
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        if let Some((at, found)) = self.protocol.char_indices().find(|(_, c)| !allowed(*c)) {
            return Err(EndpointError::BadProtocol {
                text: quoted(text),
                at,
                found,
            });
        }
        // The address.
        if self.address.is_empty() {
            return Err(EndpointError::NoAddress {
                text: quoted(text),
                at: self.protocol.len() + 1,
            });
        }
        // The order of metadata and configuration.
        let misplaced = self.metadata.is_none() && self.config.is_some_and(|c| c.contains('?'));
        if misplaced {
            return Err(EndpointError::MetadataAfterConfig { text: quoted(text) });
        }
        // Their entries: at least one behind a mark, and none without a key.
        for (mark, parameters) in [('?', self.metadata), ('#', self.config)] {
            let Some(parameters) = parameters else {
                continue;
            };
            if pairs(parameters).next().is_none() {
                return Err(EndpointError::NoParameters {
                    text: quoted(text),
                    mark,
                });
            }
            if let Some((_, value)) = pairs(parameters).find(|(key, _)| key.is_empty()) {
                let entry = shortened(&format!("={value}"), 32)
                    .escape_debug()
                    .to_string()
                    .into();
                return Err(EndpointError::NoKey {
                    text: quoted(text),
                    mark,
                    entry,
                });
            }
        }
        Ok(())
    }

    fn assemble(&self) -> String {
        let mut text = format!("{}/{}", self.protocol, self.address);
        for (mark, parameters) in [('?', self.metadata), ('#', self.config)] {
            let Some(parameters) = parameters else {
                continue;
            };
            let mut sorted: Vec<_> = pairs(parameters).collect();
            sorted.sort_by_key(|(key, _)| *key);
            let mut separator = mark;
            for (key, value) in sorted {
                text.push(separator);
                text.push_str(key);
                if !value.is_empty() {
                    text.push('=');
                    text.push_str(value);
                }
                separator = ';';
            }
        }
        text
    }
}

fn split_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Returns the `key=value` entries of metadata or configuration, without the empty ones.
fn pairs(parameters: &str) -> impl DoubleEndedIterator<Item = (&str, &str)> + Clone {
    let entries = parameters.split(';').filter(|entry| !entry.is_empty());
    entries.map(|entry| entry.split_once('=').unwrap_or((entry, "")))
}

/// Returns the text as errors show it: quoted, control characters escaped, shortened.
fn quoted(text: &str) -> Box<str> {
    let text = masked(text);
    let shown = shortened(&text, 96);
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{shown:?}{more}").into()
}

/// Returns at most `bytes_max` bytes from the start of the text.
fn shortened(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.split_at(end).0
}

impl From<Locator> for Endpoint {
    fn from(locator: Locator) -> Self {
        Self(locator.0)
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.as_str().to_owned()
    }
}

impl TryFrom<String> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: String) -> Result<Self, EndpointError> {
        text.parse()
    }
}

impl From<Endpoint> for Locator {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.locator()
    }
}

impl TryFrom<&str> for Endpoint {
    type Error = EndpointError;

    fn try_from(text: &str) -> Result<Self, EndpointError> {
        text.parse()
    }
}

impl TryFrom<&str> for Locator {
    type Error = EndpointError;

    fn try_from(text: &str) -> Result<Self, EndpointError> {
        text.parse()
    }
}

impl AsRef<str> for Endpoint {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Locator {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Formats for people: without the private keys in it, which [`Endpoint::as_str`] has.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Display for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes the text alone, as the reference does.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Writes the text alone, as the reference does.
impl fmt::Debug for Locator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
