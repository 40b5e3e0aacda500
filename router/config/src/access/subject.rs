// SPDX-License-Identifier: MIT OR Apache-2.0

//! One subject of `access_control/subjects`: neighbours, by what is known of them and their links.

use zonda_codec::ZenohId;

use crate::{
    rule::{SUBJECT, id as zid, members, named, text},
    value::Value,
};

use super::{list, name};

/// Protocols that a link may have, by the reference's names, and those of this project.
const PROTOCOLS: [&str; 12] = [
    "tcp",
    "udp",
    "tls",
    "quic",
    "serial",
    "unixpipe",
    "unixsock-stream",
    "vsock",
    "ws",
    "wss",
    // those of the clients of a service
    "http",
    "https",
];

/// A subject. A list that is `None` is about any neighbour; of a list, one item suffices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSubject {
    id: String,
    interfaces: Option<Vec<String>>,
    cert_common_names: Option<Vec<String>>,
    usernames: Option<Vec<String>>,
    link_protocols: Option<Vec<String>>,
    zids: Option<Vec<ZenohId>>,
}

impl AccessSubject {
    /// Its name, unique among the subjects.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Interfaces of this machine that links use.
    #[must_use]
    pub fn interfaces(&self) -> Option<&[String]> {
        self.interfaces.as_deref()
    }

    /// Common names in certificates.
    #[must_use]
    pub fn cert_common_names(&self) -> Option<&[String]> {
        self.cert_common_names.as_deref()
    }

    /// Users that neighbours have proved to be.
    #[must_use]
    pub fn usernames(&self) -> Option<&[String]> {
        self.usernames.as_deref()
    }

    /// Protocols of links.
    #[must_use]
    pub fn link_protocols(&self) -> Option<&[String]> {
        self.link_protocols.as_deref()
    }

    /// Ids of neighbours.
    #[must_use]
    pub fn zids(&self) -> Option<&[ZenohId]> {
        self.zids.as_deref()
    }
}

/// Reads the subjects of a value; `None` if it is null.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn subjects(value: &Value) -> Result<Option<Vec<AccessSubject>>, String> {
    list(SUBJECT, value, subject, |subject| Some(&subject.id))
}

fn subject(value: &Value) -> Result<AccessSubject, String> {
    let mut subject = AccessSubject {
        id: String::new(),
        interfaces: None,
        cert_common_names: None,
        usernames: None,
        link_protocols: None,
        zids: None,
    };
    for (part, member) in members("", value)? {
        let value = &member.value;
        match part {
            "id" => subject.id = name(text(part, member)?)?,
            "interfaces" => subject.interfaces = Some(named(part, value, name)?),
            "cert_common_names" => subject.cert_common_names = Some(named(part, value, name)?),
            "usernames" => subject.usernames = Some(named(part, value, name)?),
            "link_protocols" => subject.link_protocols = Some(named(part, value, protocol)?),
            "zids" => subject.zids = Some(named(part, value, zid)?),
            other => {
                return Err(format!(
                    "{other:?} is none of id, interfaces, cert_common_names, usernames, \
                     link_protocols, zids"
                ));
            }
        }
    }
    match subject.id.is_empty() {
        true => Err("it has no id".into()),
        false => Ok(subject),
    }
}

/// Reads the name of a protocol.
fn protocol(text: &str) -> Result<String, String> {
    match PROTOCOLS.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is none of {}", PROTOCOLS.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Option<Vec<AccessSubject>>, String> {
        subjects(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_subject_has_the_lists_that_it_says() {
        let subjects = read(
            "[{id: 'all'}, {id: 'some', interfaces: ['lo'], cert_common_names: ['r7'],
               usernames: ['u1', 'u2'], link_protocols: ['tls'], zids: ['a1']}]",
        )
        .expect("they are subjects")
        .expect("a list");
        let [all, some] = &subjects[..] else {
            panic!("two subjects")
        };
        assert_eq!((all.interfaces(), all.usernames()), (None, None));
        assert_eq!((all.link_protocols(), all.zids()), (None, None));
        let (users, names) = (some.usernames(), some.cert_common_names());
        assert_eq!(users, Some(&["u1".to_owned(), "u2".to_owned()][..]));
        assert_eq!(names, Some(&["r7".to_owned()][..]));
        assert_eq!(some.zids().map(<[_]>::len), Some(1));
    }

    #[test]
    fn each_fault_is_named() {
        for (text, said) in [
            ("7", "a list of subjects"),
            ("[{}]", "subject 1: it has no id"),
            (
                "[{id: 'x'}, {id: 'x'}]",
                "subject 2: the id \"x\" is repeated",
            ),
            (
                "[{id: 'x', user: ['u']}]",
                "\"user\" is none of id, interfaces",
            ),
            (
                "[{id: 'x', usernames: []}]",
                "usernames is not a list with at least one",
            ),
            ("[{id: 'x', interfaces: ['']}]", "an empty text"),
            (
                "[{id: 'x', link_protocols: ['sctp']}]",
                "\"sctp\" is none of tcp, udp",
            ),
            ("[{id: 'x', zids: ['nobody']}]", "\"nobody\" is no id"),
            ("[{id: 'x', zids: 'a1'}]", "zids is not a list"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
