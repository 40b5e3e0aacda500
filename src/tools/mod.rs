// SPDX-License-Identifier: MIT OR Apache-2.0
//! The everyday tools: publish, subscribe, put, delete, query, answer, scout, liveliness, and
//! information about this node. Each is a thin face on the session API.

mod acl;
mod audience;
mod bench;
mod events;
mod explain;
mod form;
mod get;
mod info;
mod live;
mod operands;
mod progress;
mod publish;
mod put;
mod queryable;
mod record;
mod recording;
mod rehearse;
mod reload;
mod remote;
mod replay;
mod scout;
mod shell;
mod show;
mod stamps;
mod start;
mod storage;
mod subscribe;
mod sum;
mod tape;
mod tls;
mod top;
mod trace;

pub use acl::Acl;
pub use bench::Bench;
pub use explain::Explain;
pub use get::Get;
pub use info::Info;
pub use live::Live;
pub use publish::Publish;
pub use put::{Delete, Put};
pub use queryable::Queryable;
pub use record::Record;
pub use rehearse::Rehearse;
pub use reload::Reload;
pub use replay::Replay;
pub use scout::Scout;
pub use shell::{Completions, Man};
pub use storage::Storage;
pub use subscribe::Subscribe;
pub use tls::Tls;
pub use top::Top;
pub use trace::Trace;
