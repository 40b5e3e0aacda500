// SPDX-License-Identifier: MIT OR Apache-2.0

//! Text of one chunk, without an allocation if it is short. Most are, and there is one per node.

const INLINE_MAX: usize = 22;

/// A chunk's text in 24 bytes.
#[derive(Debug)]
pub(super) enum Chunk {
    Inline { length: u8, bytes: [u8; INLINE_MAX] },
    Heap(Box<str>),
}

impl Chunk {
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE_MAX];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Chunk::Inline { length, bytes }
            }
            _ => Chunk::Heap(text.into()),
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Chunk::Inline { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            Chunk::Heap(text) => text.as_bytes(),
        }
    }

    /// Returns the bytes that it holds on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Chunk::Inline { .. } => 0,
            Chunk::Heap(text) => text.len(),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Chunk::Inline { .. } => {
                std::str::from_utf8(self.as_bytes()).expect("it was copied from a text")
            }
            Chunk::Heap(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_come_back() {
        assert_eq!(size_of::<Chunk>(), 24);
        for length in 0..40 {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let chunk = Chunk::new(&text);
            assert_eq!(
                (chunk.as_str(), chunk.as_bytes()),
                (&*text, text.as_bytes())
            );
            assert_eq!(matches!(chunk, Chunk::Heap(_)), length > INLINE_MAX);
        }
    }
}
