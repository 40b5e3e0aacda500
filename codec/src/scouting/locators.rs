// SPDX-License-Identifier: MIT OR Apache-2.0
//! A list of locators: borrowed from received bytes, or from texts to be sent.
//!
//! ```text
//! vle count | count x (z8 length, text)
//! ```

use core::fmt;

use crate::{
    error::DecodeError,
    locator::is_wire_locator,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// Locators on the wire. Received ones are checked with [`is_wire_locator`]; to dial one, parse it as a
/// [`Locator`](crate::Locator).
#[derive(Clone, Copy)]
pub struct Locators<'a>(List<'a>);

#[derive(Clone, Copy)]
enum List<'a> {
    Wire { count: usize, bytes: &'a [u8] },
    Texts(&'a [&'a str]),
}

impl<'a> Locators<'a> {
    /// No locators.
    pub const NONE: Locators<'static> = Locators(List::Texts(&[]));

    /// Locators to be sent, each at most 255 bytes.
    pub const fn new(texts: &'a [&'a str]) -> Self {
        Locators(List::Texts(texts))
    }

    /// Returns the number of locators.
    pub const fn len(&self) -> usize {
        match self.0 {
            List::Wire { count, .. } => count,
            List::Texts(texts) => texts.len(),
        }
    }

    /// Returns true if there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the texts of the locators.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (bytes, texts): (&[u8], &[&str]) = match self.0 {
            List::Wire { bytes, .. } => (bytes, &[]),
            List::Texts(texts) => (&[], texts),
        };
        let mut reader = Reader::new(bytes);
        core::iter::from_fn(move || reader.str_z8().ok()).chain(texts.iter().copied())
    }

    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let announced = reader.z64()?;
        let start = *reader;
        let mut count = 0;
        // Each takes at least a byte, so a count that is too large ends with the input.
        while (count as u64) < announced {
            let text = reader.str_z8()?;
            if !is_wire_locator(text) {
                return Err(reader.invalid("locator", text.len() as u64));
            }
            count += 1;
        }
        Ok(Locators(List::Wire {
            count,
            bytes: reader.since(start),
        }))
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.vle(self.len() as u64)?;
        for text in self.iter() {
            writer.bytes_vle_at_most(text.as_bytes(), u64::from(u8::MAX))?;
        }
        Ok(())
    }
}

impl Default for Locators<'_> {
    fn default() -> Self {
        Locators::NONE
    }
}

impl PartialEq for Locators<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Locators<'_> {}

impl fmt::Debug for Locators<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}
