// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the head of a plain put says beside the length of its payload: nothing, or who published it under which number.

use zonda_codec::{
    Encode, EntityGlobalId, NumberedFront, NumberedHead, PreparedHead, PushHead, Put, ShortHead,
    SourceInfo,
};

use crate::{
    flow::{
        passing::Plain,
        plain::{Heads, Prepared},
    },
    model::Publication,
};

/// A plain put and what its head says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Labelled<'a, L> {
    pub(crate) plain: &'a Plain<'a>,
    pub(crate) label: L,
}

impl<'a, L: Label> Labelled<'a, L> {
    /// The same for the general way, published by `source`.
    pub(crate) fn publication(&self, source: EntityGlobalId) -> Publication<'a> {
        Publication {
            source_info: self.label.source_info(source),
            ..(*self.plain).into()
        }
    }
}

/// What tells a put from others with the same payload.
pub(crate) trait Label: Copy {
    /// A head that is written once for many of them.
    type Head;
    /// What is the same for all of them.
    type Shared: Copy + PartialEq;
    /// What one of them begins with.
    type Front<'a>: Encode
    where
        Self::Head: 'a;

    /// What a head is written anew for when it changes.
    fn shared(self) -> Self::Shared;

    /// What it says of `source`, which published it.
    fn source_info(self, source: EntityGlobalId) -> Option<SourceInfo>;

    /// The head of puts like `put` that `source` publishes; `None` if there is no short one.
    fn prepare(head: PushHead<'_>, put: &Put<'_>, source: EntityGlobalId) -> Option<Self::Head>;

    /// Writes a head anew; `None` if it is not short any more.
    fn complete(self, head: &mut Self::Head, payload_len: usize) -> Option<()>;

    /// What stands in front of this put's payload.
    fn front(self, head: &Self::Head) -> Self::Front<'_>;

    /// Where the heads are kept that are written already.
    fn place(prepared: &mut Prepared) -> &mut Option<Heads<Self>>;
}

/// Nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unlabelled;

impl Label for Unlabelled {
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
    fn place(prepared: &mut Prepared) -> &mut Option<Heads<Self>> {
        &mut prepared.plain
    }
}

/// Its number among those that its publisher has published.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) u32);

impl Label for Number {
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
    fn place(prepared: &mut Prepared) -> &mut Option<Heads<Self>> {
        &mut prepared.numbered
    }
}
