// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints as they may be shown: a private key that stands in one is nobody's to read, in no log, error or list.

use std::borrow::Cow;

/// The options of endpoints that hold a private key itself, and not the name of its file.
const SECRET_OPTIONS: [&str; 4] = [
    "listen_private_key_raw=",
    "listen_private_key_base64=",
    "connect_private_key_raw=",
    "connect_private_key_base64=",
];

const HIDDEN: &str = "(hidden)";

/// A text with the private keys left out that stand in its endpoints: what is behind such an option, up to the next option or the
/// end of a quotation.
///
/// ```
/// let text = "tls/[::]:7447#connect_private_key_raw=MIGH;listen_private_key_base64=TUlH";
/// let shown = zonda_codec::masked(text);
/// assert_eq!(shown, "tls/[::]:7447#connect_private_key_raw=(hidden);listen_private_key_base64=(hidden)");
/// assert_eq!(zonda_codec::masked("tcp/[::]:7447#iface=lo"), "tcp/[::]:7447#iface=lo");
/// ```
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    for option in SECRET_OPTIONS {
        let mut from = 0;
        while let Some(at) = shown[from..].find(option) {
            let start = from + at + option.len();
            let end = shown[start..].find([';', '"', '\'']);
            let end = end.map_or(shown.len(), |end| start + end);
            shown.to_mut().replace_range(start..end, HIDDEN);
            from = start + HIDDEN.len();
        }
    }
    shown
}
