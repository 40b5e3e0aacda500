// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of a link beyond the plain protocol: the ones that a node agrees to ([`LocalOptions`])
//! and the ones that both sides agreed on ([`LinkOptions`]). The default of both is none.

use std::sync::Arc;

use zonda_codec::{QosLink, Reliability};

use super::auth::{Credentials, UserIds, Users};
use super::certificate::CertificateNames;
use super::multilink::{NodeKey, PeerKey};
use super::shared::{SharedLink, SharedMemory};

/// Options that a node agrees to on its links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalOptions {
    /// Credentials for acceptors that ask for a user. Default: none.
    pub credentials: Option<Credentials>,
    /// Users that this node admits; all peers where there is no list. Default: no list.
    pub users: Option<Users>,
    /// Ids with which users may connect. Default: any.
    pub user_ids: UserIds,
    /// True if compressed batches are offered and agreed to. Default: no.
    pub compression: bool,
    /// True if bare messages are offered and agreed to; not together with priorities. Default: no.
    pub low_latency: bool,
    /// Key that proves that further links come from this node; without it, one link to each node.
    /// Default: none.
    pub multilink: Option<NodeKey>,
    /// Name of the region that this node is in, which it tells its peers. Default: none.
    pub region_name: Option<Arc<str>>,
    /// Memory that the node shares with other nodes of its host. Default: none.
    pub shared: Option<SharedMemory>,
}

/// Options that the two sides of a link agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Set if batches may be compressed.
    pub compression: bool,
    /// Set for bare messages: no priorities, no fragments.
    pub low_latency: bool,
    /// Priorities and reliability that the link is for, as far as its ends have agreed on any. A
    /// peer may choose among several links by them.
    pub qos_link: Option<QosLink>,
    /// Set if both ends share memory.
    pub(crate) shared: Option<SharedLink>,
    /// Proven facts about the peer. Few links have any, and each step of a handshake copies the
    /// options.
    pub(crate) proven: Option<Arc<Proven>>,
}

/// Facts that one side has proved to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    user: Option<Arc<str>>,
    multilink: Option<PeerKey>,
    certificate: Option<CertificateNames>,
}

/// Head in front of the messages on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Framing {
    /// Batches with a length of 16 bits.
    #[default]
    Plain = 2,
    /// Batches that may be compressed, with a length of 16 bits and a byte of flags.
    Compressed = 3,
    /// Single messages, each with a length of 32 bits.
    Bare = 0,
}

impl Framing {
    /// Returns true if messages are bare.
    pub(crate) fn is_bare(self) -> bool {
        self == Framing::Bare
    }

    /// Returns the bytes in front of the first message of a batch; a bare message has its own
    /// length.
    #[inline]
    pub(crate) fn prefix_bytes(self) -> usize {
        usize::from(self as u8)
    }
}

impl LinkOptions {
    /// Returns the options with the proven facts.
    pub(crate) fn proving(self, user: Option<Arc<str>>, multilink: Option<PeerKey>) -> Self {
        let proven = Proven {
            user,
            multilink,
            certificate: None,
        };
        let is_any = proven != Proven::default();
        LinkOptions {
            proven: is_any.then(|| Arc::new(proven)),
            ..self
        }
    }

    /// Adds the names in the peer's certificate, if it has shown one.
    pub(super) fn certify(&mut self, names: Option<Box<CertificateNames>>) {
        if let Some(names) = names {
            let proven = self.proven.as_deref().cloned().unwrap_or_default();
            self.proven = Some(Arc::new(Proven {
                certificate: Some(*names),
                ..proven
            }));
        }
    }

    /// Returns the options of another link of the same connection, with its own priorities and
    /// reliability.
    #[must_use]
    pub fn of_link(&self, qos_link: Option<QosLink>) -> LinkOptions {
        LinkOptions {
            qos_link,
            ..self.clone()
        }
    }

    /// Returns the first and the last priority that the link is for; `None` for all.
    #[must_use]
    pub fn priorities(&self) -> Option<(u8, u8)> {
        self.qos_link?.priorities()
    }

    /// Returns the reliability that the ends have agreed on, if they have.
    #[must_use]
    pub fn reliability(&self) -> Option<Reliability> {
        self.qos_link?.reliability()
    }

    /// Returns true if two links have the same options and the same owner. Certificates may differ:
    /// one of the links may have none.
    #[must_use]
    pub fn are_alike(&self, other: &LinkOptions) -> bool {
        (self.compression, self.low_latency) == (other.compression, other.low_latency)
            && (self.user(), self.multilink()) == (other.user(), other.multilink())
    }

    /// Returns the names in the peer's certificate; `None` on a link without TLS, and where the
    /// listener requires no certificate.
    #[must_use]
    pub fn certificate(&self) -> Option<&CertificateNames> {
        self.proven.as_ref()?.certificate.as_ref()
    }

    /// Returns the user that the opener has proved; `None` where the acceptor did not ask.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.proven.as_ref()?.user.as_deref()
    }

    /// Returns the peer's key, where there may be several links to it.
    #[must_use]
    pub fn multilink(&self) -> Option<&PeerKey> {
        self.proven.as_ref()?.multilink.as_ref()
    }

    /// Returns true if both ends share memory.
    #[must_use]
    pub fn is_shm(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns the options as words; empty for a plain link.
    ///
    /// ```
    /// use zonda_transport::protocol::options::LinkOptions;
    ///
    /// let mut options = LinkOptions::default();
    /// options.compression = true;
    /// assert_eq!(options.names(), ["compression"]);
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let user = self.user().map(|user| format!("user {user}"));
        let named = [
            (self.compression, "compression"),
            (self.low_latency, "lowlatency"),
            (self.multilink().is_some(), "multilink"),
        ];
        let named = named.iter().filter(|(is_set, _)| *is_set);
        user.into_iter()
            .chain(named.map(|(_, name)| (*name).to_owned()))
            .collect()
    }

    /// Returns the framing of messages: where both are agreed on, bare messages win over
    /// compression.
    #[must_use]
    pub fn framing(&self) -> Framing {
        match self {
            _ if self.low_latency => Framing::Bare,
            _ if self.compression => Framing::Compressed,
            _ => Framing::Plain,
        }
    }
}
