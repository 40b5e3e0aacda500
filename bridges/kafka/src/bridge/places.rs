// SPDX-License-Identifier: MIT OR Apache-2.0
//! Positions of the values in a JSON5 text, so that a problem is reported with its line.

use std::collections::BTreeMap;
use std::ops::Range;

/// Positions of all values of a text, by paths such as `rules[0].to`.
pub(super) struct Places<'t> {
    text: &'t str,
    values: BTreeMap<String, Range<usize>>,
}

impl<'t> Places<'t> {
    /// Finds the positions in a text that is known to be JSON5; in any other text it finds a part
    /// of them.
    pub(super) fn of(text: &'t str) -> Places<'t> {
        let mut scan = Scan {
            text,
            at: 0,
            values: BTreeMap::new(),
        };
        scan.value(String::new());
        let values = scan.values;
        Places { text, values }
    }

    /// Returns the line of a value, from 1.
    fn line(&self, path: &str) -> Option<usize> {
        let value = self.values.get(path)?;
        Some(1 + self.text[..value.start].matches('\n').count())
    }

    /// Returns the text up to the end of this value, with everything before it blanked, so that
    /// lines are kept.
    pub(super) fn alone(&self, path: &str) -> Option<String> {
        let value = self.values.get(path)?;
        let before = self.text[..value.start].chars();
        let blank = before.map(|c| if c == '\n' { '\n' } else { ' ' });
        Some(blank.chain(self.text[value.clone()].chars()).collect())
    }

    /// Puts the line in front of a problem that begins with a path, perhaps with another path
    /// behind it, as in `rules[0]: to.key: ..`.
    pub(super) fn locate(&self, problem: &str) -> String {
        let mut parts = problem.split(": ");
        let (first, second) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let line = self.line(&format!("{first}.{second}"));
        match line.or_else(|| self.line(first)) {
            Some(line) => format!("line {line}: {problem}"),
            None => problem.to_owned(),
        }
    }
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    values: BTreeMap<String, Range<usize>>,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Advances to the first character that is an end, or to the end of the text.
    fn go_to(&mut self, is_end: impl Fn(char) -> bool) {
        self.at += self.rest().find(is_end).unwrap_or(self.rest().len());
    }

    /// Advances behind this text, or to the end.
    fn go_behind(&mut self, end: &str) {
        let found = self.rest().find(end).map(|at| at + end.len());
        self.at += found.unwrap_or(self.rest().len());
    }

    /// Consumes the next character if it is `expected`; returns true if it was.
    fn takes(&mut self, expected: char) -> bool {
        let is_next = self.next() == Some(expected);
        if is_next {
            self.at += expected.len_utf8();
        }
        is_next
    }

    fn skip(&mut self) {
        loop {
            self.go_to(|c| !c.is_whitespace() && c != '\u{feff}');
            match self.rest() {
                rest if rest.starts_with("//") => self.go_behind("\n"),
                rest if rest.starts_with("/*") => self.go_behind("*/"),
                _ => return,
            }
        }
    }

    /// Reads a text in quotes, or a bare word; returns it without its quotes.
    fn word(&mut self) -> String {
        let start = self.at;
        let Some(quote @ ('"' | '\'')) = self.next() else {
            self.go_to(|c| c.is_whitespace() || ":,]}/".contains(c));
            return self.text[start..self.at].to_owned();
        };
        self.at += 1;
        loop {
            self.go_to(|c| c == quote || c == '\\');
            if !self.takes('\\') {
                break;
            }
            self.at += self.next().map_or(0, char::len_utf8);
        }
        let word = self.text[start + 1..self.at].to_owned();
        self.takes(quote);
        word
    }

    fn value(&mut self, path: String) {
        self.skip();
        let start = self.at;
        if self.takes('{') {
            self.members('}', &path, |scan, _| {
                let key = scan.word();
                scan.skip();
                let is_whole = scan.takes(':');
                let dot = if path.is_empty() { "" } else { "." };
                is_whole.then(|| format!("{path}{dot}{key}"))
            });
        } else if self.takes('[') {
            self.members(']', &path, |_, number| Some(format!("{path}[{number}]")));
        } else {
            self.word();
        }
        self.values.insert(path, start..self.at);
    }

    /// Reads the values up to `end`, each with the path that is given for it.
    fn members(
        &mut self,
        end: char,
        path: &str,
        mut place: impl FnMut(&mut Self, usize) -> Option<String>,
    ) {
        for number in 0.. {
            self.skip();
            if self.takes(end) || self.next().is_none() {
                return;
            }
            let before = self.at;
            match place(self, number) {
                Some(path) => self.value(path),
                None => return,
            }
            self.skip();
            if !self.takes(',') && self.at == before {
                tracing::debug!("the places below {path:?} are not known");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// a: {\n{ a: 'x}', /* b: 1 */\n  \"b\": [1,\n    { c: \"\\\"]\",\n d: -1.5e3, },\n],\n}\n";

    #[test]
    fn values_are_found_by_path() {
        let places = Places::of(TEXT);
        for (path, line, value) in [
            ("a", 2, "'x}'"),
            ("b", 3, "[1,\n    { c: \"\\\"]\",\n d: -1.5e3, },\n]"),
            ("b[0]", 3, "1"),
            ("b[1]", 4, "{ c: \"\\\"]\",\n d: -1.5e3, }"),
            ("b[1].c", 4, "\"\\\"]\""),
            ("b[1].d", 5, "-1.5e3"),
        ] {
            assert_eq!(places.line(path), Some(line), "{path}");
            assert_eq!(&TEXT[places.values[path].clone()], value);
            let alone = places.alone(path).expect("a value");
            assert_eq!(
                alone.matches('\n').count() + 1 - value.matches('\n').count(),
                line
            );
            assert_eq!(alone.trim_start(), value);
        }
        assert_eq!(places.line("c"), None);
    }

    #[test]
    fn a_problem_has_the_line_of_what_it_names() {
        let places = Places::of(TEXT);
        for (problem, located) in [
            ("b[1]: d: is wrong", "line 5: b[1]: d: is wrong"),
            ("b[1]: is wrong", "line 4: b[1]: is wrong"),
            ("c: is not there", "c: is not there"),
        ] {
            assert_eq!(places.locate(problem), located);
        }
    }

    #[test]
    fn a_text_that_is_cut_anywhere_ends_the_search() {
        for (cut, _) in TEXT.char_indices() {
            Places::of(&TEXT[..cut]);
            Places::of(&TEXT[cut..]);
        }
    }
}
