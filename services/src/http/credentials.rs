// SPDX-License-Identifier: MIT OR Apache-2.0

//! Credentials of HTTP clients: names with passwords, and tokens.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use subtle::{Choice, ConstantTimeEq};

/// Users and tokens that a server admits. Its `Debug` shows none of them.
#[derive(Default)]
pub struct Credentials {
    /// Texts `user:password`.
    users: Vec<String>,
    tokens: Vec<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials")
    }
}

impl Credentials {
    /// Reads a file with `user:password` in each line, and one with a token in each line.
    ///
    /// # Errors
    /// The fault, in one line without a password.
    pub fn parse(users: Option<&str>, tokens: Option<&str>) -> Result<Self, String> {
        let found = Credentials {
            users: lines(users).map(|(_, line)| line.to_owned()).collect(),
            tokens: lines(tokens).map(|(_, line)| line.to_owned()).collect(),
        };
        let is_whole = |line: &str| {
            let parts = line.split_once(':');
            parts.is_some_and(|(user, password)| !user.is_empty() && !password.is_empty())
        };
        if let Some((number, _)) = lines(users).find(|(_, line)| !is_whole(line)) {
            return Err(format!("line {number} is not user:password"));
        }
        let is_empty = |text: Option<&str>, list: &[String]| text.is_some() && list.is_empty();
        match is_empty(users, &found.users) || is_empty(tokens, &found.tokens) {
            true => Err("the file has no line, so it would refuse everyone".to_owned()),
            false => Ok(found),
        }
    }

    /// Returns true if a request with these headers gives credentials that are listed. The time
    /// does not depend on what is wrong, but for lengths.
    pub fn admit(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION);
        let Some(given) = given.and_then(|value| value.to_str().ok()) else {
            return false;
        };
        let (scheme, given) = given.split_once(' ').unwrap_or((given, ""));
        let given = given.trim();
        match scheme.to_ascii_lowercase().as_str() {
            "basic" => STANDARD
                .decode(given)
                .is_ok_and(|given| is_among(&given, &self.users)),
            "bearer" => is_among(given.as_bytes(), &self.tokens),
            _ => false,
        }
    }
}

/// Returns the lines that are not blank, with their numbers.
fn lines(text: Option<&str>) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.unwrap_or_default().lines().map(str::trim);
    let numbered = lines.enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.is_empty())
}

fn is_among(given: &[u8], known: &[String]) -> bool {
    let compared = known.iter().map(|line| given.ct_eq(line.as_bytes()));
    compared
        .fold(Choice::from(0), |found, equal| found | equal)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_users_and_tokens_are_admitted_and_no_others() {
        let users = "bob:se:cret\n\n alice:x \n";
        let known = Credentials::parse(Some(users), Some("token-1\ntoken-2\n")).unwrap();
        let admit = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().expect("a header"));
            known.admit(&headers)
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        for right in [
            basic("bob:se:cret"),
            basic("alice:x").replace("Basic", "basic"),
            "Bearer token-2".to_owned(),
        ] {
            assert!(admit(&right), "{right}");
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
            assert!(!admit(&wrong), "{wrong}");
        }
        assert!(!known.admit(&HeaderMap::new()));
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
            let error = Credentials::parse(users, tokens).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
