// SPDX-License-Identifier: MIT OR Apache-2.0
//! Authentication of users: the name and password of a node, and the list that an acceptor checks
//! them against. This module prints no password; the steps of the handshake that prove one are in
//! `handshake/password.rs`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use zonda_codec::ZenohId;

/// Maximum length of a user name, in bytes.
pub const USER_BYTES_MAX: usize = 1024;

/// Bytes that are never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Fault of a user name or a list of users. The texts contain no password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The name is empty or too long.
    #[error("a user name of {length} bytes is outside 1..={USER_BYTES_MAX}")]
    User {
        /// Length of the name in bytes.
        length: usize,
    },
    /// The password is empty.
    #[error("the password of user {user:?} is empty")]
    EmptyPassword {
        /// Name of the user.
        user: String,
    },
    /// A line is not `user:password`.
    #[error("line {line} has no colon; write user:password")]
    Line {
        /// Number of the line, from 1.
        line: usize,
    },
    /// Two lines have the same name.
    #[error("line {line} names user {user:?} again; keep one of the two lines")]
    Again {
        /// Number of the second line, from 1.
        line: usize,
        /// Name of the user.
        user: String,
    },
    /// The list is empty, and would refuse every user.
    #[error("the file has no users; write one line user:password for each")]
    NoUsers,
}

/// User name and password, which a node sends to the acceptors it connects to.
///
/// ```
/// use zonda_transport::protocol::auth::Credentials;
///
/// let bob = Credentials::new("bob", "secret")?;
/// assert_eq!(bob.user(), "bob");
/// assert!(!format!("{bob:?}").contains("secret"));
/// # Ok::<(), zonda_transport::protocol::auth::CredentialsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    user: Arc<str>,
    password: Secret,
}

impl Credentials {
    /// Creates the credentials of `user`.
    ///
    /// # Errors
    /// The name is empty or longer than [`USER_BYTES_MAX`], or the password is empty.
    pub fn new(user: &str, password: &str) -> Result<Self, CredentialsError> {
        if !(1..=USER_BYTES_MAX).contains(&user.len()) {
            return Err(CredentialsError::User { length: user.len() });
        }
        if password.is_empty() {
            return Err(CredentialsError::EmptyPassword {
                user: user.to_owned(),
            });
        }
        Ok(Credentials {
            user: user.into(),
            password: Secret(password.as_bytes().into()),
        })
    }

    /// Returns the user name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    pub(crate) fn shared_user(&self) -> Arc<str> {
        Arc::clone(&self.user)
    }

    pub(crate) fn password(&self) -> &Secret {
        &self.password
    }
}

/// Ids with which users may connect. A user that has some connects with one of them; another user
/// connects with none of them.
///
/// ```
/// use zonda_transport::protocol::auth::UserIds;
///
/// let ids = UserIds::new([("ann".to_owned(), vec!["a1".parse()?])]);
/// assert!(ids.admit("ann", "a1".parse()?) && ids.admit("bob", "b2".parse()?));
/// assert!(!ids.admit("ann", "b2".parse()?) && !ids.admit("bob", "a1".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserIds {
    by_user: HashMap<String, Vec<ZenohId>>,
    taken: HashSet<ZenohId>,
}

impl UserIds {
    /// Creates the table from users, each with its ids.
    #[must_use]
    pub fn new(users: impl IntoIterator<Item = (String, Vec<ZenohId>)>) -> Self {
        let mut ids = UserIds::default();
        for (user, zids) in users {
            ids.taken.extend(zids.iter().copied());
            ids.by_user.entry(user).or_default().extend(zids);
        }
        ids
    }

    /// Returns true if the user may connect with this id.
    #[must_use]
    pub fn admit(&self, user: &str, zid: ZenohId) -> bool {
        match self.by_user.get(user) {
            Some(own) => own.contains(&zid),
            None => !self.taken.contains(&zid),
        }
    }
}

/// Users that an acceptor admits. Clones share the list, also after it is
/// [replaced](Users::replace).
///
/// ```
/// use zonda_transport::protocol::auth::Users;
///
/// let users: Users = "bob:secret\n\nann: with:colon \n".parse()?;
/// assert_eq!(users.len(), 2);
/// # Ok::<(), zonda_transport::protocol::auth::CredentialsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Users(Arc<Mutex<List>>);

type List = Arc<HashMap<Arc<str>, Secret>>;

impl Users {
    /// Returns the number of users, at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.list().len()
    }

    pub(crate) fn find(&self, user: &str) -> Option<(Arc<str>, Secret)> {
        let list = self.list();
        let (user, secret) = list.get_key_value(user)?;
        Some((Arc::clone(user), secret.clone()))
    }

    /// Replaces the list by that of `other`, for later handshakes. Open links stay.
    pub fn replace(&self, other: &Users) {
        let list = other.list();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = list;
    }

    fn list(&self) -> List {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PartialEq for Users {
    fn eq(&self, other: &Users) -> bool {
        self.list() == other.list()
    }
}

impl Eq for Users {}

/// Parses `user:password` lines; blanks around either and empty lines are ignored, further colons
/// belong to the password.
impl std::str::FromStr for Users {
    type Err = CredentialsError;

    fn from_str(text: &str) -> Result<Self, CredentialsError> {
        let mut users = HashMap::new();
        for (index, content) in text.lines().enumerate() {
            let (line, content) = (index + 1, content.trim());
            if content.is_empty() {
                continue;
            }
            let (user, password) = content
                .split_once(':')
                .ok_or(CredentialsError::Line { line })?;
            let Credentials { user, password } = Credentials::new(user.trim(), password.trim())?;
            if users.insert(Arc::clone(&user), password).is_some() {
                let user = user.to_string();
                return Err(CredentialsError::Again { line, user });
            }
        }
        match users.is_empty() {
            true => Err(CredentialsError::NoUsers),
            false => Ok(Users(Arc::new(Mutex::new(Arc::new(users))))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_line_by_line() {
        let users: Users = " bob : secret \r\n\n  \nann:a:b:\n"
            .parse()
            .expect("a list");
        let password = |user| Some(users.find(user)?.1.bytes().to_vec());
        assert_eq!(password("bob").as_deref(), Some(&b"secret"[..]));
        assert_eq!(password("ann").as_deref(), Some(&b"a:b:"[..]));
        assert_eq!(password("Bob"), None);
        assert_eq!(password(""), None);
        assert_eq!(users.len(), 2);
    }

    #[test]
    fn all_who_share_a_list_see_a_new_one() {
        let users: Users = "bob:secret".parse().expect("a list");
        let shared = users.clone();
        users.replace(&"ann:other\neve:third".parse().expect("a list"));
        assert!(shared.find("bob").is_none() && shared.find("ann").is_some());
        assert_eq!(shared.len(), 2);
    }

    #[test]
    fn what_cannot_be_used_is_told_without_a_password() {
        use CredentialsError::{Again, EmptyPassword, Line, NoUsers, User};
        let long = format!("{}:hush", "u".repeat(USER_BYTES_MAX + 1));
        let (bob, length) = ("bob".to_owned(), USER_BYTES_MAX + 1);
        for (text, expected) in [
            ("", NoUsers),
            ("\n \n", NoUsers),
            ("bob:hush\nhush", Line { line: 2 }),
            (":hush", User { length: 0 }),
            ("bob:  ", EmptyPassword { user: bob.clone() }),
            ("bob:hush\nbob:hush", Again { line: 2, user: bob }),
            (&long, User { length }),
        ] {
            let error = text.parse::<Users>().expect_err(text);
            assert_eq!(error, expected);
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }

    #[test]
    fn nothing_shows_a_password() {
        let users: Users = "bob:hush".parse().expect("a list");
        let bob = Credentials::new("bob", "hush").expect("a user");
        let shown = format!("{users:?} {bob:?}");
        assert!(shown.contains("bob") && !shown.contains("hush"), "{shown}");
    }
}
