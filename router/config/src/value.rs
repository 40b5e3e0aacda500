// SPDX-License-Identifier: MIT OR Apache-2.0

//! A JSON5 value, and the line of the text on which it begins.

use std::fmt;

/// A JSON5 value and the line (from 1) on which it begins.
#[derive(Debug, Clone)]
pub struct Located {
    /// The value.
    pub value: Value,
    /// Its line, from 1.
    pub line: u32,
}

/// Compares the values, wherever they are written.
impl PartialEq for Located {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

/// A JSON5 value. `Display` writes it as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Any number; integers are exact up to 2^53.
    Number(f64),
    /// Text.
    Text(String),
    /// `[..]`
    List(Vec<Located>),
    /// `{..}`, in the order written.
    Object(Vec<(String, Located)>),
}

impl Value {
    /// Name of the value's kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Number(n) if n.is_finite() => write!(f, "{n}"),
            Value::Number(_) => f.write_str("null"),
            Value::Text(t) => write_text(t, f),
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{}", item.value)?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (i, (name, member)) in members.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write_text(name, f)?;
                    write!(f, ":{}", member.value)?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if (c as u32) < 0x20 => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}
