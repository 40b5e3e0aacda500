// SPDX-License-Identifier: MIT OR Apache-2.0

//! Credentials of HTTP clients: names with passwords, and tokens.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;

use super::client::Client;

/// Users and tokens that a server admits. Its `Debug` shows none of them.
#[derive(Default)]
pub struct Credentials {
    /// Texts `user:password`.
    users: Vec<Known>,
    tokens: Vec<Known>,
}

/// Secret of a client, and the client that it proves.
struct Known {
    secret: String,
    client: Client,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// Reads a file with `user:password` in each line, and one with a token in each line, which has
    /// the name of its user before it, or none. Its clients come over `protocol`.
    ///
    /// # Errors
    /// The fault, in one line without a password.
    pub fn parse(
        users: Option<&str>,
        tokens: Option<&str>,
        protocol: &str,
    ) -> Result<Self, String> {
        let of_user = |(_, line): (usize, &str)| Known {
            secret: line.to_owned(),
            client: Client::new(line.split_once(':').map(|(user, _)| user), protocol),
        };
        let of_token = |(_, line): (usize, &str)| {
            let named = line.rsplit_once(char::is_whitespace);
            let (user, token) = named.map_or((None, line), |(user, token)| (Some(user), token));
            Known {
                secret: token.to_owned(),
                client: Client::new(user.map(str::trim), protocol),
            }
        };
        let found = Credentials {
            users: lines(users).map(of_user).collect(),
            tokens: lines(tokens).map(of_token).collect(),
        };
        let is_whole = |line: &str| {
            let parts = line.split_once(':');
            parts.is_some_and(|(user, password)| !user.is_empty() && !password.is_empty())
        };
        if let Some((number, _)) = lines(users).find(|(_, line)| !is_whole(line)) {
            return Err(format!("line {number} is not user:password"));
        }
        let is_empty = |text: Option<&str>, list: &[Known]| text.is_some() && list.is_empty();
        match is_empty(users, &found.users) || is_empty(tokens, &found.tokens) {
            true => Err("the file has no line, so it would refuse everyone".to_owned()),
            false => Ok(found),
        }
    }

    /// Returns the number of users and tokens.
    pub fn count(&self) -> usize {
        self.users.len() + self.tokens.len()
    }

    /// Returns the client whose credentials a request with these headers gives; `None` if they are
    /// not listed. The time does not depend on what is wrong, but for lengths.
    pub fn admit(&self, headers: &HeaderMap) -> Option<Client> {
        let given = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, given) = given.split_once(' ').unwrap_or((given, ""));
        let given = given.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => found(&STANDARD.decode(given).ok()?, &self.users),
            "bearer" => found(given.as_bytes(), &self.tokens),
            _ => None,
        }
    }
}

/// Returns the lines that are not blank, with their numbers.
fn lines(text: Option<&str>) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.unwrap_or_default().lines().map(str::trim);
    let numbered = lines.enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.is_empty())
}

/// Returns the client of the secret that equals `given`, which is compared with each.
fn found(given: &[u8], known: &[Known]) -> Option<Client> {
    let compared = known.iter().fold(None, |found, one| {
        match bool::from(given.ct_eq(one.secret.as_bytes())) {
            true => Some(&one.client),
            false => found,
        }
    });
    compared.cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_users_and_tokens_are_admitted_and_no_others() {
        let users = "bob:se:cret\n\n alice:x \n";
        let known =
            Credentials::parse(Some(users), Some("token-1\neve\t token-2\n"), "http").unwrap();
        let admit = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().expect("a header"));
            known
                .admit(&headers)
                .map(|client| client.user().map(str::to_owned))
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for (right, user) in [
            (basic("bob:se:cret"), Some("bob")),
            (basic("alice:x").replace("Basic", "basic"), Some("alice")),
            ("Bearer token-1".to_owned(), None),
            ("Bearer token-2".to_owned(), Some("eve")),
        ] {
            assert_eq!(admit(&right), Some(user.map(str::to_owned)), "{right}");
        }
        for wrong in [
            basic("bob:secret"),
            basic("bob"),
            basic(""),
            "Basic ?".to_owned(),
            "Basic".to_owned(),
            "Bearer bob:se:cret".to_owned(),
            "Bearer ".to_owned(),
            "Digest token-1".to_owned(),
        ] {
            assert_eq!(admit(&wrong), None, "{wrong}");
        }
        assert!(known.admit(&HeaderMap::new()).is_none());
        assert!(!format!("{known:?}").contains("cret"));
    }

    #[test]
    fn a_list_that_admits_no_one_is_refused() {
        for (users, tokens) in [
            (Some("\n"), None),
            (None, Some(" \n")),
            (Some("bob"), None),
            (Some("a:b\n:c"), None),
        ] {
            let error = Credentials::parse(users, tokens, "http").unwrap_err();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
