// SPDX-License-Identifier: MIT OR Apache-2.0

//! What may be shown on a terminal. Keys, payloads and errors come from others, who may have put characters in that move
//! the cursor, forge a line or turn the text around: such characters are shown as what they are called.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

/// What is logged when `RUST_LOG` says nothing.
const LOG_DEFAULT: &str = "warn";

/// Text in one line, of characters that can be seen: others, but tabs, become `\n` or the like or `\u202e`. Both are what
/// JSON calls them too, so that text which is JSON stays so.
///
/// ```
/// use zonda_router::daemon::terminal::plain;
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
                    // a string takes everything
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character does something else than being seen: those of control, of direction, and those without width.
fn acts(c: char) -> bool {
    match c {
        '\t' => false,
        '\u{20}'..='\u{7e}' => false,
        _ => {
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

/// Sends log lines to standard error, by `RUST_LOG`, each in one line of characters that can be seen.
pub fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    let fields = debug_fn(|writer, field, value| {
        let value = format!("{value:?}");
        match field.name() {
            "message" => write!(writer, "{}", plain(&value)),
            name => write!(writer, "{name}={}", plain(&value)),
        }
    });
    // an error means that somebody else logs already
    let _ = tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .log_internal_errors(false)
        .try_init();
}

#[cfg(test)]
mod tests {
    use super::plain;

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
}
