// SPDX-License-Identifier: MIT OR Apache-2.0

//! The key and the parameters that the URI of a request names.

use axum::http::Uri;
use percent_encoding::percent_decode_str;
use zonda::key_expr::KeyExpr;

/// Path of this node in the admin space, in a URI.
const LOCAL: &str = "@/local";

/// Keys and parameters of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub key: KeyExpr<'static>,
    /// The text behind `?`, decoded.
    pub parameters: String,
    /// Names of the parameters, for those that this server itself reads.
    names: Vec<String>,
}

impl Selection {
    /// Reads a URI; `zid` is the id that `local` stands for.
    ///
    /// # Errors
    /// The fault, in one line.
    pub fn of(uri: &Uri, zid: &str) -> Result<Selection, String> {
        let path = decoded(uri.path(), "path")?;
        let Some(path) = path.strip_prefix('/') else {
            return Err("the path does not begin with /".to_owned());
        };
        if path.split('/').any(|chunk| chunk == "." || chunk == "..") {
            return Err(
                "the key has a chunk . or .., which clients and proxies resolve".to_owned(),
            );
        }
        let key = match path.strip_prefix(LOCAL) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("@/{zid}{rest}"),
            _ => path.to_owned(),
        };
        let key = KeyExpr::new(key).map_err(|error| one_line(&error.to_string()))?;
        let query = uri.query().unwrap_or("");
        let names = query.split([';', '&']).map(|entry| {
            let name = entry.split('=').next().unwrap_or("");
            percent_decode_str(name).decode_utf8_lossy().into_owned()
        });
        Ok(Selection {
            names: names.collect(),
            parameters: decoded(query, "query")?,
            key,
        })
    }

    /// Creates the selection of a key that this program asks for.
    pub fn of_key(key: KeyExpr<'static>, parameters: &str) -> Selection {
        Selection {
            key,
            parameters: parameters.to_owned(),
            names: Vec::new(),
        }
    }

    /// Returns true if there is a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// Decodes the percent codes of a part of a URI.
fn decoded(text: &str, part: &str) -> Result<String, String> {
    let mut codes = text.split('%').skip(1);
    let is_code = |code: &str| {
        let digits = code.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !codes.all(is_code) {
        return Err(format!("the {part} has a % without two hexadecimal digits"));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(format!("the {part} is not UTF-8 behind its percent codes")),
    }
}

/// Returns a text without control characters, which a key may bring.
pub(super) fn one_line(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str) -> Result<Selection, String> {
        Selection::of(&uri.parse().expect("a URI"), "a1")
    }

    #[test]
    fn paths_are_keys_and_local_is_this_node() {
        for (uri, key) in [
            ("/demo/a", "demo/a"),
            ("/demo/**", "demo/**"),
            ("/demo/a%20b/%C3%A9", "demo/a b/é"),
            ("/demo%2Fa", "demo/a"),
            ("/@/local", "@/a1"),
            ("/@/local/router/config/**", "@/a1/router/config/**"),
            ("/@/locality", "@/locality"),
            ("http://h.example:1/demo", "demo"),
        ] {
            assert_eq!(of(uri).expect(uri).key.as_str(), key);
        }
    }

    #[test]
    fn what_is_no_key_is_refused_in_one_line() {
        for uri in [
            "/",
            "//",
            "*",
            "/demo/",
            "//demo",
            "/demo//a",
            "/a/../b",
            "/a/%2e%2e/b",
            "/.",
            "/demo/%",
            "/demo/%4",
            "/demo/%zz",
            "/demo/%ff",
            "/a%23",
            "/a%3F",
            "/a$",
            "/a?x=%",
            "/a?%ff",
        ] {
            let error = of(uri).expect_err(uri);
            assert!(!error.is_empty() && !error.contains('\n'), "{uri}: {error}");
        }
    }

    #[test]
    fn parameters_are_decoded_and_kept() {
        let selection = of("/a?_time=%5Bnow(-1h)..%5D;x=1&_raw").expect("a selector");
        assert_eq!(selection.parameters, "_time=[now(-1h)..];x=1&_raw");
        assert!(selection.has("_raw") && selection.has("x") && !selection.has("raw"));
        assert!(!of("/a?x=%3B_raw").expect("a selector").has("_raw"));
    }
}
