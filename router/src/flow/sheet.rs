// SPDX-License-Identifier: MIT OR Apache-2.0

//! The copies of all messages of a run, written once for the neighbours that get the same.

use zonda_codec::{Copied, PushHead, PushRun, Stencil, Writer};

/// Most bytes of such copies: small ones of all messages of a run.
pub(crate) const SHEET_BYTES_MAX: usize = 32 * 1024;

/// How many times as long as a message its copy is at most, as a rule.
const LONGER_MAX: usize = 8;

/// The copies, as they are for every neighbour that gets the same head.
pub(crate) struct Sheet<'f, 'a> {
    head: PushHead<'f>,
    bytes: &'f [u8],
    count: u64,
    /// Behind the last message.
    pub(crate) end: PushRun<'a>,
}

impl<'f, 'a> Sheet<'f, 'a> {
    /// `None` if the copies by `stencil`, which has this head, are too long.
    pub(crate) fn write(
        head: PushHead<'f>,
        stencil: &Stencil<'_>,
        mut run: PushRun<'a>,
        paper: &'f mut Vec<u8>,
    ) -> Option<Self> {
        // Copies may be longer than what came, by a timestamp.
        let most = run.reader().remaining().saturating_mul(LONGER_MAX);
        paper.resize(paper.len().max(most.min(SHEET_BYTES_MAX)), 0);
        let mut writer = Writer::new(paper);
        let Copied { number, left } = stencil.copy(0, &mut writer, &mut run);
        let written = writer.position();
        left.is_none().then_some(Sheet {
            head,
            bytes: paper.get(..written).unwrap_or(&[]),
            count: number,
            end: run,
        })
    }

    pub(crate) fn is_for(&self, head: &PushHead<'_>) -> bool {
        self.head == *head
    }

    /// Copies all of them if they fit, else none. Tells how many, and whether they did.
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
