// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texts with placeholders for parts of a message, such as `robots/{chunk:2}`.

use std::borrow::Cow;
use std::fmt;

/// Value that a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// `{key}`: the key of the message.
    Key,
    /// `{chunk:N}`: a chunk of the key, counted from 1.
    Chunk(usize),
    /// `{topic}`: the topic of the message.
    Topic,
    /// `{header:NAME}`: a header of the message.
    Header(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Field),
}

/// A text with placeholders. `{{` and `}}` stand for braces.
///
/// ```
/// use zonda_kafka::bridge::Template;
///
/// let template: Template = "robots/{chunk:2}".parse()?;
/// assert_eq!(template.to_string(), "robots/{chunk:2}");
/// assert!("robots/{chunk}".parse::<Template>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

impl std::str::FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Template, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            plain.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            // A doubled brace stands for itself.
            if let Some(behind) = rest.strip_prefix(brace) {
                plain.push_str(brace);
                rest = behind;
                continue;
            }
            // A placeholder, in front of which the text so far is complete.
            let place = rest.split_once('}').filter(|_| brace == "{");
            let (name, behind) =
                place.ok_or_else(|| format!("\"{text}\" has a brace without its other half"))?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Place(field(name).ok_or_else(|| {
                format!(
                    "{{{name}}} is none of {{key}}, {{chunk:N}} from 1, {{topic}}, {{header:NAME}}"
                )
            })?));
            rest = behind;
        }
        // The text behind the last placeholder.
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        let text = text.to_owned();
        Ok(Template { text, parts })
    }
}

fn field(name: &str) -> Option<Field> {
    match name.split_once(':') {
        None if name == "key" => Some(Field::Key),
        None if name == "topic" => Some(Field::Topic),
        Some(("chunk", number)) => {
            let number = number.parse().ok().filter(|number| *number > 0);
            number.map(Field::Chunk)
        }
        Some(("header", name)) if !name.is_empty() => Some(Field::Header(name.to_owned())),
        _ => None,
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Template {
    /// Returns the placeholders in it.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(field) => Some(field),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with every placeholder filled.
    ///
    /// # Errors
    /// The place for which `value` has nothing.
    pub fn fill<'v>(
        &self,
        value: impl Fn(&Field) -> Option<Cow<'v, str>>,
    ) -> Result<String, String> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Place(field) => match value(field) {
                    Some(text) => filled.push_str(&text),
                    None => return Err(format!("the message has nothing for {field}")),
                },
            }
        }
        Ok(filled)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Key => f.write_str("{key}"),
            Field::Chunk(number) => write!(f, "{{chunk:{number}}}"),
            Field::Topic => f.write_str("{topic}"),
            Field::Header(name) => write!(f, "{{header:{name}}}"),
        }
    }
}

/// Returns a chunk of a key, counted from 1.
pub(super) fn chunk(key: &str, number: usize) -> Option<&str> {
    key.split('/').nth(number.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let template: Template = text.parse()?;
        template.fill(|field| match field {
            Field::Key => Some("a/b/c".into()),
            Field::Chunk(number) => chunk("a/b/c", *number).map(Cow::from),
            Field::Topic => None,
            Field::Header(name) => (name == "h").then(|| "value".into()),
        })
    }

    #[test]
    fn places_are_filled() {
        for (text, filled) in [
            ("", ""),
            ("plain", "plain"),
            ("{key}", "a/b/c"),
            ("x-{chunk:1}{chunk:3}-{header:h}", "x-ac-value"),
            ("{{key}} {{{chunk:2}}}", "{key} {b}"),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("{", "brace"),
            ("}", "brace"),
            ("{key", "brace"),
            ("key}", "brace"),
            ("{kee}", "{kee} is none of"),
            ("{chunk:0}", "{chunk:0} is none of"),
            ("{header:}", "{header:} is none of"),
            ("{topic}", "nothing for {topic}"),
            ("{chunk:4}", "nothing for {chunk:4}"),
        ] {
            let error = fill(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
