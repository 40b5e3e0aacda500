// SPDX-License-Identifier: MIT OR Apache-2.0

//! Differences of zenoh-c 1.4 to 1.6: a source is an owned value, which options take, and a get has no
//! token that cancels it. In 1.4 a reply has the id of its node alone.

use std::marker::PhantomData;

use zonda::cancellation::CancellationToken;
use zonda::sample::SourceInfo as Source;

use crate::code::{Code, Required, answer};
use crate::place::{Loan, Moved, Out, lent, mechanical, place, taken, write};
use crate::values::{EntityGlobalId, SourceInfo};

/// The id of the queryable of a reply, which C has 16 bytes for.
#[cfg(feature = "generation-1-4")]
pub type ReplierId = crate::values::Id;
/// The id of the queryable of a reply, which C has 20 bytes for.
#[cfg(not(feature = "generation-1-4"))]
pub type ReplierId = EntityGlobalId;

/// The last member of options of a get, which programs of that time do not have.
#[derive(Default)]
pub struct TokenOption<'a>(PhantomData<&'a ()>);

impl TokenOption<'_> {
    /// Returns no token.
    pub fn take(&mut self) -> Option<CancellationToken> {
        None
    }
}

place!(
    /// The source of a message.
    OwnedSourceInfo = SourceInfo, size 32, align 4
);

mechanical!(OwnedSourceInfo:
    null z_internal_source_info_null,
    check z_internal_source_info_check,
    drop z_source_info_drop,
    loan z_source_info_loan,
);

/// The source of a sample or a query, as C gets it.
pub type SourceLoan = OwnedSourceInfo;

/// Lends a source. It is never null: programs of that time read an unknown source, too.
pub fn lend_source(source: &OwnedSourceInfo) -> Option<&SourceLoan> {
    Some(source)
}

/// The member of options that has the source of a message.
#[derive(Default)]
#[repr(transparent)]
pub struct SourceOption<'a>(Moved<'a, SourceInfo>);

impl SourceOption<'_> {
    /// The member of default options.
    pub const NONE: SourceOption<'static> = SourceOption(None);

    /// Takes the source that the program gives away.
    pub fn take(&mut self) -> Option<Source> {
        taken(self.0.take()).as_ref().and_then(SourceInfo::inner)
    }
}

/// Makes the source of a message from its publisher and number.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_new(
    this: Out<'_, OwnedSourceInfo>,
    id: Option<&EntityGlobalId>,
    number: u32,
) -> Code {
    answer(|| {
        let id = id.copied().required("source_id");
        write(this, id.map(|id| SourceInfo { id, number }))
    })
}

/// Returns the entity that published; all 0 if it is not known.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_id(this: Loan<'_, SourceInfo>) -> EntityGlobalId {
    lent(this).map_or_else(EntityGlobalId::default, |source| source.id)
}

/// Returns the sequence number; 0 if it is not known.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_sn(this: Loan<'_, SourceInfo>) -> u32 {
    lent(this).map_or(0, |source| source.number)
}
