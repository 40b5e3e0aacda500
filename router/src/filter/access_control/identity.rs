// SPDX-License-Identifier: MIT OR Apache-2.0

//! A neighbour as subjects of access control name it, and the combinations of a subject's items
//! that fit it.

use zonda_codec::ZenohId;

use crate::{config::AccessSubject, filter::contract::Subject};

/// Properties of a neighbour and its links that subjects may name.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Identity<'f> {
    /// Its id; `None` for a group, which has none.
    pub(super) zid: Option<ZenohId>,
    /// The user that it has proved to be.
    pub(super) user: Option<&'f str>,
    /// The common names in its certificate.
    pub(super) cert_names: &'f [String],
    /// The interfaces that its links use.
    pub(super) interfaces: &'f [String],
    /// The protocols of its links.
    pub(super) protocols: &'f [String],
}

impl<'f> Identity<'f> {
    pub(super) fn of(subject: &'f Subject<'_>) -> Identity<'f> {
        let options = &subject.peer.options;
        let certificate = options.certificate();
        Identity {
            zid: Some(subject.peer.zid),
            user: options.user(),
            cert_names: certificate.map_or(&[], |names| &names.common_names),
            ..Identity::of_group(subject)
        }
    }

    /// Returns what is known of a group.
    pub(super) fn of_group(subject: &'f Subject<'_>) -> Identity<'f> {
        Identity {
            interfaces: &subject.interfaces,
            protocols: &subject.protocols,
            ..Identity::default()
        }
    }
}

/// One item of each list of a subject; `None` for an absent list. Subjects that have the same
/// combination share their rules there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Combination<'f> {
    interface: Option<&'f str>,
    cert_name: Option<&'f str>,
    user: Option<&'f str>,
    protocol: Option<&'f str>,
    zid: Option<ZenohId>,
}

/// Returns the combinations of a subject that fit a neighbour; none if one of its lists has no item
/// that does.
pub(super) fn fitting<'f>(subject: &AccessSubject, who: &Identity<'f>) -> Vec<Combination<'f>> {
    // the lists with one possible value first: most subjects end here
    let zids = match (subject.zids(), who.zid) {
        (None, _) => None,
        (Some(listed), Some(own)) if listed.contains(&own) => Some(own),
        (Some(_), _) => return Vec::new(),
    };
    let users = match (subject.usernames(), who.user) {
        (None, _) => None,
        (Some(listed), Some(own)) if listed.iter().any(|name| name == own) => Some(own),
        (Some(_), _) => return Vec::new(),
    };
    let interfaces = common(subject.interfaces(), who.interfaces);
    let cert_names = common(subject.cert_common_names(), who.cert_names);
    let protocols = common(subject.link_protocols(), who.protocols);
    // each of these with each of those
    let mut all = Vec::new();
    for &interface in &interfaces {
        for &cert_name in &cert_names {
            all.extend(protocols.iter().map(|&protocol| Combination {
                interface,
                cert_name,
                user: users,
                protocol,
                zid: zids,
            }));
        }
    }
    all
}

/// Returns the items that are in both lists, each once; one `None` if the subject has no list.
fn common<'f>(listed: Option<&[String]>, own: &'f [String]) -> Vec<Option<&'f str>> {
    let Some(listed) = listed else {
        return vec![None];
    };
    let both = own.iter().filter(|name| listed.contains(name));
    let mut both: Vec<_> = both.map(|name| Some(name.as_str())).collect();
    both.sort_unstable();
    both.dedup();
    both
}
