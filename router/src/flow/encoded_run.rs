// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copies of all messages of a run, encoded once for the neighbours that get the same bytes.

use zonda_codec::{Copied, HeaderTemplate, PushHead, PushRun, Writer};

/// Most bytes of such copies: enough for small messages of a whole run.
pub(crate) const SHEET_BYTES_MAX: usize = 32 * 1024;

/// Highest usual ratio of a copy's length to its message's length.
const LONGER_MAX: usize = 8;

/// Encoded copies for every neighbour that gets the same head.
pub(crate) struct EncodedRun<'f, 'a> {
    head: PushHead<'f>,
    bytes: &'f [u8],
    count: u64,
    /// Rest of the run behind the last message.
    pub(crate) end: PushRun<'a>,
}

impl<'f, 'a> EncodedRun<'f, 'a> {
    /// Encodes the copies by `stencil`, which has this head. Returns `None` if they are too long.
    pub(crate) fn write(
        head: PushHead<'f>,
        stencil: &HeaderTemplate<'_>,
        mut run: PushRun<'a>,
        paper: &'f mut Vec<u8>,
    ) -> Option<Self> {
        // a copy may be longer than its message, by a timestamp
        let most = run.reader().remaining().saturating_mul(LONGER_MAX);
        paper.resize(paper.len().max(most.min(SHEET_BYTES_MAX)), 0);
        let mut writer = Writer::new(paper);
        let Copied { number, left } = stencil.copy(0, &mut writer, &mut run);
        let written = writer.position();
        left.is_none().then_some(EncodedRun {
            head,
            bytes: paper.get(..written).unwrap_or(&[]),
            count: number,
            end: run,
        })
    }

    pub(crate) fn is_for(&self, head: &PushHead<'_>) -> bool {
        self.head == *head
    }

    /// Copies all messages if they fit, else none. Returns their number, and true if they fit.
    #[inline]
    pub(crate) fn copy(&self, writer: &mut Writer<'_>) -> (u64, bool) {
        match writer.bytes(self.bytes) {
            Ok(()) => (self.count, true),
            Err(_) => (0, false),
        }
    }
}

#[cfg(test)]
mod tests;
