// SPDX-License-Identifier: MIT OR Apache-2.0

//! Characters of names that a place does not take: `%` and two hexadecimal digits for each byte.

/// Appends a chunk of a name to a path, with the characters escaped for which `is_special` is true; it
/// gets the byte of the chunk that a character is at.
pub fn escape(path: &mut String, chunk: &str, is_special: fn(char, usize) -> bool) {
    for (at, c) in chunk.char_indices() {
        if !is_special(c, at) {
            path.push(c);
            continue;
        }
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            path.push_str(&format!("%{byte:02x}"));
        }
    }
}

/// Returns what was escaped; `None` for a text that no name has. One that [`escape`] would write
/// otherwise is left to the caller.
pub fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = match first {
            b'%' => {
                let (digits, more) = more.split_first_chunk::<2>()?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                more
            }
            byte => {
                bytes.push(*byte);
                more
            }
        };
    }
    String::from_utf8(bytes).ok()
}
