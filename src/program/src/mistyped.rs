// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suggestion of a known option for a mistyped one: `--kye`.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error};

/// Returns the long option that was probably meant: the first at edit distance 1 from the given one,
/// by a character inserted, removed or replaced, or two adjacent characters swapped. `arguments` is
/// the command line without the program's name.
pub fn meant(
    error: &Error,
    command: &Command,
    arguments: impl IntoIterator<Item = String>,
) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else {
        return None;
    };
    let given = given.strip_prefix("--")?;
    let mut command = command;
    for word in arguments {
        command = command.find_subcommand(&word).unwrap_or(command);
    }
    let longs = command.get_arguments().filter_map(|arg| arg.get_long());
    let mut near = longs.filter(|long| is_slip(given, long));
    near.next().map(|long| format!("--{long}"))
}

/// Removes hidden sub-commands from the proposals of an error: a measurement starts them as its own
/// processes.
pub fn leave_out_hidden(
    error: &mut Error,
    command: &Command,
    arguments: impl IntoIterator<Item = String>,
) {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) else {
        return;
    };
    // The command that the words before the error lead to.
    let mut command = command;
    for word in arguments {
        command = command.find_subcommand(&word).unwrap_or(command);
    }
    let is_seen = |name: &&String| {
        let found = command.find_subcommand(name);
        found.is_some_and(|command| !command.is_hide_set())
    };
    // Propose its visible sub-commands only.
    let seen: Vec<String> = names.iter().filter(is_seen).cloned().collect();
    match seen.is_empty() {
        true => error.remove(ContextKind::SuggestedSubcommand),
        false => error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(seen),
        ),
    };
}

/// Returns true if two texts are equal or at edit distance 1.
fn is_slip(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let front = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[front..], &other[front..]);
    match (one, other) {
        ([a, b, rest @ ..], [c, d, end @ ..]) if (a, b) == (d, c) => rest == end,
        ([_, rest @ ..], [_, end @ ..]) if rest == end => true,
        ([_, rest @ ..], _) if rest == other => true,
        (_, [_, end @ ..]) => one == end,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    fn one_slip_is_seen_through() {
        for given in ["kye", "ky", "keyy", "kez", "eky", "ey", "ke"] {
            assert!(is_slip(given, "key"), "{given}");
        }
        for given in ["", "k", "kyee", "listen", "yek"] {
            assert!(!is_slip(given, "key"), "{given}");
        }
    }
}
