// SPDX-License-Identifier: MIT OR Apache-2.0

//! Labels in the head of a plain put: either none, or its publisher and its number.

use zonda_codec::{
    Encode, EntityGlobalId, NumberedFront, NumberedHead, PreparedHead, PushHead, Put, ShortHead,
    SourceInfo,
};

use crate::{
    flow::{
        plain::{HeaderTemplates, KindTemplates},
        send_result::Plain,
    },
    model::Publication,
};

/// Plain put with its label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberedPut<'a, L> {
    pub(crate) plain: &'a Plain<'a>,
    pub(crate) numbering: L,
}

impl<'a, L: Numbering> NumberedPut<'a, L> {
    /// Converts to a publication for the general path, published by `source`.
    pub(crate) fn publication(&self, source: EntityGlobalId) -> Publication<'a> {
        Publication {
            source_info: self.numbering.source_info(source),
            ..(*self.plain).into()
        }
    }
}

/// Part of the head that differs between puts with the same payload.
pub(crate) trait Numbering: Copy {
    /// Head that is encoded once for many puts.
    type Head;
    /// Part of the label that is equal for all puts with the same head.
    type Shared: Copy + PartialEq;
    /// Bytes in front of the payload.
    type Front<'a>: Encode
    where
        Self::Head: 'a;

    /// Returns the part of the label whose change requires a new head.
    fn shared(self) -> Self::Shared;

    /// Returns the source info of a put that `source` published.
    fn source_info(self, source: EntityGlobalId) -> Option<SourceInfo>;

    /// Encodes the head of puts like `put` that `source` publishes; `None` if there is no short
    /// one.
    fn prepare(head: PushHead<'_>, put: &Put<'_>, source: EntityGlobalId) -> Option<Self::Head>;

    /// Updates a head; `None` if it is no longer short.
    fn complete(self, head: &mut Self::Head, payload_len: usize) -> Option<()>;

    /// Returns the bytes in front of this put's payload.
    fn front(self, head: &Self::Head) -> Self::Front<'_>;

    /// Returns the slot for the prepared heads of this label.
    fn place(prepared: &mut HeaderTemplates) -> &mut Option<KindTemplates<Self>>;
}

/// Empty label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unnumbered;

impl Numbering for Unnumbered {
    type Head = PreparedHead;
    type Shared = ();
    type Front<'a> = &'a ShortHead;

    #[inline(always)]
    fn shared(self) {}

    fn source_info(self, _: EntityGlobalId) -> Option<SourceInfo> {
        None
    }

    fn prepare(head: PushHead<'_>, put: &Put<'_>, _: EntityGlobalId) -> Option<PreparedHead> {
        head.prepare(put)
    }

    fn complete(self, head: &mut PreparedHead, payload_len: usize) -> Option<()> {
        head.complete(payload_len)
    }

    #[inline(always)]
    fn front(self, head: &PreparedHead) -> &ShortHead {
        head.whole()
    }

    #[inline(always)]
    fn place(prepared: &mut HeaderTemplates) -> &mut Option<KindTemplates<Self>> {
        &mut prepared.plain
    }
}

/// Sequence number of the put at its publisher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) u32);

impl Numbering for Number {
    type Head = NumberedHead;
    type Shared = u32;
    type Front<'a> = NumberedFront<'a>;

    #[inline(always)]
    fn shared(self) -> u32 {
        self.0 >> NumberedHead::NUMBER_BITS
    }

    fn source_info(self, id: EntityGlobalId) -> Option<SourceInfo> {
        Some(SourceInfo { id, sn: self.0 })
    }

    fn prepare(head: PushHead<'_>, put: &Put<'_>, source: EntityGlobalId) -> Option<NumberedHead> {
        head.prepare_numbered(put, &source)
    }

    fn complete(self, head: &mut NumberedHead, payload_len: usize) -> Option<()> {
        head.complete(payload_len, self.0)
    }

    #[inline(always)]
    fn front(self, head: &NumberedHead) -> NumberedFront<'_> {
        head.numbered(self.0)
    }

    #[inline(always)]
    fn place(prepared: &mut HeaderTemplates) -> &mut Option<KindTemplates<Self>> {
        &mut prepared.numbered
    }
}
