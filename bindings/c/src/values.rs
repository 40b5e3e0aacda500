// SPDX-License-Identifier: MIT OR Apache-2.0

//! Plain values: ids, timestamps, sources. Each has the size of the header, as the calling convention
//! depends on it.

use zonda::Session;
use zonda::config::ZenohId;
use zonda::time::Ntp64;

use crate::code::{Code, Required, answer};
use crate::place::{Loan, Out, fill, lent};
use crate::text::{self, OwnedString};

/// An id of a node: 16 bytes, the lowest first; all 0 if there is none.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Id {
    id: [u8; 16],
}
const _: () = assert!(size_of::<Id>() == 16 && align_of::<Id>() == 1);

impl Id {
    /// Returns the library's id; `None` for all 0.
    pub fn zid(&self) -> Option<ZenohId> {
        ZenohId::try_from(&self.id[..]).ok()
    }
}

impl From<ZenohId> for Id {
    fn from(id: ZenohId) -> Id {
        Id {
            id: id.to_le_bytes(),
        }
    }
}

impl From<zonda::session::EntityGlobalId> for Id {
    /// Returns the id of the entity's node.
    fn from(id: zonda::session::EntityGlobalId) -> Id {
        id.zid.into()
    }
}

/// A time, and the id of the clock that gave it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Timestamp {
    time: u64,
    id: Id,
}
const _: () = assert!(size_of::<Timestamp>() == 24);

impl Timestamp {
    /// Returns the library's timestamp; `None` if its id is all 0.
    pub fn inner(&self) -> Option<zonda::time::Timestamp> {
        Some(zonda::time::Timestamp::new(
            Ntp64(self.time),
            self.id.zid()?,
        ))
    }
}

impl From<&zonda::time::Timestamp> for Timestamp {
    fn from(timestamp: &zonda::time::Timestamp) -> Timestamp {
        let id = Id {
            id: timestamp.id().to_le_bytes(),
        };
        Timestamp {
            time: timestamp.time().as_u64(),
            id,
        }
    }
}

/// An entity of a node: a publisher, a subscriber, and so on.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct EntityGlobalId {
    zid: Id,
    eid: u32,
}
const _: () = assert!(size_of::<EntityGlobalId>() == 20);

impl From<zonda::session::EntityGlobalId> for EntityGlobalId {
    fn from(id: zonda::session::EntityGlobalId) -> EntityGlobalId {
        EntityGlobalId {
            zid: id.zid.into(),
            eid: id.eid,
        }
    }
}

/// The source of a sample: the entity and its own count of its messages.
#[repr(C)]
#[derive(Clone)]
pub struct SourceInfo {
    pub id: EntityGlobalId,
    pub number: u32,
}
const _: () = assert!(size_of::<SourceInfo>() == 24);

impl SourceInfo {
    /// Returns the library's source; `None` if its id is all 0.
    pub fn inner(&self) -> Option<zonda::sample::SourceInfo> {
        let (zid, eid) = (self.id.zid.zid()?, self.id.eid);
        let id = zonda::session::EntityGlobalId { zid, eid };
        Some(zonda::sample::SourceInfo::new(id, self.number))
    }
}

impl From<&zonda::sample::SourceInfo> for SourceInfo {
    fn from(source: &zonda::sample::SourceInfo) -> SourceInfo {
        SourceInfo {
            id: source.id.into(),
            number: source.sn,
        }
    }
}

/// Returns the entity's number within its node.
#[unsafe(no_mangle)]
pub extern "C" fn z_entity_global_id_eid(this: Option<&EntityGlobalId>) -> u32 {
    this.map_or(0, |id| id.eid)
}

/// Returns the entity's node.
#[unsafe(no_mangle)]
pub extern "C" fn z_entity_global_id_zid(this: Option<&EntityGlobalId>) -> Id {
    this.map_or_else(Id::default, |id| id.zid)
}

/// Returns the time, in the units of NTP: seconds in the upper half, fractions in the lower.
#[unsafe(no_mangle)]
pub extern "C" fn z_timestamp_ntp64_time(this: Option<&Timestamp>) -> u64 {
    this.map_or(0, |timestamp| timestamp.time)
}

/// Returns the id of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn z_timestamp_id(this: Option<&Timestamp>) -> Id {
    this.map_or_else(Id::default, |timestamp| timestamp.id)
}

/// Makes a timestamp of the session's clock.
#[unsafe(no_mangle)]
pub extern "C" fn z_timestamp_new(this: Out<'_, Timestamp>, session: Loan<'_, Session>) -> Code {
    answer(|| {
        let now = lent(session).required("session")?.new_timestamp();
        fill(this, Timestamp::from(&now));
        Ok(())
    })
}

/// Writes the id as hexadecimal digits.
#[unsafe(no_mangle)]
pub extern "C" fn z_id_to_string(id: Option<&Id>, text: Out<'_, OwnedString>) {
    text::show(text, id.and_then(Id::zid));
}
