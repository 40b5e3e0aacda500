// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints for output: without the private keys in them, in every log, error and list.

use std::borrow::Cow;

const HIDDEN: &str = "(hidden)";

/// Returns a text without the private keys in its endpoints: the text behind such an option, up to
/// the next option or the end of a quotation.
///
/// ```
/// let text = "tls/[::]:7447#connect_private_key_raw=MIGH;listen_private_key_base64=TUlH";
/// let shown = zonda_codec::masked(text);
/// assert_eq!(shown, "tls/[::]:7447#connect_private_key_raw=(hidden);listen_private_key_base64=(hidden)");
/// assert_eq!(zonda_codec::masked("tcp/[::]:7447#iface=lo"), "tcp/[::]:7447#iface=lo");
/// ```
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(at) = shown[from..].find('=') {
        let start = from + at + 1;
        from = start;
        if !holds_a_secret(name_before(&shown[..start - 1])) {
            continue;
        }
        let end = shown[start..].find([';', '"', '\'']);
        let end = end.map_or(shown.len(), |end| start + end);
        shown.to_mut().replace_range(start..end, HIDDEN);
        from = start + HIDDEN.len();
    }
    shown
}

/// Returns the name of the option that ends here.
fn name_before(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.rsplit(|c| !is_part(c)).next().unwrap_or("")
}

/// Returns true if an option of this name, or of a misspelling of it, holds a private key itself,
/// and not the name of its file.
fn holds_a_secret(name: &str) -> bool {
    let is_content = name.contains("_raw") || name.contains("_base64");
    // The configuration's `.._private_key` is the name of a file, too.
    let is_private = name.contains("priv") && !name.ends_with("_file") && !name.ends_with("_key");
    is_private || is_content && !name.contains("certificate") || name.contains("password")
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn a_misspelt_option_hides_its_value_as_well() {
        for option in [
            "listen_private_key_raw",
            "connect_private_key_base64",
            "listen_privat_key_raw",
            "private_key_raww",
            "listen_private_key_bse64",
            "connect_private_key_rwa",
            "password",
        ] {
            let text = format!("tls/h:1#{option}=hunter2;iface=lo");
            let expected = format!("tls/h:1#{option}=(hidden);iface=lo");
            assert_eq!(masked(&text), expected);
        }
        for plain in [
            "tls/h:1#listen_private_key_file=key.pem",
            "transport/link/tls/listen_private_key=key.pem",
            "tls/h:1#root_ca_certificate_base64=TUlH",
            "a = b",
            "=",
        ] {
            assert_eq!(masked(plain), plain);
        }
    }
}
