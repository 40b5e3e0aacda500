// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text of a peer, made safe for a terminal or a log. The peer may have put characters in it that
//! move the cursor, forge a line or reverse the text: such characters are replaced by their
//! escapes.

use std::{borrow::Cow, fmt::Write as _};

/// Maximum characters of a peer's text in a line of the log.
const SHOWN_MAX: usize = 200;

/// Returns text in one line, of visible characters: all but these and tabs become `\n` or the like
/// or `\u202e`. Both are escapes of JSON too, so that text which is JSON stays JSON.
///
/// ```
/// use zonda_transport::text::plain;
/// assert_eq!(plain("one\ntwo \u{1b}[31mred \u{202e}neerg"), r"one\ntwo \u001b[31mred \u202eneerg");
/// ```
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(acts) else {
        return Cow::Borrowed(text);
    };
    let (before, rest) = text.split_at(first);
    let mut escaped = String::with_capacity(text.len() + 8);
    escaped.push_str(before);
    for c in rest.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            c if acts(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string never fails.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Returns the number of single-character edits that lead from `a` to `b`.
///
/// ```
/// assert_eq!(zonda_transport::text::distance("enable_mlts", "enable_mtls"), 2);
/// ```
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let up = *cell;
            left = (diagonal + usize::from(x != *y)).min(up + 1).min(left + 1);
            diagonal = up;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Returns true if a character is not visible: one of control, of direction, or without width.
fn acts(c: char) -> bool {
    match c {
        '\t' => false,
        '\u{20}'..='\u{7e}' => false,
        _ => {
            // Control characters, and invisible or bidirectional characters of Unicode.
            c.is_control()
                || matches!(
                    c,
                    '\u{ad}'
                        | '\u{34f}'
                        | '\u{61c}'
                        | '\u{115f}'
                        | '\u{1160}'
                        | '\u{17b4}'
                        | '\u{17b5}'
                        | '\u{180b}'..='\u{180f}'
                        | '\u{200b}'..='\u{200f}'
                        | '\u{2028}'..='\u{202e}'
                        | '\u{2060}'..='\u{206f}'
                        | '\u{3164}'
                        | '\u{fe00}'..='\u{fe0f}'
                        | '\u{feff}'
                        | '\u{ffa0}'
                        | '\u{fff0}'..='\u{fffb}'
                        | '\u{e0000}'..='\u{e0fff}'
                )
        }
    }
}

/// Returns a peer's text for a line of the log: [plain], and cut after 200 characters.
#[must_use]
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", plain(&text[..end])),
        None => plain(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_seen_stays_as_it_is() {
        for text in ["", "plain", "a\tb", "größer, 大きい, 👍", r"back\slash"] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn nothing_else_reaches_the_terminal() {
        for (text, shown) in [
            ("a\nPUT plant/valve: closed", r"a\nPUT plant/valve: closed"),
            ("\u{1b}]0;title\u{7}", r"\u001b]0;title\u0007"),
            ("\r\u{7f}\u{9b}2J", r"\r\u007f\u009b2J"),
            ("\u{202e}evil\u{2066}", r"\u202eevil\u2066"),
            ("zero\u{200b}width\u{feff}", r"zero\u200bwidth\ufeff"),
            ("\u{e0041}", r"\udb40\udc41"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn text_of_a_peer_is_cut() {
        assert_eq!(shown("plain/key"), "plain/key");
        assert_eq!(shown("a\n\u{1b}[2J"), r"a\n\u001b[2J");
        let long = shown(&"é".repeat(SHOWN_MAX + 1));
        assert_eq!(long.chars().count(), SHOWN_MAX + 3);
    }
}
