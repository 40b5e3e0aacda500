// SPDX-License-Identifier: MIT OR Apache-2.0

//! Differences of zenoh-c 1.7 and later: a source is a plain value, which options point to, and three
//! structs of options end with a token that cancels a get.

use zonda::cancellation::CancellationToken;
use zonda::sample::SourceInfo as Source;

use crate::place::{Moved, taken};
use crate::values::{EntityGlobalId, SourceInfo};

/// The id of the queryable of a reply, which C has 20 bytes for.
pub type ReplierId = EntityGlobalId;

/// The last member of options of a get.
#[derive(Default)]
#[repr(transparent)]
pub struct TokenOption<'a>(Moved<'a, CancellationToken>);

impl TokenOption<'_> {
    /// Takes the token that the program gives away.
    pub fn take(&mut self) -> Option<CancellationToken> {
        taken(self.0.take())
    }
}

/// The source of a sample or a query, as C gets it.
pub type SourceLoan = SourceInfo;

/// Lends a source; null if it is not known.
pub fn lend_source(source: &Option<SourceInfo>) -> Option<&SourceLoan> {
    source.as_ref()
}

/// The member of options that has the source of a message.
#[derive(Default)]
#[repr(transparent)]
pub struct SourceOption<'a>(Option<&'a SourceInfo>);

impl SourceOption<'_> {
    /// The member of default options.
    pub const NONE: SourceOption<'static> = SourceOption(None);

    /// Returns the source that the member points to.
    pub fn take(&mut self) -> Option<Source> {
        self.0.take().and_then(SourceInfo::inner)
    }
}

/// Makes the source of a message from its publisher and number.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_new(id: Option<&EntityGlobalId>, number: u32) -> SourceInfo {
    let id = id.copied().unwrap_or_default();
    SourceInfo { id, number }
}

/// Returns the entity that published.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_id(this: Option<&SourceInfo>) -> EntityGlobalId {
    this.map_or_else(EntityGlobalId::default, |source| source.id)
}

/// Returns the sequence number.
#[unsafe(no_mangle)]
pub extern "C" fn z_source_info_sn(this: Option<&SourceInfo>) -> u32 {
    this.map_or(0, |source| source.number)
}
