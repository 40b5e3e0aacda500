// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blanking of Rust text: comments, and the contents of strings and characters, become spaces.
//! Lines and columns stay unchanged, so that a position in the result is a position in the file.

/// Returns `text` with comments and the contents of literals blanked.
pub fn code(text: &str) -> String {
    let mut lexer = Lexer {
        rest: text.chars().collect(),
        at: 0,
        out: String::with_capacity(text.len()),
    };
    while lexer.step() {}
    lexer.out
}

/// Returns the end of the item that begins at or after `from`: behind its closing brace or its
/// semicolon.
pub fn item_end(code: &[u8], from: usize) -> usize {
    match body(code, from) {
        Some((_, end)) => end + 1,
        None => code.len(),
    }
}

/// Returns the first `{` (or `;`) at or after `from` that is in no bracket, and the place of the
/// brace that closes it.
pub fn body(code: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => return Some((at, at)),
            b'{' if depth == 0 => return Some((at, closing(code, at)?)),
            _ => {}
        }
    }
    None
}

fn closing(code: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

struct Lexer {
    rest: Vec<char>,
    at: usize,
    out: String,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> char {
        self.rest.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn keep(&mut self) {
        self.out.push(self.peek(0));
        self.at += 1;
    }

    fn blank(&mut self) {
        // one byte per byte, so that offsets agree as well
        match self.peek(0) {
            '\n' => self.out.push('\n'),
            other => self.out.extend(std::iter::repeat_n(' ', other.len_utf8())),
        }
        self.at += 1;
    }

    fn step(&mut self) -> bool {
        if self.at >= self.rest.len() {
            return false;
        }
        let inside_word = self
            .out
            .ends_with(|c: char| c.is_alphanumeric() || c == '_');
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => {
                while self.at < self.rest.len() && self.peek(0) != '\n' {
                    self.blank();
                }
            }
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.character(),
            ('r', '"' | '#') if !inside_word => self.raw_string(1),
            ('b' | 'c', 'r') if !inside_word && matches!(self.peek(2), '"' | '#') => {
                self.raw_string(2)
            }
            _ => self.keep(),
        }
        true
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.rest.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.blank();
                    continue;
                }
            }
            self.blank();
            self.blank();
            if depth == 0 {
                break;
            }
        }
    }

    fn string(&mut self) {
        self.keep();
        while self.at < self.rest.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                self.blank();
            }
            self.blank();
        }
        if self.at < self.rest.len() {
            self.keep();
        }
    }

    fn raw_string(&mut self, prefix: usize) {
        let mut hashes = 0;
        while self.peek(prefix + hashes) == '#' {
            hashes += 1;
        }
        if self.peek(prefix + hashes) != '"' {
            return self.keep(); // a raw identifier
        }
        for _ in 0..=prefix + hashes {
            self.keep();
        }
        while self.at < self.rest.len() {
            if self.peek(0) == '"' && (1..=hashes).all(|i| self.peek(i) == '#') {
                for _ in 0..=hashes {
                    self.keep();
                }
                return;
            }
            self.blank();
        }
    }

    /// Skips a character, or a lifetime, which is code.
    fn character(&mut self) {
        if self.peek(1) != '\\' && self.peek(2) != '\'' {
            return self.keep();
        }
        self.keep();
        while self.at < self.rest.len() && self.peek(0) != '\'' {
            if self.peek(0) == '\\' {
                self.blank();
            }
            self.blank();
        }
        if self.at < self.rest.len() {
            self.keep();
        }
    }
}

#[test]
fn comments_and_literals_are_blanked_and_nothing_moves() {
    for (text, expected) in [
        ("a // b {\nc", "a       \nc"),
        ("a /* b /* c */ } */ d", "a                   d"),
        (r#"let s = "{\"}"; e"#, r#"let s = "    "; e"#),
        ("r#\"a \" {\"# b", "r#\"     \"# b"),
        ("br\"{\" b\"{\" r#fn", "br\" \" b\" \" r#fn"),
        (
            "'{' '\\'' '\\u{7b}' x: &'a str",
            "' ' '  ' '      ' x: &'a str",
        ),
        ("\"é{\" x", "\"   \" x"),
        ("for\"{\"", "for\" \""),
    ] {
        assert_eq!(code(text), expected);
        assert_eq!(code(text).len(), text.len());
    }
}

#[test]
fn an_item_ends_at_its_brace_or_semicolon() {
    let code = b"fn a(x: [u8; 4]) -> B where C: D { { } } fn b(); rest";
    assert_eq!(item_end(code, 0), 40);
    assert_eq!(item_end(code, 40), 48);
    assert_eq!(item_end(code, 48), code.len());
}
