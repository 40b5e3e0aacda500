// SPDX-License-Identifier: MIT OR Apache-2.0
//! Examples and explanations below a help, in lines that every terminal has room for. An example
//! has its explanation in a comment above it; an explanation next to a name is wrapped in its
//! column before the argument parser breaks it anywhere.

use clap::Command;

/// Limit of the length of a line that no terminal breaks.
const WIDTH: usize = 79;
/// Minimum width of the column next to a name or a command in which an explanation is put there.
const LEAST: usize = 30;
/// Indent of an explanation without room in its column.
const BELOW: usize = 6;
/// Characters before the explanation of an example.
const COMMENT: &str = "  # ";

/// Wraps the texts below the help of a command and of its sub-commands into lines that fit.
pub fn fitted(command: Command) -> Command {
    let below = command.get_after_help().map(|help| fit(&help.to_string()));
    let command = match below {
        Some(below) => command.after_help(below),
        None => command,
    };
    command.mut_subcommands(fitted)
}

fn fit(text: &str) -> String {
    let mut lines = text.lines().peekable();
    let (mut fitting, mut among_examples) = (Vec::new(), false);
    while let Some(line) = lines.next() {
        if !line.is_empty() && !line.starts_with(' ') {
            among_examples = line.starts_with("Example");
        }
        let Some(mut entry) = Entry::of(line) else {
            fitting.extend(wrapped_prose(line));
            continue;
        };
        while let Some(more) = lines.next_if(|next| entry.goes_on_in(next)) {
            entry.add(more);
        }
        match among_examples {
            true => fitting.extend(entry.commented()),
            false => fitting.extend(entry.lines()),
        }
    }
    fitting.join("\n")
}

/// A command or a name, with its explanation in a column behind it.
struct Entry<'t> {
    head: &'t str,
    /// The column of the explanation.
    column: usize,
    words: Vec<&'t str>,
    /// Lines of the source.
    written: Vec<&'t str>,
}

impl<'t> Entry<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let rest = line.trim_start();
        let indent = line.len() - rest.len();
        let head = rest.find("  ").filter(|_| indent > 0)?;
        let (head, words) = line.split_at(indent + head);
        Some(Entry {
            head,
            column: line.len() - words.trim_start().len(),
            words: words.split_whitespace().collect(),
            written: vec![line],
        })
    }

    fn goes_on_in(&self, line: &str) -> bool {
        line.len() - line.trim_start().len() == self.column
    }

    fn add(&mut self, line: &'t str) {
        self.words.extend(line.split_whitespace());
        self.written.push(line);
    }

    /// Lines of an example: the explanation is a comment of a shell above the command.
    fn commented(&self) -> Vec<String> {
        let mut lines = wrapped(&self.words, WIDTH - COMMENT.len());
        for line in &mut lines {
            line.insert_str(0, COMMENT);
        }
        lines.push(self.head.to_owned());
        lines
    }

    fn lines(&self) -> Vec<String> {
        let is_short = |line: &&str| line.chars().count() <= WIDTH;
        if self.written.iter().all(is_short) {
            return self.written.iter().map(|line| (*line).to_owned()).collect();
        }
        let has_room = self.column + LEAST <= WIDTH;
        let column = if has_room { self.column } else { BELOW };
        let mut lines = wrapped(&self.words, WIDTH - column);
        for line in &mut lines {
            line.insert_str(0, &" ".repeat(column));
        }
        match lines.first_mut().filter(|_| has_room) {
            Some(first) => first.replace_range(..self.head.len(), self.head),
            None => lines.insert(0, self.head.to_owned()),
        }
        lines
    }
}

/// Wraps a paragraph into lines that fit. Lines with an indent keep their form, as commands and
/// drawings do.
fn wrapped_prose(line: &str) -> Vec<String> {
    if line.starts_with(' ') || line.chars().count() <= WIDTH {
        return vec![line.to_owned()];
    }
    let words: Vec<_> = line.split_whitespace().collect();
    wrapped(&words, WIDTH)
}

fn wrapped(words: &[&str], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push((*word).to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let text = "How to read it:\n  p      one\n  worse  two\n\nProse of any length.";
        assert_eq!(fit(text), text);
    }

    #[test]
    fn examples_have_their_comments_above() {
        let long = "word ".repeat(20);
        let text = format!(
            "Examples:\n  zonda sub a      one\n  zonda pub b\n  zonda put c   {long}\n\nProse."
        );
        let fitted = fit(&text);
        let lines: Vec<_> = fitted.lines().collect();
        assert_eq!(
            lines[..4],
            ["Examples:", "  # one", "  zonda sub a", "  zonda pub b"]
        );
        assert!(
            lines[4].starts_with("  # word") && lines[5].starts_with("  # word"),
            "{fitted}"
        );
        assert_eq!(lines[6..], ["  zonda put c", "", "Prose."]);
    }

    #[test]
    fn prose_is_wrapped_as_a_whole() {
        let text = "word ".repeat(40);
        let fitted = fit(text.trim_end());
        assert_eq!(fitted.lines().count(), 3);
        assert!(fitted.lines().all(|line| line.len() <= WIDTH));
    }

    #[test]
    fn a_long_explanation_stays_in_its_column() {
        let words = "word ".repeat(20);
        let text = format!("  name  {words}\n        and more\n  next  x");
        let lines: Vec<String> = fit(&text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3, "{lines:#?}");
        assert!(lines[0].starts_with("  name  word") && lines[0].len() <= WIDTH);
        assert!(lines[1].starts_with("        word") && lines[1].ends_with("and more"));
        assert_eq!(lines[2], "  next  x");
    }

    #[test]
    fn beside_a_long_command_there_is_no_room() {
        let command = format!("  zonda {}", "x".repeat(60));
        let text = fit(&format!("{command}   what this does and why"));
        assert_eq!(text, format!("{command}\n      what this does and why"));
    }
}
