// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text forms of bytes: as text, as hexadecimal digits or in base64. Users give values in these
//! forms, and the tools print payloads in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zonda::bytes::ZBytes;

/// Number of bytes of a payload that is no text that are shown in a line.
const SHOWN: usize = 32;

/// Number of bytes in a line of a dump.
const PER_LINE: usize = 16;

/// Form in which a user has written a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The bytes themselves.
    Plain,
    /// Two hexadecimal digits for each byte; spaces and line ends between bytes are ignored.
    Hex,
    /// Base64 with the usual alphabet and padding; spaces and line ends are ignored.
    Base64,
}

impl Form {
    /// Decodes the written bytes.
    ///
    /// # Errors
    /// The fault of the text, and its place.
    pub fn read(self, written: Vec<u8>) -> Result<Vec<u8>, String> {
        match self {
            Form::Plain => Ok(written),
            Form::Hex => from_hex(&written),
            Form::Base64 => {
                let dense: Vec<u8> = written
                    .into_iter()
                    .filter(|b| !b.is_ascii_whitespace())
                    .collect();
                STANDARD
                    .decode(dense)
                    .map_err(|error| format!("no base64: {error}"))
            }
        }
    }
}

fn from_hex(written: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(written.len() / 2);
    let mut high = None;
    // Two digits make a byte; white space may stand between bytes.
    for (at, &byte) in written.iter().enumerate() {
        let digit = char::from(byte).to_digit(16).map(|digit| digit as u8);
        match (high, digit) {
            (None, Some(digit)) => high = Some(digit),
            (Some(first), Some(digit)) => {
                bytes.push(first << 4 | digit);
                high = None;
            }
            (None, None) if byte.is_ascii_whitespace() => {}
            (_, None) => {
                let place = at + 1;
                return Err(format!(
                    "no hexadecimal digits: character {place} is {:?}",
                    char::from(byte)
                ));
            }
        }
    }
    // A single digit is left over.
    match high {
        None => Ok(bytes),
        Some(_) => Err("no hexadecimal digits: their number is odd".to_owned()),
    }
}

/// Encodes in base64, with the usual alphabet and padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Formats bytes in a line for people: as text if they are text, else their number and the first of
/// them.
pub fn text(bytes: &ZBytes) -> String {
    let bytes = bytes.to_bytes();
    match std::str::from_utf8(&bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let more = if bytes.len() > SHOWN { " .." } else { "" };
            format!(
                "<{} bytes: {}{more}>",
                bytes.len(),
                digits(&bytes[..bytes.len().min(SHOWN)])
            )
        }
    }
}

fn digits(bytes: &[u8]) -> String {
    let each: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    each.join(" ")
}

/// Formats lines with the offset, sixteen bytes in hexadecimal digits, and the printable characters
/// among them.
pub fn dump(bytes: &[u8]) -> Vec<String> {
    let line = |(number, part): (usize, &[u8])| {
        let seen = |&byte: &u8| match byte {
            0x20..=0x7e => char::from(byte),
            _ => '.',
        };
        let characters: String = part.iter().map(seen).collect();
        let (place, width) = (number * PER_LINE, PER_LINE * 3 - 1);
        format!("{place:08x}  {:width$}  |{characters}|", digits(part))
    };
    bytes.chunks(PER_LINE).enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_with_spaces_between_bytes() {
        let read = |text: &str| Form::Hex.read(text.as_bytes().to_vec());
        assert_eq!(read("00 ffFE\n01 "), Ok(vec![0, 255, 254, 1]));
        assert_eq!(read(""), Ok(vec![]));
        assert!(read("0").is_err_and(|e| e.contains("odd")));
        assert!(read("0 0").is_err_and(|e| e.contains("character 2")));
        assert!(read("0g").is_err_and(|e| e.contains("'g'")));
    }

    #[test]
    fn base64_is_what_others_write() {
        let read = |text: &str| Form::Base64.read(text.as_bytes().to_vec());
        assert_eq!(read("AP/+\nAQ=="), Ok(vec![0, 255, 254, 1]));
        assert_eq!(base64(&[0, 255, 254, 1]), "AP/+AQ==");
        assert!(read("AP/+AQ").is_err());
    }

    #[test]
    fn a_dump_has_sixteen_bytes_in_a_line() {
        let lines = dump(b"0123456789abcdef\x00z");
        assert_eq!(
            lines[0],
            "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|"
        );
        assert_eq!(lines[1], format!("00000010  00 7a{}  |.z|", " ".repeat(42)));
    }

    #[test]
    fn what_is_no_text_is_counted_and_shown_in_digits() {
        assert_eq!(text(&ZBytes::from(vec![0, 255])), "<2 bytes: 00 ff>");
        assert!(text(&ZBytes::from(vec![255; 40])).ends_with("ff ..>"));
        assert_eq!(text(&ZBytes::from("a")), "a");
    }
}
