// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grammar once more, for compile time: checks in constants cannot use iterators.

/// Returns true if these bytes of a text are a canonical key expression; equivalent to `validate`,
/// which also returns the fault.
pub(super) const fn is_canonical(text: &[u8]) -> bool {
    let (mut at, mut after_double) = (0, false);
    loop {
        let Some((chunk, next)) = chunk(text, at) else {
            return false;
        };
        match chunk {
            Chunk::Wrong => return false,
            Chunk::One | Chunk::Any if after_double => return false,
            _ => after_double = matches!(chunk, Chunk::Any),
        }
        if next > text.len() {
            return true;
        }
        at = next;
    }
}

/// A part between two `/`.
enum Chunk {
    /// `*`
    One,
    /// `**`
    Any,
    /// An allowed chunk of another form.
    Plain,
    /// A chunk that is not allowed.
    Wrong,
}

/// Returns the chunk that begins `at` this byte, and where the next one begins; `None` if it is
/// empty.
const fn chunk(text: &[u8], at: usize) -> Option<(Chunk, usize)> {
    let mut end = at;
    let (mut is_wrong, mut stars) = (false, 0);
    while end < text.len() && text[end] != b'/' {
        match text[end] {
            b'#' | b'?' => is_wrong = true,
            b'*' => stars += 1,
            b'$' => {
                let is_repeated = is_dollar_star(text, end + 2);
                is_wrong = is_wrong || !is_dollar_star(text, end) || is_repeated;
                // The star of `$*` is not counted.
                end += 1;
            }
            _ => {}
        }
        end += 1;
    }
    let length = if end > text.len() { 1 } else { end - at };
    let chunk = match (length, stars) {
        (0, _) => return None,
        _ if is_wrong => Chunk::Wrong,
        (1, 1) => Chunk::One,
        (2, 2) => Chunk::Any,
        (2, 0) if is_dollar_star(text, at) => Chunk::Wrong,
        (_, 0) => Chunk::Plain,
        _ => Chunk::Wrong,
    };
    Some((chunk, end + 1))
}

const fn is_dollar_star(text: &[u8], at: usize) -> bool {
    at + 1 < text.len() && text[at] == b'$' && text[at + 1] == b'*'
}

#[cfg(test)]
mod tests {
    use super::super::validate;
    use super::is_canonical;

    #[test]
    fn every_short_text_is_judged_as_validate_does() {
        let letters = ['a', '/', '*', '$', '#', '@'];
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            let longer = texts
                .iter()
                .flat_map(|text| letters.map(|letter| format!("{text}{letter}")));
            texts = std::iter::once(String::new()).chain(longer).collect();
        }
        for text in &texts {
            let expected = validate(text).is_ok();
            assert_eq!(is_canonical(text.as_bytes()), expected, "{text:?}");
        }
    }
}
