// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of the argument parser, in one line each.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use zonda_codec::masked;
use zonda_router::config::names_secret;

/// Returns the argument parser's message in one line, without the usage text; at its end is the name
/// that was probably meant.
pub fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let text = masked(&without_secret(error, text)).into_owned();
    let suggestion = suggestion(error);
    // A tip that has a name is the suggestion.
    let said = text
        .split("\n\n")
        .take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| suggestion.is_none() || !part.starts_with("tip:"));
    let said = said.collect::<Vec<_>>().join("; ");
    match suggestion {
        Some(names) => format!("{said} (see --help); did you mean {names}?"),
        None => format!("{said} (see --help)"),
    }
}

/// Returns the names that the argument parser proposes.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let found = kinds.into_iter().find_map(|kind| error.get(kind));
    let names: Vec<String> = match found? {
        ContextValue::String(name) => vec![format!("'{name}'")],
        ContextValue::Strings(names) => names.iter().map(|name| format!("'{name}'")).collect(),
        _ => return None,
    };
    Some(names.join(" or "))
}

/// Masks an argument that is no flag on a command line with a secret key: after a stray blank it
/// may be the secret.
fn without_secret(error: &clap::Error, text: &str) -> String {
    let arguments = std::env::args_os();
    let names_secret = |argument: OsString| names_secret(&argument.to_string_lossy());
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(found))
            if !found.starts_with('-') && { arguments }.any(names_secret) =>
        {
            text.replace(found.as_str(), "…")
        }
        _ => text.to_owned(),
    }
}
