// SPDX-License-Identifier: MIT OR Apache-2.0

//! A JSON5 parser that keeps the line of every value, so that errors about a configuration file can
//! name the line. Used by `Config` only; the depth is bounded. Errors never quote possible secrets.

use crate::{
    masked,
    value::{Located, Value},
};

/// Maximum nesting depth of arrays and objects.
pub const DEPTH_MAX: usize = 64;

/// Position and reason of a text that is not JSON5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The fault.
    pub reason: String,
}

/// Reads one JSON5 value that fills the whole text.
///
/// # Errors
/// [`SyntaxError`] with line and column of the first thing that is not JSON5.
pub fn parse(text: &str) -> Result<Located, SyntaxError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        counted: 0,
        breaks: 0,
    };
    parser.skip_blank()?;
    let value = parser.value()?;
    parser.skip_blank()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.error("more follows the value; write texts in quotes")),
    }
}

/// Parses one JSON5 value at the front of a text; returns the rest, too, without leading blanks.
///
/// # Errors
/// See [`parse`].
pub fn parse_front(text: &str) -> Result<(Located, &str), SyntaxError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        counted: 0,
        breaks: 0,
    };
    parser.skip_blank()?;
    let value = parser.value()?;
    parser.skip_blank()?;
    Ok((value, text.get(parser.at..).unwrap_or("")))
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of the next character; always on a character boundary.
    at: usize,
    depth: usize,
    /// Offset up to which line breaks are counted, so that each is counted once.
    counted: usize,
    /// Line breaks before `counted`.
    breaks: u32,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn line(&self) -> u32 {
        let before = self.text.get(..self.at).unwrap_or("");
        1 + before.bytes().filter(|b| *b == b'\n').count() as u32
    }

    fn error(&self, reason: impl Into<String>) -> SyntaxError {
        let before = self.text.get(..self.at).unwrap_or("");
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let column = before.get(start..).unwrap_or("").chars().count() as u32 + 1;
        SyntaxError {
            line: self.line(),
            column,
            reason: reason.into(),
        }
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(c) if c.is_whitespace() || c == '\u{feff}' => {
                    self.next();
                }
                Some('/') if self.rest().starts_with("//") => {
                    let length = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += length;
                }
                Some('/') if self.rest().starts_with("/*") => match self.rest().find("*/") {
                    Some(length) => self.at += length + 2,
                    None => return Err(self.error("this comment never ends")),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Returns the line of the next value. Values come in the order of the text.
    fn line_of_value(&mut self) -> u32 {
        let since = self.text.get(self.counted..self.at).unwrap_or("");
        self.breaks += since.bytes().filter(|b| *b == b'\n').count() as u32;
        self.counted = self.at;
        1 + self.breaks
    }

    fn value(&mut self) -> Result<Located, SyntaxError> {
        let line = self.line_of_value();
        let value = match self.peek() {
            None => return Err(self.error("a value is missing")),
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::list)?,
            Some('"' | '\'') => Value::Text(self.quoted()?),
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => self.number()?,
            Some(_) => self.word()?,
        };
        Ok(Located { value, line })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, SyntaxError>,
    ) -> Result<Value, SyntaxError> {
        if self.depth == DEPTH_MAX {
            return Err(self.error(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        self.depth += 1;
        self.next();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self) -> Result<Value, SyntaxError> {
        let mut items = Vec::new();
        loop {
            self.skip_blank()?;
            if self.eat(']') {
                return Ok(Value::List(items));
            }
            items.push(self.value()?);
            self.skip_blank()?;
            if !self.eat(',') && self.peek() != Some(']') {
                return Err(self.error("expected ',' or ']'"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, SyntaxError> {
        let mut members = Vec::new();
        loop {
            self.skip_blank()?;
            if self.eat('}') {
                return Ok(Value::Object(members));
            }
            let name = match self.peek() {
                Some('"' | '\'') => self.quoted()?,
                _ => self.identifier()?,
            };
            self.skip_blank()?;
            if !self.eat(':') {
                let key = masked::name(&name).map_or(String::new(), |name| format!(" {name:?}"));
                return Err(self.error(format!("expected ':' after the key{key}")));
            }
            self.skip_blank()?;
            let member = self.value()?;
            members.push((name, member));
            self.skip_blank()?;
            if !self.eat(',') && self.peek() != Some('}') {
                return Err(self.error("expected ',' or '}'"));
            }
        }
    }

    fn identifier(&mut self) -> Result<String, SyntaxError> {
        let name: String = self
            .rest()
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
            .collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.error("expected a key"));
        }
        self.at += name.len();
        Ok(name)
    }

    fn word(&mut self) -> Result<Value, SyntaxError> {
        let start = self.at;
        let word = self
            .identifier()
            .map_err(|_| self.error("expected a value"))?;
        let value = match word.as_str() {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "Infinity" => Value::Number(f64::INFINITY),
            "NaN" => Value::Number(f64::NAN),
            _ => {
                self.at = start;
                return Err(self.error("this is not a value; write texts in quotes"));
            }
        };
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let start = self.at;
        let negative = self.eat('-');
        if !negative {
            self.eat('+');
        }
        // All characters that may be part of a number; signs only after an exponent's letter.
        let length = self
            .rest()
            .char_indices()
            .find(|(i, c)| {
                let exponent_sign = matches!(c, '+' | '-')
                    && self
                        .rest()
                        .get(..*i)
                        .is_some_and(|s| s.ends_with(['e', 'E']) && !is_hex(s));
                !(c.is_ascii_alphanumeric() || *c == '.' || exponent_sign)
            })
            .map_or(self.rest().len(), |(i, _)| i);
        let digits = self.rest().get(..length).unwrap_or("").to_owned();
        match magnitude(&digits) {
            Some(n) => {
                self.at += length;
                Ok(Value::Number(if negative { -n } else { n }))
            }
            None => {
                self.at = start;
                Err(self.error("this is not a number; write texts in quotes"))
            }
        }
    }

    fn quoted(&mut self) -> Result<String, SyntaxError> {
        let open = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => {
                    self.at = open;
                    return Err(self.error("this text never ends"));
                }
                c if c == quote => return Ok(text),
                Some('\\') => self.escape(&mut text)?,
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), SyntaxError> {
        let c = match self.next() {
            None => return Err(self.error("this text never ends")),
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('0') => '\0',
            Some('x') => self.code_point(2)?,
            Some('u') => self.code_point(4)?,
            Some('\n') => return Ok(()),
            Some('\r') => {
                self.eat('\n');
                return Ok(());
            }
            Some(other) => other,
        };
        text.push(c);
        Ok(())
    }

    fn code_unit(&mut self, digits: usize) -> Result<u32, SyntaxError> {
        let unit = self
            .rest()
            .get(..digits)
            .filter(|s| s.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|s| u32::from_str_radix(s, 16).ok())
            .ok_or_else(|| self.error(format!("expected {digits} hexadecimal digits")))?;
        self.at += digits;
        Ok(unit)
    }

    fn code_point(&mut self, digits: usize) -> Result<char, SyntaxError> {
        let mut unit = self.code_unit(digits)?;
        if (0xd800..0xdc00).contains(&unit) && self.rest().starts_with("\\u") {
            self.at += 2;
            let low = self.code_unit(4)?;
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low & 0x3ff);
        }
        char::from_u32(unit).ok_or_else(|| self.error("this escape is half of a surrogate pair"))
    }
}

fn is_hex(digits: &str) -> bool {
    digits.starts_with("0x") || digits.starts_with("0X")
}

fn magnitude(digits: &str) -> Option<f64> {
    match digits {
        "Infinity" => return Some(f64::INFINITY),
        "NaN" => return Some(f64::NAN),
        _ => {}
    }
    if is_hex(digits) {
        return u64::from_str_radix(digits.get(2..)?, 16)
            .ok()
            .map(|n| n as f64);
    }
    let plausible = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    plausible.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
